internal import HTTPTypes

/// Finds the end of a part's fields in bytes that arrive gradually, and reads them.
struct PartHeadScan: Sendable {
    /// The lines found so far, relative to the head's start, without their line ends.
    private var lines: [Range<Int>] = []
    /// The start of the present line.
    private var lineStart = 0
    /// The end of the searched bytes.
    private var seen = 0

    /// The end of the empty line after the fields; nil if it has not arrived yet.
    /// - Parameter bytes: The head from its start, as far as it has arrived.
    mutating func end(in bytes: ArraySlice<UInt8>, newline: LineEnd, limits: CurlewResponse.MultipartParts.Limits)
        throws -> Int?
    {
        while let index = bytes[(bytes.startIndex + seen)...].firstIndex(of: .lineFeed) {
            let place = index - bytes.startIndex
            try check(size: place + 1, limits)
            let hasReturn = place > lineStart && bytes[index - 1] == .carriageReturn
            guard hasReturn == (newline == .carriageReturnLineFeed) else {
                throw CurlewError(.decodingFailed, "a line among the fields of a part has the wrong line end")
            }
            let end = hasReturn ? place - 1 : place
            seen = place + 1
            if end == lineStart { return seen }
            lines.append(lineStart..<end)
            lineStart = seen
        }
        seen = bytes.count
        try check(size: seen, limits)
        return nil
    }

    private func check(size: Int, _ limits: CurlewResponse.MultipartParts.Limits) throws {
        guard size <= limits.headSize.bytes else {
            throw CurlewError(
                .responseHeadTooLarge, "the fields of a part have more than \(limits.headSize.bytes) bytes")
        }
    }

    /// The fields of the lines. A line that begins with a space or tab continues the previous one (RFC 5322 §2.2.3).
    func fields(in bytes: ArraySlice<UInt8>, limits: CurlewResponse.MultipartParts.Limits) throws -> HTTPFields {
        var fields: [HTTPField] = []
        var unfolded: [UInt8] = []
        for line in lines {
            let text = bytes[(bytes.startIndex + line.lowerBound)..<(bytes.startIndex + line.upperBound)]
            if text.first == .space || text.first == .tab {
                unfolded += [.space] + text.drop { $0 == .space || $0 == .tab }
                guard line.lowerBound > 0 else { throw Self.unreadable }
                continue
            }
            if !unfolded.isEmpty { fields.append(try Self.field(unfolded)) }
            unfolded = Array(text)
            guard fields.count < limits.fieldCount else {
                throw CurlewError(.responseHeadTooLarge, "a part has more than \(limits.fieldCount) fields")
            }
        }
        if !unfolded.isEmpty { fields.append(try Self.field(unfolded)) }
        return HTTPFields(fields)
    }

    private static func field(_ line: [UInt8]) throws -> HTTPField {
        guard let colon = line.firstIndex(of: .colon), colon > 0, line[..<colon].allSatisfy(\.isTokenByte),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        else { throw unreadable }
        let value = line[(colon + 1)...]
        guard value.allSatisfy({ $0 >= 0x20 ? $0 != 0x7F : $0 == .tab }) else { throw unreadable }
        let isBlank = { (byte: UInt8) in byte == .space || byte == .tab }
        let start = value.drop(while: isBlank)
        let end = start.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start.startIndex
        return HTTPField(name: name, value: start[..<end])
    }

    private static let unreadable = CurlewError(.decodingFailed, "the fields of a part cannot be read")
}

/// Finds a pattern in bytes and skips impossible positions (Horspool's algorithm).
struct DelimiterSearch: Sendable {
    let pattern: [UInt8]
    /// The distance to skip for each value of the byte under the pattern's end.
    private let skips: [Int]

    /// - Parameter pattern: The pattern, which must not be empty.
    init(_ pattern: [UInt8]) {
        self.pattern = pattern
        var skips = [Int](repeating: pattern.count, count: 256)
        for (place, byte) in pattern.dropLast().enumerated() { skips[Int(byte)] = pattern.count - 1 - place }
        self.skips = skips
    }

    /// The first position of the pattern at `start` or later.
    func firstMatch(in bytes: [UInt8], from start: Int) -> Int? {
        let last = pattern.count - 1
        var end = start + last
        while end < bytes.count {
            if bytes[end] == pattern[last], stands(in: bytes, at: end - last, length: last) { return end - last }
            end += skips[Int(bytes[end])]
        }
        return nil
    }

    /// The position of a partial match at the end of the bytes; the end if there is none.
    func partialMatch(in bytes: [UInt8], from start: Int) -> Int {
        var place = max(start, bytes.count - pattern.count + 1)
        while place < bytes.count, !stands(in: bytes, at: place, length: bytes.count - place) { place += 1 }
        return min(place, bytes.count)
    }

    private func stands(in bytes: [UInt8], at place: Int, length: Int) -> Bool {
        for offset in 0..<length where bytes[place + offset] != pattern[offset] { return false }
        return true
    }
}

/// The line ends of a multipart body.
enum LineEnd: Sendable {
    case carriageReturnLineFeed
    case lineFeed

    var bytes: [UInt8] { self == .lineFeed ? [.lineFeed] : [.carriageReturn, .lineFeed] }
}
