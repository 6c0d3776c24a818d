internal import CurlewPlatform
internal import HTTPTypes

/// The recent response heads of a session. A server repeats most field lines, and often a complete head, so they are
/// checked, copied and stored once. The size is bounded by ``slotCount`` and ``CachedHead/sizeLimit``.
///
/// `ResponseHeadCache` is not `Sendable`: it never leaves its loop's thread.
final class ResponseHeadCache {
    private static let slotCount = 32
    /// The cached field names of all heads.
    let names = FieldNameCache()
    @exclusivity(unchecked) private var slots: [CachedHead?] = Array(repeating: nil, count: slotCount)

    /// The cached head with this status and this first field line; nil without one.
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

/// A head that was parsed before: its field lines as received, and the resulting response.
final class CachedHead {
    /// The largest cached head, in bytes.
    static let sizeLimit = 4096

    let status: Int
    let reason: String
    /// The response with all its fields.
    let response: HTTPResponse
    let framing: BodyFraming
    private let lines: FieldLines

    /// - Returns: nil if the head is too large, or contains a cookie, which must not outlive its response.
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

    /// The number of fields.
    var count: Int { lines.count }

    /// The field at `index`, if it was received as this line.
    func field(_ index: Int, of line: UnsafeRawBufferPointer) -> HTTPField? {
        holds(line, at: index) ? response.headerFields[index] : nil
    }

    /// True if the field at `index` was received as this line.
    func holds(_ line: UnsafeRawBufferPointer, at index: Int) -> Bool {
        index < lines.count && lines.holds(line, at: index)
    }

    /// True if a line of another head equals the line of this head at the same index.
    func isSame(_ other: FieldLines, at index: Int) -> Bool {
        var result = false
        other.withLine(index) { result = holds($0, at: index) }
        return result
    }

    /// The first lines, as received.
    func lines(first count: Int) -> FieldLines { lines.prefix(count) }

    fileprivate func withFirstLine(_ body: (UnsafeRawBufferPointer) -> Void) { lines.withLine(0, body) }
}

/// Field lines in one buffer, without line ends.
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

/// The field names met before, so that a name is checked, copied and lower-cased once. The size is bounded.
///
/// `FieldNameCache` is not `Sendable`: it never leaves its loop's thread.
final class FieldNameCache {
    private struct Slot {
        var bytes: [UInt8] = []
        var name: HTTPField.Name?
    }

    private static let slotCount = 256
    /// The longest cached name, in bytes.
    private static let sizeLimit = 64
    private var slots = Array(repeating: Slot(), count: slotCount)

    /// The name of these bytes, in their own case; nil if they are not a token.
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
