extension HTTPCache {
    /// The place where a cache keeps its responses. ``HTTPCache/MemoryStore`` is in memory, `DiskCacheStore` of the product CurlewStorage on a disk.
    ///
    /// A store does not know HTTP: it keeps entries with their bodies under keys, several under each, within bounds of its own. It
    /// may forget an entry at any time, but never hands out a body that is not the whole of what was committed with its entry. Whatever
    /// it throws costs a request no more than the cache: ``HTTPCache`` goes on without it, and reports the error once.
    ///
    /// It is used from many tasks at once, and so may be used by several caches.
    public protocol Store: Sendable {
        /// The most bytes that the body of one entry may have; larger ones are not written.
        var entryLimit: ByteSize { get }

        /// True if calls are answered from memory, so that they need no time limit. False unless said otherwise.
        var isImmediate: Bool { get }

        /// The entries under a key, the one that was used last first.
        func entries(for key: HTTPCache.Entry.Key) async throws -> [HTTPCache.Entry]

        /// The body of an entry, and a use of it.
        ///
        /// A body that was handed out can be read to its end after its entry was removed.
        /// - Parameters:
        ///   - entry: The entry, as it was found.
        ///   - range: The bytes of the body that are wanted, within ``HTTPCache/Entry/bodySize``.
        /// - Returns: The body; nil if the entry is there no longer.
        func body(of entry: HTTPCache.Entry, range: Range<Int64>) async throws -> CurlewResponse.Body?

        /// Begins to store an entry. It is found by nobody before it is committed.
        /// - Parameter entry: The entry; its ``HTTPCache/Entry/bodySize`` is what is expected, and -1 if nobody knows.
        func write(_ entry: HTTPCache.Entry) async throws -> any HTTPCache.Writer

        /// Replaces fields and times of an entry, whose body stays.
        /// - Returns: Whether it was still there.
        func update(_ entry: HTTPCache.Entry) async throws -> Bool

        /// Removes entries.
        func remove(_ selection: HTTPCache.Selection) async throws

        /// Lists entries in the order of their names.
        /// - Parameters:
        ///   - id: The entry to begin behind; nil begins at the first.
        ///   - count: The most entries that are wanted.
        func list(after id: HTTPCache.Entry.ID?, count: Int) async throws -> [HTTPCache.Entry]

        /// The contents of the store, and its losses.
        var contents: HTTPCache.Contents { get async throws }
    }
}

extension HTTPCache.Store {
    public var isImmediate: Bool { false }
}

extension HTTPCache {
    /// The writing end of an entry. One task at a time uses it; one that is dropped before it was committed leaves nothing.
    public protocol Writer: Sendable {
        /// Adds bytes to the body.
        func append(_ bytes: [UInt8]) async throws

        /// Makes the entry one that is found.
        /// - Parameters:
        ///   - entry: The entry as it is in the end: ``HTTPCache/Entry/bodySize`` is the number of bytes that were added, and a store that
        ///     counts others throws.
        ///   - replaced: The entries that it replaces, in the same step.
        func commit(_ entry: HTTPCache.Entry, replacing replaced: [HTTPCache.Entry.ID]) async throws

        /// Leaves nothing of it.
        func discard() async
    }
}

extension HTTPCache {
    /// The entries that are to be removed from a ``HTTPCache/Store``.
    public struct Selection: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case all
            case entries([HTTPCache.Entry.ID])
            case uris([String])
            case since(Int64)
        }

        let kind: Kind

        /// All there are.
        public static let all = HTTPCache.Selection(kind: .all)
        /// Those of some names.
        public static func entries(_ ids: [HTTPCache.Entry.ID]) -> HTTPCache.Selection {
            HTTPCache.Selection(kind: .entries(ids))
        }
        /// Those of some URIs, each as in ``HTTPCache/Entry/Key/uri``, in every partition.
        public static func uris(_ uris: [String]) -> HTTPCache.Selection { HTTPCache.Selection(kind: .uris(uris)) }
        /// Those that came, or were validated, at a time or later; in seconds since 1970.
        public static func since(_ seconds: Int64) -> HTTPCache.Selection { HTTPCache.Selection(kind: .since(seconds)) }

        /// True for all; the other properties are then nil.
        public var isAll: Bool { kind == .all }
        /// The names.
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
        /// The bytes that they take, bodies and fields.
        public var size: ByteSize
        /// The most bytes that they may take.
        public var capacity: ByteSize
        /// The number of entries that were evicted for room or age since the store was opened.
        public var evictions: Int

        public init(entries: Int, size: ByteSize, capacity: ByteSize, evictions: Int = 0) {
            self.entries = entries
            self.size = size
            self.capacity = capacity
            self.evictions = evictions
        }
    }
}
