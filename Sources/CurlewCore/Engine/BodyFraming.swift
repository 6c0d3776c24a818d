internal import HTTPTypes

/// The end of a response's body (RFC 9112 §6) and of its connection, as the fields declare them. Curlew parses the
/// fields itself, because libcurl accepts invalid lengths and codings.
struct BodyFraming {
    private var length: Int64?
    private var isClosing = false
    private var isKeepAlive = false
    private(set) var isChunked = false

    /// The length of the body, if a field declares it. A transfer coding overrides it (RFC 9112 §6.3).
    var contentLength: Int64? { isChunked ? nil : length }

    /// True if both a length and a transfer coding are present, as in response smuggling. Later bytes on the connection
    /// cannot be trusted.
    var isAmbiguous: Bool { isChunked && length != nil }

    /// True for a field that is recorded.
    static func matters(_ name: HTTPField.Name) -> Bool { decidesLength(name) || name == .connection }

    static func decidesLength(_ name: HTTPField.Name) -> Bool { name == .contentLength || name == .transferEncoding }

    /// True if the connection can carry another exchange (RFC 9112 §9.3).
    func keepsConnection(version: HTTPProtocolVersion) -> Bool {
        version.hasStreams || (!isClosing && (version == .http11 || isKeepAlive))
    }

    /// Records a field; returns the description of an error.
    mutating func note(_ name: HTTPField.Name, _ value: UnsafeRawBufferPointer) -> String? {
        if name == .contentLength { return noteLength(value) }
        if name == .transferEncoding { return noteCoding(value) }
        if name == .connection { noteConnection(value) }
        return nil
    }

    private mutating func noteConnection(_ value: UnsafeRawBufferPointer) {
        for option in value.split(separator: .comma) {
            let word = Array(option.drop { $0 == .space || $0 == .tab })[...]
            if word.hasPrefix(ignoringCase: "close") { isClosing = true }
            if word.hasPrefix(ignoringCase: "keep-alive") { isKeepAlive = true }
        }
    }

    /// The description of an error in the combination of the fields.
    func problem(version: HTTPProtocolVersion) -> String? {
        guard isChunked else { return nil }
        return version == .http11 ? nil : "Transfer-Encoding in \(version)"
    }

    private mutating func noteLength(_ value: UnsafeRawBufferPointer) -> String? {
        guard let number = ContentLength.read(value) else { return "Content-Length is not a number" }
        if let length, length != number { return "two Content-Length fields differ" }
        length = number
        return nil
    }

    private mutating func noteCoding(_ value: UnsafeRawBufferPointer) -> String? {
        let isChunkedAlone = value.count == 7 && zip(value, "chunked".utf8).allSatisfy { $0 | 0x20 == $1 }
        guard isChunkedAlone, !isChunked else { return "the transfer coding is not chunked once" }
        isChunked = true
        return nil
    }
}

/// Follows the chunked coding of a body (RFC 9112 §7.1) beside libcurl, which ignores all text after a chunk's size.
///
/// The type is a pure state machine over the raw bytes. It stores none of them.
struct ChunkFraming {
    private enum Part {
        case size, beforeExtension, extensionText, sizeEnd
        case data, dataEnd, dataLineFeed
        case afterLast
    }

    /// The greatest number of bytes of a chunk's extensions, and of digits of its size. A larger size would overflow.
    private static let extensionLimit = 16_384
    private static let digitLimit = 15

    private var part = Part.size
    private var size: UInt64 = 0
    private var digits = 0
    private var extensionBytes = 0

    /// True if the coding was invalid.
    private(set) var isBroken = false

    /// True if the last chunk has arrived.
    var isEnded: Bool { part == .afterLast }

    /// Follows further bytes, as received from the connection.
    mutating func follow(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while next(in: bytes, from: &position) != nil {}
    }

    /// Finds the next bytes of the body.
    /// - Parameter position: The start of the search; afterwards the end of the bytes that were found or skipped.
    /// - Returns: The range of the bytes; nil if no bytes of the body are left.
    mutating func next(in bytes: UnsafeRawBufferPointer, from position: inout Int) -> Range<Int>? {
        while position < bytes.count, !isBroken, part != .afterLast {
            if part == .data {
                let taken = min(UInt64(bytes.count - position), size)
                size -= taken
                defer { position += Int(taken) }
                if size == 0 { part = .dataEnd }
                return position..<position + Int(taken)
            }
            take(bytes[position])
            position += 1
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) {
        switch part {
        case .size: takeSize(byte)
        case .beforeExtension:
            switch byte {
            case .space, .tab: break
            case UInt8(ascii: ";"): part = .extensionText
            case .carriageReturn: part = .sizeEnd
            default: isBroken = true
            }
        case .extensionText:
            extensionBytes += 1
            if byte == .carriageReturn { part = .sizeEnd }
            if byte == .lineFeed || byte == 0 || extensionBytes > Self.extensionLimit { isBroken = true }
        case .sizeEnd:
            guard byte == .lineFeed else { return isBroken = true }
            part = size == 0 ? .afterLast : .data
            digits = 0
            extensionBytes = 0
        case .dataEnd:
            guard byte == .carriageReturn else { return isBroken = true }
            part = .dataLineFeed
        case .dataLineFeed:
            guard byte == .lineFeed else { return isBroken = true }
            part = .size
        case .data, .afterLast: break
        }
    }

    private mutating func takeSize(_ byte: UInt8) {
        if let value = byte.hexValue {
            digits += 1
            guard digits <= Self.digitLimit else { return isBroken = true }
            size = size << 4 | UInt64(value)
            return
        }
        guard digits > 0 else { return isBroken = true }
        switch byte {
        case .carriageReturn: part = .sizeEnd
        case UInt8(ascii: ";"): part = .extensionText
        case .space, .tab: part = .beforeExtension
        default: isBroken = true
        }
    }
}
