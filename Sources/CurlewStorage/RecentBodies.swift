#if Storage
internal import Curlew
internal import CurlewPlatform

/// A small cache of bodies that were read together with their entries, until they are requested; each is kept for one
/// second.
///
/// An entry's body never changes, so a cached body is always correct. Its entry may have been removed by another
/// process since.
struct RecentBodies {
    /// The maximum number of bodies.
    static let countLimit = 64
    /// The maximum size of all bodies: 8 MiB.
    static let sizeLimit = 8 << 20
    /// The lifetime of a body, in nanoseconds.
    static let lifetime: Int64 = 1_000_000_000

    private struct Body {
        let id: HTTPCache.Entry.ID
        let bytes: [UInt8]
        let end: Instant
        /// The number of look-ups whose body has not been requested yet. At zero the memory is released.
        var waiting: Int
    }

    /// The bodies, the newest last.
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

    /// The body of an entry, so that another look-up need not read it again.
    func bytes(of id: HTTPCache.Entry.ID, now: Instant) -> [UInt8]? {
        bodies.last { $0.id == id && $0.end >= now }?.bytes
    }

    /// The body of an entry, for the caller of a look-up.
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

/// A cache of decoded entries with their encoded bytes: comparing the bytes is cheaper than decoding them again.
struct DecodedEntries {
    /// The maximum size of the encoded bytes in each of the two generations: 1 MiB.
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

    /// The entry for encoded bytes; nil unless they are cached.
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

/// The uses of entries that are not yet written to the index.
struct PendingUses {
    /// The maximum number of uses.
    static let countLimit = 4096
    /// The time after which the next use writes all pending ones, in microseconds: one minute.
    static let delay: Int64 = 60_000_000

    private(set) var uses: [HTTPCache.Entry.ID: EntryUse] = [:]
    private var oldest: Int64?

    mutating func add(_ id: HTTPCache.Entry.ID, at time: Int64, isVerified: Bool) {
        let known = uses[id]
        uses[id] = EntryUse(time: max(time, known?.time ?? 0), isVerified: isVerified || known?.isVerified ?? false)
        oldest = oldest ?? time
    }

    /// True if the uses must be written now.
    func areDue(at time: Int64) -> Bool {
        guard let oldest else { return false }
        return uses.count >= Self.countLimit || time - oldest >= Self.delay || time < oldest
    }

    mutating func take() -> [HTTPCache.Entry.ID: EntryUse] {
        defer { self = PendingUses() }
        return uses
    }

    /// Restores uses that could not be written, if there is room.
    mutating func restore(_ uses: [HTTPCache.Entry.ID: EntryUse]) {
        guard self.uses.count + uses.count <= Self.countLimit else { return }
        for (id, use) in uses { add(id, at: use.time, isVerified: use.isVerified) }
    }
}
#endif
