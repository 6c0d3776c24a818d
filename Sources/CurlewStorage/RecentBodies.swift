#if Storage
internal import Curlew
internal import Glibc

/// Bodies that were read along with their entries, until they are asked for: a few, for a second.
///
/// An entry's body never changes, so what is here is right; it may be that of an entry which another process has removed since.
struct RecentBodies {
    /// The most bodies.
    static let countLimit = 64
    /// The most bytes in all of them.
    static let sizeLimit = 8 << 20
    /// The time that they are kept, in nanoseconds.
    static let lifetime: Int64 = 1_000_000_000

    private struct Body {
        let id: HTTPCache.Entry.ID
        let bytes: [UInt8]
        let end: Instant
        /// How often it was found and not yet asked for. Its memory is of use elsewhere as soon as nobody wants it.
        var waiting: Int
    }

    /// The latest last.
    private var bodies: [Body] = []
    private var size = 0

    mutating func insert(_ bytes: [UInt8], of id: HTTPCache.Entry.ID, now: Instant) {
        let waiting = remove(id)?.waiting ?? 0
        bodies.append(Body(id: id, bytes: bytes, end: now.advanced(by: Self.lifetime), waiting: waiting + 1))
        size += bytes.count
        while let first = bodies.first, bodies.count > Self.countLimit || size > Self.sizeLimit || first.end < now {
            size -= first.bytes.count
            bodies.removeFirst()
        }
    }

    /// The body of an entry, so that it need not be read once more for another who has found it.
    func bytes(of id: HTTPCache.Entry.ID, now: Instant) -> [UInt8]? {
        bodies.last { $0.id == id && $0.end >= now }?.bytes
    }

    /// The body of an entry, for one who has found it.
    mutating func take(_ id: HTTPCache.Entry.ID, now: Instant) -> [UInt8]? {
        guard let index = bodies.lastIndex(where: { $0.id == id && $0.end >= now }) else { return nil }
        bodies[index].waiting -= 1
        guard bodies[index].waiting == 0 else { return bodies[index].bytes }
        return remove(id)?.bytes
    }

    @discardableResult
    private mutating func remove(_ id: HTTPCache.Entry.ID) -> Body? {
        guard let index = bodies.lastIndex(where: { $0.id == id }) else { return nil }
        let body = bodies.remove(at: index)
        size -= body.bytes.count
        return body
    }

    mutating func forget(_ id: HTTPCache.Entry.ID) { remove(id) }

    mutating func removeAll() {
        bodies = []
        size = 0
    }
}

/// Entries that were decoded lately, beside what they were decoded from: comparing that is cheaper than decoding it again.
struct DecodedEntries {
    /// The most bytes that each of the two generations was decoded from.
    static let sizeLimit = 1 << 20

    private struct Decoded {
        let metadata: [UInt8]
        let entry: HTTPCache.Entry

        func stands(for other: UnsafeRawBufferPointer) -> Bool {
            guard metadata.count == other.count, let start = other.baseAddress else { return false }
            return metadata.withUnsafeBytes { memcmp($0.baseAddress!, start, other.count) == 0 }
        }
    }

    private var newer: [String: Decoded] = [:]
    private var older: [String: Decoded] = [:]
    private var size = 0

    /// The entry that bytes stand for; nil unless they were decoded lately.
    mutating func entry(_ id: String, of metadata: UnsafeRawBufferPointer) -> HTTPCache.Entry? {
        if let known = newer[id] { return known.stands(for: metadata) ? known.entry : nil }
        guard let known = older[id], known.stands(for: metadata) else { return nil }
        insert(known, id)
        return known.entry
    }

    mutating func insert(_ entry: HTTPCache.Entry, _ id: String, of metadata: [UInt8]) {
        insert(Decoded(metadata: metadata, entry: entry), id)
    }

    private mutating func insert(_ decoded: Decoded, _ id: String) {
        size += decoded.metadata.count
        newer[id] = decoded
        guard size > Self.sizeLimit else { return }
        older = newer
        newer = [:]
        size = 0
    }
}

/// The uses of entries that the index was not told yet.
struct PendingUses {
    /// The most of them.
    static let countLimit = 4096
    /// The time after which the next use writes all of them down, in microseconds.
    static let delay: Int64 = 60_000_000

    private(set) var uses: [HTTPCache.Entry.ID: EntryUse] = [:]
    private var oldest: Int64?

    mutating func add(_ id: HTTPCache.Entry.ID, at time: Int64, isVerified: Bool) {
        let known = uses[id]
        uses[id] = EntryUse(time: max(time, known?.time ?? 0), isVerified: isVerified || known?.isVerified ?? false)
        oldest = oldest ?? time
    }

    /// True if it is time to write them down.
    func areDue(at time: Int64) -> Bool {
        guard let oldest else { return false }
        return uses.count >= Self.countLimit || time - oldest >= Self.delay || time < oldest
    }

    mutating func take() -> [HTTPCache.Entry.ID: EntryUse] {
        defer { self = PendingUses() }
        return uses
    }

    /// Puts back what could not be written down, as long as there is room.
    mutating func restore(_ uses: [HTTPCache.Entry.ID: EntryUse]) {
        guard self.uses.count + uses.count <= Self.countLimit else { return }
        for (id, use) in uses { add(id, at: use.time, isVerified: use.isVerified) }
    }
}
#endif
