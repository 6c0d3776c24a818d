internal import Glibc
internal import HTTPTypes

/// The heads that a session's answers lately had: a server repeats most of its field lines, and many a whole head, so that
/// checking, copying and storing them is done once. Bounded by ``slotCount`` and ``CachedHead/sizeLimit``.
///
/// Not `Sendable`: it never leaves its loop's thread.
final class ResponseHeadCache {
    private static let slotCount = 32
    /// The names of fields, whatever head they were in.
    let names = FieldNameCache()
    @exclusivity(unchecked) private var slots: [CachedHead?] = Array(repeating: nil, count: slotCount)

    /// A head with this status that began with this field line, if one is kept.
    func head(status: Int, firstLine: UnsafeRawBufferPointer) -> CachedHead? {
        guard let head = slots[Self.slot(status, firstLine)], head.status == status else { return nil }
        return head
    }

    func insert(_ head: CachedHead) {
        head.withFirstLine { slots[Self.slot(head.status, $0)] = head }
    }

    private static func slot(_ status: Int, _ line: UnsafeRawBufferPointer) -> Int {
        var hash = UInt32(truncatingIfNeeded: status)
        for byte in line { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int((hash ^ (hash >> 15)) % UInt32(slotCount))
    }
}

/// A head that was read before: its field lines as they came, and what became of them.
final class CachedHead {
    /// No larger head is kept.
    static let sizeLimit = 4096

    let status: Int
    let reason: String
    /// The response with all its fields.
    let response: HTTPResponse
    let framing: BodyFraming
    private let lines: FieldLines

    /// - Returns: nil if the head is too large to be kept, or holds a cookie, which shall not outlive its response.
    init?(status: Int, reason: String, response: HTTPResponse, framing: BodyFraming, lines: FieldLines) {
        let fields = response.headerFields
        guard lines.count == fields.count, lines.count > 0, lines.size <= Self.sizeLimit else { return nil }
        guard !fields.contains(where: { $0.name == .setCookie }) else { return nil }
        self.status = status
        self.reason = reason
        self.response = response
        self.framing = framing
        self.lines = lines
    }

    /// The number of its fields.
    var count: Int { lines.count }

    /// The field at `index`, if it came as this very line.
    func field(_ index: Int, of line: UnsafeRawBufferPointer) -> HTTPField? {
        holds(line, at: index) ? response.headerFields[index] : nil
    }

    /// True if the field at `index` came as this very line.
    func holds(_ line: UnsafeRawBufferPointer, at index: Int) -> Bool {
        index < lines.count && lines.holds(line, at: index)
    }

    /// True if a line of another head is the same as this head's at its place.
    func isSame(_ other: FieldLines, at index: Int) -> Bool {
        var result = false
        other.withLine(index) { result = holds($0, at: index) }
        return result
    }

    /// The first lines as they came.
    func lines(first count: Int) -> FieldLines { lines.prefix(count) }

    fileprivate func withFirstLine(_ body: (UnsafeRawBufferPointer) -> Void) { lines.withLine(0, body) }
}

/// Field lines, one after the other, without their ends.
struct FieldLines {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }
    var size: Int { bytes.count }

    mutating func append(_ line: UnsafeRawBufferPointer) {
        if bytes.isEmpty {
            bytes.reserveCapacity(512)
            ends.reserveCapacity(16)
        }
        bytes.append(contentsOf: line)
        ends.append(bytes.count)
    }

    func prefix(_ count: Int) -> FieldLines {
        var first = FieldLines()
        guard count > 0 else { return first }
        first.bytes = Array(bytes[..<ends[count - 1]])
        first.ends = Array(ends[..<count])
        return first
    }

    func holds(_ line: UnsafeRawBufferPointer, at index: Int) -> Bool {
        let start = index == 0 ? 0 : ends[index - 1]
        guard ends[index] - start == line.count, let other = line.baseAddress else { return false }
        return bytes.withUnsafeBytes { $0.baseAddress.map { memcmp($0 + start, other, line.count) == 0 } ?? false }
    }

    func withLine(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        let start = index == 0 ? 0 : ends[index - 1]
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start..<ends[index]])) }
    }
}

/// Field names as they were met before, so that checking, copying and lowering them is done once. Bounded.
///
/// Not `Sendable`: it never leaves its loop's thread.
final class FieldNameCache {
    private struct Slot {
        var bytes: [UInt8] = []
        var name: HTTPField.Name?
    }

    private static let slotCount = 256
    /// Longer names are not kept.
    private static let sizeLimit = 64
    private var slots = Array(repeating: Slot(), count: slotCount)

    /// The name that the bytes spell, in their own case; nil if they are no token.
    func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        guard bytes.count <= Self.sizeLimit else { return HTTPField.Name(String(decoding: bytes, as: UTF8.self)) }
        var hash: UInt32 = 2_166_136_261
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        let index = Int(hash % UInt32(Self.slotCount))
        if let known = slots[index].name, Self.equal(slots[index].bytes, bytes) { return known }
        guard let name = HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
        slots[index] = Slot(bytes: Array(bytes), name: name)
        return name
    }

    private static func equal(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard known.count == bytes.count, let start = bytes.baseAddress else { return false }
        return known.withUnsafeBytes { $0.baseAddress.map { memcmp($0, start, bytes.count) == 0 } ?? false }
    }
}
