internal import HTTPTypes

/// A part of a form to send: its fields as bytes, and the source of its body.
struct FormPart: Sendable {
    enum Content: Sendable {
        /// Bytes in memory, which are sent together with the adjacent delimiters.
        case bytes([UInt8])
        /// A file, which must not change.
        case file(WatchedFile)
        /// A body of any other kind, such as a stream.
        case stream(CurlewRequest.Body)
    }

    /// The fields, each with its line end, and the empty line.
    let head: [UInt8]
    let content: Content
    /// The name for error messages.
    let name: String

    init(name: String, fields: HTTPFields, content: Content) {
        self.name = name
        self.content = content
        var head: [UInt8] = []
        for field in fields {
            head += Array(field.name.rawName.utf8)
            head += [.colon, .space]
            field.withUnsafeBytesOfValue { head += $0 }
            head += [.carriageReturn, .lineFeed]
        }
        self.head = head + [.carriageReturn, .lineFeed]
    }

    /// The length of the body, if it is known.
    var length: Int64? {
        switch content {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.length
        case .stream(let body): body.length
        }
    }

    var isReplayable: Bool {
        if case .stream(let body) = content { body.isReplayable } else { true }
    }

    /// The chunks of the body.
    func chunks() async throws -> CurlewRequest.Body.Stream {
        switch content {
        case .bytes(let bytes): try await CurlewRequest.Body.bytes(bytes).stream()
        case .file(let file): WatchedFileChunks(file: file)
        case .stream(let body): try await body.stream()
        }
    }
}

/// The checks of a part's fields.
enum PartFields {
    /// The field for a Content-Type, with the value unchanged.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a value that is empty or contains a control
    ///   character.
    static func contentType(_ value: String) throws -> HTTPField {
        guard !value.isEmpty else { throw CurlewError(.invalidRequest, "the Content-Type of a part is empty") }
        return try HTTPField(checking: "Content-Type", value: value.utf8)
    }

    /// Checks a field. A field that was created leniently may contain control characters.
    static func check(_ field: HTTPField) throws {
        _ = try field.withUnsafeBytesOfValue { try HTTPField(checking: field.name.rawName, value: $0) }
    }
}

/// The Content-Disposition of a form's part (RFC 7578 §4.2), with names escaped as in browsers.
struct PartDisposition {
    let name: String
    let fileName: String?
    let hasExtendedFileName: Bool

    /// The value of the field.
    var value: String {
        var text = "form-data; name=\"\(Self.escaped(name))\""
        if let fileName {
            text += "; filename=\"\(Self.escaped(fileName))\""
            if hasExtendedFileName, !fileName.utf8.allSatisfy({ $0 < 0x80 }) {
                text += "; filename*=UTF-8''\(Self.extended(fileName))"
            }
        }
        return text
    }

    /// Escapes a name by the WHATWG's multipart/form-data encoding: `"` becomes `%22`, CR `%0D`, LF `%0A`, and `%`
    /// stays. Other control characters are escaped in the same way, as they are not allowed in a field; browsers do not
    /// escape them.
    static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: needsEscape) else { return name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            if needsEscape(byte) { PercentEncoding.appendEscaped(byte, to: &bytes) } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == 0x7F || (byte < 0x20 && byte != .tab)
    }

    /// Encodes a name with the value characters of RFC 8187 §3.2.1.
    private static func extended(_ name: String) -> String {
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            let isKept = byte.isLetter || byte.isDigit || "!#$&+-.^_`|~".utf8.contains(byte)
            if isKept { bytes.append(byte) } else { PercentEncoding.appendEscaped(byte, to: &bytes) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The text that separates the parts of a multipart body (RFC 2046 §5.1.1), and the delimiters with it.
struct MultipartBoundary: Sendable, Hashable {
    let text: String
    /// True if the caller chose it. A random one almost never occurs in a body, so it is not searched for.
    let isChosen: Bool

    /// Creates `Boundary+` and two random numbers of 32 bits, as 16 hexadecimal digits in capitals.
    static func random() -> MultipartBoundary {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    static func random(using generator: inout some RandomNumberGenerator) -> MultipartBoundary {
        let digits = (0..<2).map { _ in hexadecimal(UInt32.random(in: 0...UInt32.max, using: &generator)) }
        return MultipartBoundary(random: "Boundary+" + digits.joined())
    }

    private init(random text: String) {
        self.text = text
        isChosen = false
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for text that the grammar does not allow.
    init(_ text: String) throws {
        guard (1...70).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed), text.utf8.last != .space else {
            throw CurlewError(
                .invalidRequest, "a boundary has 1 to 70 letters, digits and '()+_,-./:=? and does not end with a space"
            )
        }
        self.text = text
        isChosen = true
    }

    /// The delimiter before the head of a part.
    func opening(isFirst: Bool) -> [UInt8] { Array("\(isFirst ? "" : "\r\n")--\(text)\r\n".utf8) }

    /// The delimiter after the last part, or alone in a form without parts.
    func closing(isFirst: Bool) -> [UInt8] { Array("\(isFirst ? "" : "\r\n")--\(text)--\r\n".utf8) }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "'()+_,-./:=? ".utf8.contains(byte)
    }

    private static func hexadecimal(_ number: UInt32) -> String {
        let digits = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}

/// Searches the bodies of parts for a boundary while they are sent. It stores as many bytes as the boundary has.
struct BoundaryWatch: Sendable {
    /// The pattern: for a reader of the form, a line that begins with the boundary ends a part (RFC 2046 §5.1.1),
    /// whatever follows.
    private let search: DelimiterSearch
    /// The end of the bytes so far, which may be the beginning of the boundary.
    private var tail: [UInt8] = []

    init(_ boundary: MultipartBoundary) { search = DelimiterSearch(Array("\n--\(boundary.text)".utf8)) }

    /// Begins the body of a part, at the beginning of a line.
    mutating func begin() { tail = [.lineFeed] }

    /// Searches the next bytes of a body.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` if they contain the boundary.
    mutating func pass(_ bytes: [UInt8]) throws {
        let rest = search.pattern.count - 1
        let seam = tail + bytes.prefix(rest)
        guard search.firstMatch(in: seam, from: 0) == nil, search.firstMatch(in: bytes, from: 0) == nil else {
            throw CurlewError(.bodyFailed, "a line of its body begins with the boundary of the form")
        }
        tail = Array((bytes.count < rest ? seam : bytes).suffix(rest))
    }
}
