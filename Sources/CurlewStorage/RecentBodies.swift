#if Storage
internal import Curlew

/// Bodies that were read along with their entries, until they are asked for: a few, for a second.
///
/// An entry's body never changes, so what is here is right; it may be that of an entry which another process has removed since.
struct RecentBodies {
    /// The most bodies.
    static let countLimit = 16
    /// The most bytes in all of them.
    static let sizeLimit = 4 << 20
    /// The time that they are kept, in nanoseconds.
    static let lifetime: Int64 = 1_000_000_000

    private struct Body {
        let id: CacheEntry.ID
        let bytes: [UInt8]
        let end: Instant
    }

    /// The latest last.
    private var bodies: [Body] = []
    private var size = 0

    mutating func insert(_ bytes: [UInt8], of id: CacheEntry.ID, now: Instant) {
        remove(id)
        bodies.append(Body(id: id, bytes: bytes, end: now.advanced(by: Self.lifetime)))
        size += bytes.count
        while let first = bodies.first, bodies.count > Self.countLimit || size > Self.sizeLimit || first.end < now {
            size -= first.bytes.count
            bodies.removeFirst()
        }
    }

    func bytes(of id: CacheEntry.ID, now: Instant) -> [UInt8]? {
        bodies.last { $0.id == id && $0.end >= now }?.bytes
    }

    mutating func remove(_ id: CacheEntry.ID) {
        guard let index = bodies.lastIndex(where: { $0.id == id }) else { return }
        size -= bodies.remove(at: index).bytes.count
    }

    mutating func removeAll() {
        bodies = []
        size = 0
    }
}

/// The uses of entries that the index was not told yet.
struct PendingUses {
    /// The most of them.
    static let countLimit = 4096
    /// The time after which the next use writes all of them down, in microseconds.
    static let delay: Int64 = 60_000_000

    private(set) var uses: [CacheEntry.ID: EntryUse] = [:]
    private var oldest: Int64?

    mutating func add(_ id: CacheEntry.ID, at time: Int64, isVerified: Bool) {
        let known = uses[id]
        uses[id] = EntryUse(time: max(time, known?.time ?? 0), isVerified: isVerified || known?.isVerified ?? false)
        oldest = oldest ?? time
    }

    /// True if it is time to write them down.
    func areDue(at time: Int64) -> Bool {
        guard let oldest else { return false }
        return uses.count >= Self.countLimit || time - oldest >= Self.delay || time < oldest
    }

    mutating func take() -> [CacheEntry.ID: EntryUse] {
        defer { self = PendingUses() }
        return uses
    }

    /// Puts back what could not be written down, as long as there is room.
    mutating func restore(_ uses: [CacheEntry.ID: EntryUse]) {
        guard self.uses.count + uses.count <= Self.countLimit else { return }
        for (id, use) in uses { add(id, at: use.time, isVerified: use.isVerified) }
    }
}
#endif
