internal import HTTPTypes

extension HTTPCache {
    /// A ``HTTPCache/Store`` in memory with a limit in bytes. It evicts the least recently used entries first.
    ///
    /// Bodies, fields and keys count, and so do bodies that are being written. By default the body of an entry may have
    /// a twentieth of the capacity, as in NSURLCache.
    ///
    /// ```swift
    /// let store = HTTPCache.MemoryStore(capacity: .mebibytes(64))
    /// let api = try HTTPSession(baseURL: "https://api.example.com/", chain: .caching(HTTPCache(store: store)))
    /// ```
    public final class MemoryStore: HTTPCache.Store {
        /// The largest size of all entries.
        public let capacity: ByteSize
        public let entryLimit: ByteSize
        /// The most entries under one key. Beyond it, the least recently used one is evicted.
        public let variantLimit: Int
        public var isImmediate: Bool { true }
        private let table: Guarded<MemoryCacheTable>

        /// - Parameters:
        ///   - capacity: The largest size of all entries.
        ///   - entryLimit: The largest size of an entry's body; nil means a twentieth of the capacity.
        ///   - variantLimit: The most entries under one key.
        public init(capacity: ByteSize = .mebibytes(32), entryLimit: ByteSize? = nil, variantLimit: Int = 32) {
            self.capacity = capacity
            self.entryLimit = entryLimit ?? ByteSize(capacity.bytes / 20)
            self.variantLimit = max(1, variantLimit)
            table = Guarded(MemoryCacheTable(capacity: max(0, capacity.bytes), variantLimit: max(1, variantLimit)))
        }

        public func entries(for key: HTTPCache.Entry.Key) async throws -> [HTTPCache.Entry] {
            table.withLock { $0.entries(for: key) }
        }

        public func body(of entry: HTTPCache.Entry, range: Range<Int64>) async throws -> CurlewResponse.Body? {
            guard let bytes = table.withLock({ $0.use(entry.id) }) else { return nil }
            guard range.lowerBound >= 0, range.upperBound <= Int64(bytes.count) else { return nil }
            if range.lowerBound == 0, range.upperBound == Int64(bytes.count) { return .bytes(bytes) }
            return .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
        }

        public func write(_ entry: HTTPCache.Entry) async throws -> any HTTPCache.Writer {
            MemoryCacheWriter(store: self, expected: entry.bodySize)
        }

        public func update(_ entry: HTTPCache.Entry) async throws -> Bool { table.withLock { $0.update(entry) } }

        public func remove(_ selection: HTTPCache.Selection) async throws {
            // The bodies are released outside the lock.
            let removed = table.withLock { $0.remove(selection) }
            withExtendedLifetime(removed) {}
        }

        public func list(after id: HTTPCache.Entry.ID?, count: Int) async throws -> [HTTPCache.Entry] {
            let all = table.withLock { $0.all }.sorted { $0.id.description < $1.id.description }
            return Array(
                all.lazy.filter { entry in id.map { entry.id.description > $0.description } ?? true }.prefix(count))
        }

        public var contents: HTTPCache.Contents {
            table.withLock {
                HTTPCache.Contents(
                    entries: $0.count, size: ByteSize($0.size), capacity: capacity, evictions: $0.evictions)
            }
        }

        // MARK: Writing

        fileprivate func reserve(_ count: Int) throws {
            guard table.withLock({ $0.reserve(count) }) else {
                throw CurlewError(.cacheFailed, "more is being stored at a time than the cache can hold")
            }
        }

        fileprivate func release(_ count: Int) { table.withLock { $0.pending -= count } }

        fileprivate func insert(_ entry: HTTPCache.Entry, _ bytes: [UInt8], replacing replaced: [HTTPCache.Entry.ID]) {
            let removed = table.withLock { $0.insert(entry, bytes, replacing: replaced) }
            withExtendedLifetime(removed) {}
        }
    }
}

/// The body of an entry that is being written. One task at a time uses it.
private final class MemoryCacheWriter: HTTPCache.Writer {
    private let store: HTTPCache.MemoryStore
    private let bytes: Guarded<[UInt8]>
    /// The most memory that is reserved for a declared size. Received bytes extend it.
    private static let reservedSize: Int64 = 1 << 20

    init(store: HTTPCache.MemoryStore, expected: Int64) {
        self.store = store
        var bytes: [UInt8] = []
        if expected > 0, expected <= Self.reservedSize { bytes.reserveCapacity(Int(expected)) }
        self.bytes = Guarded(bytes)
    }

    deinit { store.release(bytes.withLock { $0.count }) }

    func append(_ chunk: [UInt8]) async throws {
        try store.reserve(chunk.count)
        bytes.withLock { $0.append(contentsOf: chunk) }
    }

    func commit(_ entry: HTTPCache.Entry, replacing replaced: [HTTPCache.Entry.ID]) async throws {
        var whole = take()
        guard Int64(whole.count) == entry.bodySize else {
            throw CurlewError(.cacheFailed, "the body of an entry has \(whole.count) bytes, and not \(entry.bodySize)")
        }
        // A copy has no excess capacity.
        if whole.capacity > 2 * whole.count + 64 { whole = whole.withUnsafeBytes { Array($0) } }
        store.insert(entry, whole, replacing: replaced)
    }

    func discard() async { _ = take() }

    private func take() -> [UInt8] {
        let whole = bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
        store.release(whole.count)
        return whole
    }
}

/// The entries, their bodies, and the order of their use. Finding, using, inserting and evicting an entry takes
/// constant time.
struct MemoryCacheTable {
    private struct Record {
        var entry: HTTPCache.Entry
        var body: [UInt8]
        var cost: Int
        var newer: HTTPCache.Entry.ID?
        var older: HTTPCache.Entry.ID?
    }

    private let capacity: Int
    private let variantLimit: Int
    private var records: [HTTPCache.Entry.ID: Record] = [:]
    private var keys: [HTTPCache.Entry.Key: [HTTPCache.Entry.ID]] = [:]
    /// The keys of a URI, one for each partition.
    private var uris: [ExactText: Set<HTTPCache.Entry.Key>] = [:]
    private var newest: HTTPCache.Entry.ID?
    private var oldest: HTTPCache.Entry.ID?
    private(set) var stored = 0
    /// The bytes of bodies that are being written.
    var pending = 0
    private(set) var evictions = 0

    init(capacity: Int, variantLimit: Int) {
        self.capacity = capacity
        self.variantLimit = variantLimit
    }

    var count: Int { records.count }
    var size: Int { stored + pending }
    var all: [HTTPCache.Entry] { records.values.map(\.entry) }

    func entries(for key: HTTPCache.Entry.Key) -> [HTTPCache.Entry] {
        guard let ids = keys[key] else { return [] }
        return ids.compactMap { records[$0]?.entry }
    }

    /// The body of an entry, which becomes the most recently used one.
    mutating func use(_ id: HTTPCache.Entry.ID) -> [UInt8]? {
        guard let record = records[id] else { return nil }
        if newest != id {
            unlink(id)
            link(id)
        }
        if let ids = keys[record.entry.key], ids.count > 1, ids[0] != id {
            keys[record.entry.key] = [id] + ids.filter { $0 != id }
        }
        return record.body
    }

    mutating func update(_ entry: HTTPCache.Entry) -> Bool {
        guard let record = records[entry.id], record.entry.key == entry.key,
            record.entry.bodySize == entry.bodySize
        else { return false }
        let cost = record.body.count + entry.overhead
        stored += cost - record.cost
        records[entry.id]?.entry = entry
        records[entry.id]?.cost = cost
        evict(sparing: entry.id)
        return true
    }

    mutating func reserve(_ count: Int) -> Bool {
        guard pending + count <= capacity else { return false }
        pending += count
        return true
    }

    /// - Returns: The bodies to release.
    mutating func insert(_ entry: HTTPCache.Entry, _ body: [UInt8], replacing replaced: [HTTPCache.Entry.ID])
        -> [[UInt8]]
    {
        var freed = replaced.compactMap { remove($0) }
        if let old = remove(entry.id) { freed.append(old) }
        let cost = body.count + entry.overhead
        guard cost <= capacity else { return freed + [body] }
        records[entry.id] = Record(entry: entry, body: body, cost: cost)
        stored += cost
        link(entry.id)
        keys[entry.key, default: []].insert(entry.id, at: 0)
        uris[ExactText(entry.key.uri), default: []].insert(entry.key)
        while let ids = keys[entry.key], ids.count > variantLimit, let last = ids.last {
            if let body = remove(last) { freed.append(body) }
            evictions += 1
        }
        return freed + evict(sparing: entry.id)
    }

    /// - Returns: The bodies to release.
    mutating func remove(_ selection: HTTPCache.Selection) -> [[UInt8]] {
        switch selection.kind {
        case .all:
            let bodies = records.values.map(\.body)
            (records, keys, uris, newest, oldest, stored) = ([:], [:], [:], nil, nil, 0)
            return bodies
        case .entries(let ids): return ids.compactMap { remove($0) }
        case .uris(let uris):
            let ids = uris.flatMap { self.uris[ExactText($0)] ?? [] }.flatMap { keys[$0] ?? [] }
            return ids.compactMap { remove($0) }
        case .since(let time):
            let ids = records.values.filter { $0.entry.responseTime >= time }.map(\.entry.id)
            return ids.compactMap { remove($0) }
        }
    }

    @discardableResult
    private mutating func evict(sparing id: HTTPCache.Entry.ID) -> [[UInt8]] {
        var freed: [[UInt8]] = []
        while size > capacity, let last = oldest, last != id, let body = remove(last) {
            freed.append(body)
            evictions += 1
        }
        return freed
    }

    private mutating func remove(_ id: HTTPCache.Entry.ID) -> [UInt8]? {
        guard let record = records[id] else { return nil }
        unlink(id)
        records[id] = nil
        stored -= record.cost
        let key = record.entry.key
        keys[key]?.removeAll { $0 == id }
        if keys[key]?.isEmpty == true {
            keys[key] = nil
            let uri = ExactText(key.uri)
            uris[uri]?.remove(key)
            if uris[uri]?.isEmpty == true { uris[uri] = nil }
        }
        return record.body
    }

    private mutating func link(_ id: HTTPCache.Entry.ID) {
        records[id]?.older = newest
        records[id]?.newer = nil
        if let newest { records[newest]?.newer = id }
        newest = id
        if oldest == nil { oldest = id }
    }

    private mutating func unlink(_ id: HTTPCache.Entry.ID) {
        guard let record = records[id] else { return }
        if let newer = record.newer { records[newer]?.older = record.older } else { newest = record.older }
        if let older = record.older { records[older]?.newer = record.newer } else { oldest = record.newer }
    }
}
