extension HTTPCache {
    /// The storage of a cache's responses. ``HTTPCache/MemoryStore`` keeps them in memory; `DiskCacheStore` of the
    /// product CurlewStorage keeps them on a disk.
    ///
    /// A store has no knowledge of HTTP. It keeps entries with their bodies under keys, several for each key, within
    /// its own limits. It may evict an entry at any time, but never returns an incomplete body. An error of a store
    /// never fails a request: ``HTTPCache`` continues without the store, and reports the error once.
    ///
    /// Many tasks use a store concurrently, and several caches may share it.
    public protocol Store: Sendable {
        /// The most bytes of an entry's body; larger bodies are not stored.
        var entryLimit: ByteSize { get }

        /// True if calls are answered from memory, so they need no time limit. False by default.
        var isImmediate: Bool { get }

        /// The entries under a key, the most recently used first.
        func entries(for key: HTTPCache.Entry.Key) async throws -> [HTTPCache.Entry]

        /// The body of an entry. The call counts as a use of the entry.
        ///
        /// The returned body remains readable to its end after its entry was removed.
        /// - Parameters:
        ///   - entry: The entry that was found.
        ///   - range: The requested bytes of the body, within ``HTTPCache/Entry/bodySize``.
        /// - Returns: The body; nil if the entry no longer exists.
        func body(of entry: HTTPCache.Entry, range: Range<Int64>) async throws -> CurlewResponse.Body?

        /// Begins to store an entry. The entry is invisible until it is committed.
        /// - Parameter entry: The entry; its ``HTTPCache/Entry/bodySize`` is the expected size, or -1 if it is unknown.
        func write(_ entry: HTTPCache.Entry) async throws -> any HTTPCache.Writer

        /// Replaces the fields and times of an entry. Its body is unchanged.
        /// - Returns: True if the entry still existed.
        func update(_ entry: HTTPCache.Entry) async throws -> Bool

        /// Removes entries.
        func remove(_ selection: HTTPCache.Selection) async throws

        /// Lists entries in the order of their identifiers.
        /// - Parameters:
        ///   - id: The entry before the first listed one; nil begins with the first.
        ///   - count: The most entries to return.
        func list(after id: HTTPCache.Entry.ID?, count: Int) async throws -> [HTTPCache.Entry]

        /// The contents of the store, and the number of evictions.
        var contents: HTTPCache.Contents { get async throws }
    }
}

extension HTTPCache.Store {
    public var isImmediate: Bool { false }
}

extension HTTPCache {
    /// The writing end of an entry. One task at a time uses it. Releasing it before the commit discards the entry.
    public protocol Writer: Sendable {
        /// Adds bytes to the body.
        func append(_ bytes: [UInt8]) async throws

        /// Makes the entry visible.
        /// - Parameters:
        ///   - entry: The final entry. Its ``HTTPCache/Entry/bodySize`` is the number of added bytes; a store that has
        ///     counted another number throws.
        ///   - replaced: The entries that it replaces in the same step.
        func commit(_ entry: HTTPCache.Entry, replacing replaced: [HTTPCache.Entry.ID]) async throws

        /// Discards the entry and its bytes.
        func discard() async
    }
}

extension HTTPCache {
    /// The entries to remove from a ``HTTPCache/Store``.
    public struct Selection: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case all
            case entries([HTTPCache.Entry.ID])
            case uris([String])
            case since(Int64)
        }

        let kind: Kind

        /// All entries.
        public static let all = HTTPCache.Selection(kind: .all)
        /// The entries with some identifiers.
        public static func entries(_ ids: [HTTPCache.Entry.ID]) -> HTTPCache.Selection {
            HTTPCache.Selection(kind: .entries(ids))
        }
        /// The entries of some URIs, in the form of ``HTTPCache/Entry/Key/uri``, in all partitions.
        public static func uris(_ uris: [String]) -> HTTPCache.Selection { HTTPCache.Selection(kind: .uris(uris)) }
        /// The entries that arrived or were validated at a time or later; in seconds since 1970.
        public static func since(_ seconds: Int64) -> HTTPCache.Selection { HTTPCache.Selection(kind: .since(seconds)) }

        /// True for all entries; the other properties are then nil.
        public var isAll: Bool { kind == .all }
        /// The identifiers.
        public var ids: [HTTPCache.Entry.ID]? { if case .entries(let ids) = kind { ids } else { nil } }
        /// The URIs.
        public var uris: [String]? { if case .uris(let uris) = kind { uris } else { nil } }
        /// The time, in seconds since 1970.
        public var start: Int64? { if case .since(let seconds) = kind { seconds } else { nil } }
    }
}

extension HTTPCache {
    /// The contents of a ``HTTPCache/Store``.
    public struct Contents: Sendable, Hashable {
        /// The number of entries.
        public var entries: Int
        /// The size of the entries, with their bodies and fields.
        public var size: ByteSize
        /// The largest size of the entries.
        public var capacity: ByteSize
        /// The number of entries that were evicted for space or age since the store was opened.
        public var evictions: Int

        public init(entries: Int, size: ByteSize, capacity: ByteSize, evictions: Int = 0) {
            self.entries = entries
            self.size = size
            self.capacity = capacity
            self.evictions = evictions
        }
    }
}
