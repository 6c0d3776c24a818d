/// The parser of ``CurlewURI``: one pass for the parts, one for percent-encoding.
enum URIParser {
    static func absolute(_ string: String) throws -> CurlewURI {
        if let uri = URIFastPath.read(string) { return uri }
        let bytes = Array(string.utf8)
        guard let schemeEnd = schemeEnd(of: bytes) else {
            throw CurlewError(.invalidURL, "\"\(printable(url: string))\" is not an absolute URL")
        }
        let scheme = String(decoding: bytes[..<schemeEnd], as: UTF8.self).lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw CurlewError(.unsupportedScheme, "the scheme \"\(printable(scheme))\" is neither http nor https")
        }
        let start = schemeEnd + 3
        guard bytes.count > start, bytes[schemeEnd + 1] == .slash, bytes[schemeEnd + 2] == .slash else {
            throw CurlewError(.invalidURL, "\"\(printable(url: string))\" names no host")
        }
        let authorityEnd = bytes[start...].firstIndex { $0 == .slash || $0 == .questionMark || $0 == .numberSign }
        return try assemble(
            isSecure: scheme == "https",
            authority: bytes[start..<(authorityEnd ?? bytes.count)],
            target: bytes[(authorityEnd ?? bytes.count)...]
        )
    }

    /// The length of the scheme, if the text begins with one and its colon (RFC 3986 §3.1).
    static func schemeEnd(of bytes: some Sequence<UInt8>) -> Int? {
        var length = 0
        for byte in bytes {
            if byte == .colon { return length > 0 ? length : nil }
            guard byte.isLetter || length > 0 && (byte.isDigit || "+-.".utf8.contains(byte)) else { return nil }
            length += 1
        }
        return nil
    }

    private static func assemble(isSecure: Bool, authority: ArraySlice<UInt8>, target: ArraySlice<UInt8>) throws
        -> CurlewURI
    {
        var layout = CurlewURI.Layout()
        layout.isSecure = isSecure
        var hostAndPort = authority
        var userInformation: String?
        if let at = authority.lastIndex(of: .at) {
            userInformation = try decodedUserInformation(authority[..<at])
            hostAndPort = authority[(at + 1)...]
        }
        var text = isSecure ? Array("https://".utf8) : Array("http://".utf8)
        try appendHost(hostAndPort, to: &text, layout: &layout)
        layout.authorityEnd = text.count

        let fragmentStart = target.firstIndex(of: .numberSign) ?? target.endIndex
        let queryStart = target[..<fragmentStart].firstIndex(of: .questionMark) ?? fragmentStart
        if queryStart == target.startIndex { text.append(.slash) }
        try appendEncoded(target[..<queryStart], to: &text)
        layout.pathEnd = text.count
        layout.hasDotSegment = zip(text[layout.authorityEnd...], text[layout.authorityEnd...].dropFirst())
            .contains { $0 == .slash && $1 == UInt8(ascii: ".") }
        try appendEncoded(target[queryStart..<fragmentStart], to: &text)
        layout.queryEnd = text.count
        try appendEncoded(target[fragmentStart...], to: &text)
        return CurlewURI(text: String(decoding: text, as: UTF8.self), layout: layout, userInformation: userInformation)
    }

    private static func appendHost(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8], layout: inout CurlewURI.Layout)
        throws
    {
        var hostEnd = bytes.endIndex
        if bytes.first == .openBracket {
            guard let close = bytes.firstIndex(of: .closeBracket) else {
                throw CurlewError(.invalidURL, "an IPv6 address lacks its closing bracket")
            }
            hostEnd = close + 1
        } else if let colon = bytes.firstIndex(of: .colon) {
            hostEnd = colon
        }
        var host = bytes[..<hostEnd]
        guard !host.isEmpty, host.count <= 1024 else {
            throw CurlewError(.invalidURL, host.isEmpty ? "the host is empty" : "the host is too long")
        }
        if host.contains(where: { $0 >= 0x80 }) {
            let name = String(validating: host, as: UTF8.self).flatMap(InternationalName.ascii)
            guard let name else {
                throw CurlewError(
                    .invalidURL,
                    "the host \"\(printable(String(decoding: host, as: UTF8.self)))\" \(InternationalName.refusal)")
            }
            host = Array(name.utf8)[...]
        }
        let isBracketed = host.first == .openBracket
        let isValid =
            isBracketed
            ? host.count > 3 && host.dropFirst().dropLast().allSatisfy(isAddressByte) : host.allSatisfy(isHostByte)
        guard isValid else {
            throw CurlewError(
                .invalidURL, "the host \"\(printable(String(decoding: host, as: UTF8.self)))\" is not valid")
        }
        let start = text.count
        text.append(contentsOf: host)
        layout.host = start..<text.count
        guard hostEnd < bytes.endIndex else { return }
        let digits = bytes[(hostEnd + 1)...]
        let isPort = bytes[hostEnd] == .colon
        if isPort, digits.isEmpty { return }
        guard isPort, let port = PortNumber.read(digits) else {
            throw CurlewError(.invalidURL, "the port is not a number from 1 to 65535")
        }
        layout.port = port
        text.append(.colon)
        text.append(contentsOf: String(port).utf8)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        byte.isHexDigit || byte == .colon || byte == UInt8(ascii: ".")
    }

    /// Appends path, query or fragment, and percent-encodes the characters that are not allowed.
    private static func appendEncoded(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) throws {
        for byte in bytes {
            switch byte {
            case 0x00...0x1F, 0x7F:
                throw CurlewError(.invalidURL, "the URL holds a control character")
            case UInt8(ascii: " "), UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
                UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"), 0x80...:
                text.append(UInt8(ascii: "%"))
                text.append(hexDigits[Int(byte >> 4)])
                text.append(hexDigits[Int(byte & 15)])
            default:
                text.append(byte)
            }
        }
    }

    private static func decodedUserInformation(_ bytes: ArraySlice<UInt8>) throws -> String {
        let decoded = PercentDecoding.bytes(of: bytes, isStrict: false) ?? []
        let user = bytes.prefix { $0 != .colon }
        // A colon in the user's name would change where the password begins.
        guard !(PercentDecoding.bytes(of: user, isStrict: false) ?? []).contains(.colon) else {
            throw CurlewError(.invalidURL, "the user's name holds a colon, which cannot be sent (RFC 7617 §2)")
        }
        guard !decoded.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }) else {
            throw CurlewError(.invalidURL, "the user information holds a control character")
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    /// Text that is safe in an error: no control characters, no password, at most 100 characters.
    static func printable(_ string: String) -> String { string.printable }

    /// The part of a URL that is safe in an error: neither query nor fragment, which may contain codes and tokens.
    static func printable(url: String) -> String {
        guard let end = url.unicodeScalars.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return printable(url) }
        // A password that is not percent-encoded may contain `?` and `#`.
        if url.unicodeScalars[end...].contains("@") { return "…" }
        return String(url[..<end]).printable + "…"
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)
}

/// A parser for the URIs that programs write: they need no change, so the text is kept. ``URIParser`` reads all others
/// and reports their errors.
private enum URIFastPath {
    /// The URI, if it needs no change.
    static func read(_ string: String) -> CurlewURI? {
        var text = string
        guard let layout = text.withUTF8(layout) else { return nil }
        return CurlewURI(text: text, layout: layout, userInformation: nil)
    }

    private static func layout(_ bytes: UnsafeBufferPointer<UInt8>) -> CurlewURI.Layout? {
        var layout = CurlewURI.Layout()
        var position = 7
        if begins(bytes, with: "https://") {
            layout.isSecure = true
            position = 8
        } else if !begins(bytes, with: "http://") {
            return nil
        }
        let hostStart = position
        while position < bytes.count, isPlainHostByte(bytes[position]) { position += 1 }
        guard position > hostStart, position - hostStart <= 255 else { return nil }
        layout.host = hostStart..<position
        if position < bytes.count, bytes[position] == .colon {
            guard let port = port(bytes, &position) else { return nil }
            layout.port = port
        }
        layout.authorityEnd = position
        guard position < bytes.count, bytes[position] == .slash else { return nil }
        guard readTarget(bytes, from: position, &layout) else { return nil }
        return layout
    }

    // The generic comparison of a String's bytes took 500 instructions per request.
    private static func begins(_ bytes: UnsafeBufferPointer<UInt8>, with prefix: StaticString) -> Bool {
        guard bytes.count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount where bytes[index] != prefix.utf8Start[index] { return false }
        return true
    }

    private static func port(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> UInt16? {
        var value = 0
        position += 1
        let start = position
        // The text is kept unchanged, so a port with leading zeros is left to the full parser.
        guard position < bytes.count, bytes[position] != UInt8(ascii: "0") else { return nil }
        while position < bytes.count, bytes[position].isDigit, position - start < 5 {
            value = value * 10 + Int(bytes[position] - UInt8(ascii: "0"))
            position += 1
        }
        return position > start ? UInt16(exactly: value) : nil
    }

    /// Path, query and fragment.
    private static func readTarget(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, _ layout: inout CurlewURI.Layout
    ) -> Bool {
        var pathEnd = -1
        var queryEnd = -1
        var previous: UInt8 = 0
        for position in start..<bytes.count {
            let byte = bytes[position]
            guard isPlain(byte) else { return false }
            if queryEnd < 0 {
                if byte == .numberSign {
                    queryEnd = position
                    if pathEnd < 0 { pathEnd = position }
                } else if byte == .questionMark, pathEnd < 0 {
                    pathEnd = position
                } else if pathEnd < 0, previous == .slash, byte == UInt8(ascii: ".") {
                    layout.hasDotSegment = true
                }
            }
            previous = byte
        }
        layout.pathEnd = pathEnd < 0 ? bytes.count : pathEnd
        layout.queryEnd = queryEnd < 0 ? bytes.count : queryEnd
        return true
    }

    private static func isPlainHostByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }

    /// True if the byte may stand in path, query or fragment unchanged: visible ASCII except `" < > \\ ^ ` { | }`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        let mask: UInt64 = byte < 64 ? 0xAFFF_FFFA_0000_0000 : 0x47FF_FFFE_AFFF_FFFF
        return mask >> (byte & 63) & 1 == 1
    }
}
