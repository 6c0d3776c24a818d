internal import HTTPTypes

/// Checks the head of a response as its lines arrive from the engine, which passes on much that RFC 9112 forbids.
///
/// A pure machine: lines in, an ``Event`` out; it performs nothing.
struct HeadParser {
    enum Event {
        /// Nothing to do yet.
        case more
        /// An interim response (1xx) is complete.
        case interim(HTTPResponse)
        /// The final head is complete.
        case head(HTTPResponse)
        /// The trailers, if any, are complete.
        case trailers(HTTPFields)
        /// The answer cannot be used.
        case invalid(ErrorCode, String)
    }

    private enum Part { case statusLine, fields, trailers }

    private let limits: ResponseLimits
    private var part = Part.statusLine
    private var status = 0
    private var reason = ""
    // Not yet `HTTPFields`, whose `append` is a good deal slower than an array's.
    private var fields: [HTTPField] = []
    private var bytes = 0
    private var names: FieldNameCache

    /// The version on the status line.
    private(set) var version = HTTPVersion.http11
    /// What the fields say about the body's framing.
    private(set) var framing = BodyFraming()
    /// Whether the empty line that ends the final head was seen.
    var isComplete: Bool { part == .trailers }
    /// Whether any line has come.
    private(set) var hasBegun = false

    init(limits: ResponseLimits, names: FieldNameCache) {
        self.limits = limits
        self.names = names
    }

    /// Takes one line, its end of line included.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Event {
        hasBegun = true
        bytes += line.count
        if bytes > limits.headSize.bytes {
            return .invalid(.responseHeadTooLarge, "the head is larger than \(limits.headSize.bytes) bytes")
        }
        let content = Self.withoutLineEnd(line)
        switch part {
        case .statusLine: return takeStatusLine(content)
        case .fields where content.isEmpty: return finishHead()
        case .trailers where content.isEmpty:
            return .trailers(takeFields())
        default: return takeField(content)
        }
    }

    /// The fields so far: also of trailers that are not finished, as HTTP/2 has no empty line after them.
    mutating func takeFields() -> HTTPFields {
        defer { fields = [] }
        return HTTPFields(all: fields)
    }

    private mutating func takeStatusLine(_ line: UnsafeRawBufferPointer) -> Event {
        guard let (version, status, reason) = StatusLine.read(line) else {
            return .invalid(.invalidResponse, "the status line is not one of HTTP/1.0, HTTP/1.1 or HTTP/2")
        }
        guard status >= 100, status < 600 else {
            return .invalid(.invalidResponse, "the status \(status) is out of range")
        }
        self.version = version
        self.status = status
        self.reason = reason
        part = .fields
        return .more
    }

    private mutating func takeField(_ line: UnsafeRawBufferPointer) -> Event {
        if line[0] == .space || line[0] == .tab { return takeFold(line) }
        guard let colon = line.firstIndex(of: .colon), colon > 0 else {
            return .invalid(.invalidResponse, "a field line has no name")
        }
        // More would not fit into `HTTPFields`.
        guard fields.count < min(limits.fieldCount, 60_000) else {
            return .invalid(.responseHeadTooLarge, "there are more than \(limits.fieldCount) fields")
        }
        guard let name = names.name(UnsafeRawBufferPointer(rebasing: line[..<colon])) else {
            return .invalid(.invalidResponse, "a field name holds a byte that may not stand there")
        }
        let value = Self.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
        guard value.allSatisfy(Self.isValueByte) else {
            return .invalid(.invalidResponse, "the value of \(name.rawName) holds a control character")
        }
        if part == .fields, let problem = framing.note(name, value) {
            return .invalid(.invalidResponse, problem)
        }
        if fields.isEmpty { fields.reserveCapacity(16) }
        fields.append(HTTPField(name: name, lenientValue: value))
        return .more
    }

    /// A line folded by an old server: its text belongs to the field before (RFC 9112 §5.2).
    private mutating func takeFold(_ line: UnsafeRawBufferPointer) -> Event {
        guard let last = fields.last else { return .invalid(.invalidResponse, "the first field line is folded") }
        guard !BodyFraming.matters(last.name) else {
            return .invalid(.invalidResponse, "the field \(last.name.rawName) is folded")
        }
        let text = Self.trimmed(line)
        guard text.allSatisfy(Self.isValueByte) else {
            return .invalid(.invalidResponse, "the value of \(last.name.rawName) holds a control character")
        }
        let joined = last.withUnsafeBytesOfValue { Array($0) + [.space] + Array(text) }
        fields[fields.count - 1] = HTTPField(name: last.name, lenientValue: joined)
        return .more
    }

    private mutating func finishHead() -> Event {
        let response = HTTPResponse(
            status: HTTPResponse.Status(code: status, reasonPhrase: reason), headerFields: takeFields())
        if status == 101 { return .invalid(.invalidResponse, "the server switched protocols without being asked to") }
        if status < 200 {
            part = .statusLine
            framing = BodyFraming()
            return .interim(response)
        }
        if let problem = framing.problem(version: version) { return .invalid(.invalidResponse, problem) }
        part = .trailers
        return .head(response)
    }

    private static func withoutLineEnd(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var end = line.count
        if end > 0, line[end - 1] == .lineFeed { end -= 1 }
        if end > 0, line[end - 1] == .carriageReturn { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: line[..<end])
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        var end = bytes.count
        while start < end, bytes[start] == .space || bytes[start] == .tab { start += 1 }
        while end > start, bytes[end - 1] == .space || bytes[end - 1] == .tab { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    /// Visible text, spaces, tabs and bytes above ASCII (RFC 9110 §5.5).
    private static func isValueByte(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7F : byte == .tab }
}

extension HTTPFields {
    /// The fields in one step.
    init(all fields: [HTTPField]) {
        self.init()
        replaceSubrange(0..<0, with: fields)
    }
}
