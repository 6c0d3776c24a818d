internal import HTTPTypes

/// Checks the head of a response as its lines arrive from libcurl, which accepts many heads that RFC 9112 forbids.
///
/// The type is a pure state machine: it turns lines into events, and performs no I/O.
struct HeadParser {
    enum Event {
        /// The head needs further lines.
        case more
        /// An interim response (1xx) is complete.
        case interim(HTTPResponse)
        /// The final head is complete.
        case head(HTTPResponse)
        /// The trailers, if any, are complete.
        case trailers(HTTPFields)
        /// The response cannot be used.
        case invalid(ErrorCode, String)
    }

    private enum Part { case statusLine, fields, trailers }

    /// The capacity of `HTTPFields`.
    private static let fieldLimit = 60_000

    private let limits: CurlewResponse.Limits
    /// True if the request asks for an upgrade.
    private let expectsUpgrade: Bool
    private var part = Part.statusLine
    /// The status of the newest head.
    private(set) var status = 0
    private var reason = ""
    // An array instead of `HTTPFields`, whose `append` is much slower.
    private var fields: [HTTPField] = []
    /// The value of the last field while folded lines extend it. The cost of a fold is thus linear in its length.
    private var foldedValue: [UInt8]?
    private var foldCount = 0
    private var bytes = 0

    // State of the comparison with a cached head.
    private let cache: ResponseHeadCache
    private var cached: CachedHead?
    /// The number of leading lines that equal those of the cached head. These fields are in `fields` only after a
    /// difference was found.
    private var matchedLineCount = 0
    private var isMatchingCache = false
    private var lines = FieldLines()

    /// The version on the status line.
    private(set) var version = HTTPProtocolVersion.http11
    /// The framing of the body, as the fields declare it.
    private(set) var framing = BodyFraming()
    /// True if the empty line at the end of the final head has arrived.
    var isComplete: Bool { part == .trailers }
    /// True if `line`, the next one, is folded although no field precedes it.
    func isFoldedFirst(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let first = line.first, first == .space || first == .tab else { return false }
        return !hasField
    }
    /// True if the head has a field so far.
    var hasField: Bool { matchedLineCount > 0 || !fields.isEmpty }
    /// True if any line has arrived.
    private(set) var hasBegun = false

    init(limits: CurlewResponse.Limits, cache: ResponseHeadCache, expectsUpgrade: Bool = false) {
        self.limits = limits
        self.expectsUpgrade = expectsUpgrade
        self.cache = cache
    }

    /// Parses one line, including its line end.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Event {
        hasBegun = true
        bytes += line.count
        if bytes > limits.headSize.bytes {
            return .invalid(.responseHeadTooLarge, "the head is larger than \(limits.headSize)")
        }
        let content = Self.withoutLineEnd(line)
        switch part {
        case .statusLine: return takeStatusLine(content)
        case .fields: return content.isEmpty ? finishHead() : takeField(content)
        case .trailers: return takeTrailers(line)
        }
    }

    /// Parses a line of trailers. libcurl (7.88) joins lines that arrived while the transfer was paused, so there may
    /// be several.
    private mutating func takeTrailers(_ lines: UnsafeRawBufferPointer) -> Event {
        var start = 0
        while start < lines.count {
            let end = lines[start...].firstIndex(of: .lineFeed).map { $0 + 1 } ?? lines.count
            let content = Self.withoutLineEnd(UnsafeRawBufferPointer(rebasing: lines[start..<end]))
            start = end
            if content.isEmpty { return .trailers(takeFields()) }
            let event = takeField(content)
            guard case .more = event else { return event }
        }
        return .more
    }

    /// Returns the fields so far. Trailers may be unterminated, because HTTP/2 has no empty line after them.
    mutating func takeFields() -> HTTPFields {
        endFold()
        foldCount = 0
        guard !fields.isEmpty else { return HTTPFields() }
        defer { fields = [] }
        return HTTPFields(all: fields)
    }

    private mutating func takeStatusLine(_ line: UnsafeRawBufferPointer) -> Event {
        guard let (version, status, reason) = StatusLine.read(line) else {
            return .invalid(.invalidResponse, "the status line is not one of HTTP/1.0, HTTP/1.1 or HTTP/2")
        }
        // No standard defines the statuses from 600 on, but some servers use them.
        guard status >= 100 else {
            return .invalid(.invalidResponse, "the status \(status) is out of range")
        }
        self.version = version
        self.status = status
        self.reason = reason
        part = .fields
        return .more
    }

    private mutating func takeField(_ line: UnsafeRawBufferPointer) -> Event {
        if part == .fields {
            if matchesCache(line) { return .more }
            if isMatchingCache, let problem = endMatching() { return .invalid(.invalidResponse, problem) }
            lines.append(line)
        }
        let isFold = line[0] == .space || line[0] == .tab
        guard fields.count + foldCount < min(limits.fieldCount, Self.fieldLimit) else {
            return .invalid(.responseHeadTooLarge, "there are more than \(limits.fieldCount) fields")
        }
        if isFold { return takeFold(line) }
        endFold()
        if fields.isEmpty { fields.reserveCapacity(16) }
        if part == .fields, let field = cached?.field(fields.count, of: line) { return take(field) }
        guard let colon = line.firstIndex(of: .colon), colon > 0 else {
            return .invalid(.invalidResponse, "a field line has no name")
        }
        guard let name = cache.names.name(UnsafeRawBufferPointer(rebasing: line[..<colon])) else {
            return .invalid(.invalidResponse, "a field name holds a byte that is not allowed there")
        }
        let value = Self.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
        guard Self.isTaken(value, of: name) else {
            return .invalid(.invalidResponse, "the value of \(name.rawName) holds a control character")
        }
        if part == .fields, let problem = framing.note(name, value) {
            return .invalid(.invalidResponse, problem)
        }
        fields.append(HTTPField(name: name, lenientValue: value))
        return .more
    }

    // MARK: Cached heads

    /// True if this line and all lines before it equal the cached head's.
    private mutating func matchesCache(_ line: UnsafeRawBufferPointer) -> Bool {
        if matchedLineCount == 0, fields.isEmpty, lines.count == 0 {
            cached = cache.head(status: status, firstLine: line)
            isMatchingCache = cached != nil
        }
        guard isMatchingCache, matchedLineCount < limits.fieldCount, cached?.holds(line, at: matchedLineCount) == true
        else { return false }
        matchedLineCount += 1
        return true
    }

    /// Ends the comparison after a difference: copies the fields before it.
    private mutating func endMatching() -> String? {
        isMatchingCache = false
        guard let cached else { return nil }
        lines = cached.lines(first: matchedLineCount)
        fields.reserveCapacity(max(16, cached.count))
        for index in 0..<matchedLineCount {
            if case .invalid(_, let problem) = take(cached.response.headerFields[index]) { return problem }
        }
        return nil
    }

    /// Appends a field that was checked when it first arrived.
    private mutating func take(_ field: HTTPField) -> Event {
        if BodyFraming.matters(field.name),
            let problem = field.withUnsafeBytesOfValue({ framing.note(field.name, UnsafeRawBufferPointer($0)) })
        {
            return .invalid(.invalidResponse, problem)
        }
        fields.append(field)
        return .more
    }

    /// The response of the head; the cached one if it is equal.
    private mutating func makeResponse() -> HTTPResponse {
        defer {
            cached = nil
            matchedLineCount = 0
            isMatchingCache = false
            lines = FieldLines()
        }
        if isMatchingCache, let cached, cached.count == matchedLineCount, cached.reason == reason {
            framing = cached.framing
            return cached.response
        }
        if isMatchingCache { _ = endMatching() }
        endFold()
        foldCount = 0
        let made = HTTPResponse(
            status: HTTPResponse.Status(code: status, reasonPhrase: reason), headerFields: takeFields(like: cached))
        if let head = CachedHead(status: status, reason: reason, response: made, framing: framing, lines: lines) {
            cache.insert(head)
        }
        return made
    }

    /// Returns the fields so far. Changing a few fields of a similar head is faster than making new ones.
    private mutating func takeFields(like cached: CachedHead?) -> HTTPFields {
        guard let cached, cached.count == fields.count, lines.count == fields.count else { return takeFields() }
        var changed = cached.response.headerFields
        for index in fields.indices where !cached.isSame(lines, at: index) {
            // Names are equal regardless of their case; the response would then have the case of the cached head.
            guard changed[index].name.rawName == fields[index].name.rawName else { return takeFields() }
            changed[index] = fields[index]
        }
        fields = []
        return changed
    }

    /// Parses a line folded by an old server: its text extends the field before (RFC 9112 §5.2).
    private mutating func takeFold(_ line: UnsafeRawBufferPointer) -> Event {
        guard let last = fields.last else { return .invalid(.invalidResponse, "the first field line is folded") }
        guard !BodyFraming.decidesLength(last.name) else {
            return .invalid(.invalidResponse, "the field \(last.name.rawName) is folded")
        }
        let text = Self.trimmed(line)
        guard Self.isTaken(text, of: last.name) else {
            return .invalid(.invalidResponse, "the value of \(last.name.rawName) holds a control character")
        }
        if foldedValue == nil { foldedValue = last.withUnsafeBytesOfValue { Array($0) } }
        foldedValue?.append(.space)
        foldedValue?.append(contentsOf: text)
        foldCount += 1
        return .more
    }

    /// Ends a folded field, because the next line is not folded.
    private mutating func endFold() {
        guard let value = foldedValue, let last = fields.last else { return }
        fields[fields.count - 1] = HTTPField(name: last.name, lenientValue: value)
        foldedValue = nil
    }

    private mutating func finishHead() -> Event {
        let response = makeResponse()
        if status == 101 { return finishUpgrade(response) }
        if status < 200 {
            part = .statusLine
            framing = BodyFraming()
            return .interim(response)
        }
        if let problem = framing.problem(version: version) { return .invalid(.invalidResponse, problem) }
        part = .trailers
        return .head(response)
    }

    /// Ends the head of a 101. The bytes after it belong to another protocol.
    private mutating func finishUpgrade(_ response: HTTPResponse) -> Event {
        guard expectsUpgrade, version == .http11 else {
            return .invalid(.invalidResponse, "the server switched protocols without a request for it")
        }
        framing = BodyFraming()
        part = .trailers
        return .head(response)
    }

    /// True if a value is accepted. Control characters are harmless in most fields. The answer to a challenge contains
    /// parts of the challenge, in some schemes written by libcurl itself, and a sent field must contain none.
    private static func isTaken(_ value: UnsafeRawBufferPointer, of name: HTTPField.Name) -> Bool {
        if value.allSatisfy(\.isFieldValueByte) { return true }
        guard name != .wwwAuthenticate, name != .proxyAuthenticate else { return false }
        return value.allSatisfy(\.isReceivedValueByte)
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
}

extension HTTPFields {
    /// Makes the fields in one step.
    init(all fields: [HTTPField]) {
        self.init()
        replaceSubrange(0..<0, with: fields)
    }
}

/// The first line of a response (RFC 9112 §4).
enum StatusLine {
    /// Parses a line without its line end. A line of HTTP/2 or HTTP/3 represents the field `:status` and has no reason.
    static func read(_ line: UnsafeRawBufferPointer) -> (HTTPProtocolVersion, status: Int, reason: String)? {
        guard line.count >= 8, line[0] == UInt8(ascii: "H"), line[1] == UInt8(ascii: "T"), line[2] == UInt8(ascii: "T"),
            line[3] == UInt8(ascii: "P"), line[4] == .slash
        else { return nil }
        let version: HTTPProtocolVersion
        var position = 6
        switch (line[5], line[6]) {
        case (UInt8(ascii: "1"), UInt8(ascii: ".")):
            guard line[7] == UInt8(ascii: "0") || line[7] == UInt8(ascii: "1") else { return nil }
            version = line[7] == UInt8(ascii: "0") ? .http10 : .http11
            position = 8
        case (UInt8(ascii: "2"), .space): version = .http2
        case (UInt8(ascii: "3"), .space): version = .http3
        default: return nil
        }
        guard line.count >= position + 4, line[position] == .space else { return nil }
        let digits = line[(position + 1)..<(position + 4)]
        guard digits.allSatisfy(\.isDigit) else { return nil }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        position += 4
        guard position == line.count || line[position] == .space else { return nil }
        let reason = line[min(position + 1, line.count)...]
        guard reason.allSatisfy(\.isReceivedValueByte) else { return nil }
        return (version, status, text(of: reason))
    }

    /// Decodes a reason as ISO 8859-1, unless it is ASCII.
    private static func text(of reason: UnsafeRawBufferPointer.SubSequence) -> String {
        guard reason.contains(where: { $0 >= 0x80 }) else { return String(decoding: reason, as: UTF8.self) }
        return String(String.UnicodeScalarView(reason.map { Unicode.Scalar($0) }))
    }
}
