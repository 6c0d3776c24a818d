/// Reads the URIs that programs write: nothing in them has to be changed, so the text is kept as it is. Anything odd is left
/// to ``URIParser``, which knows why.
enum PlainURI {
    /// The URI, if it is a plain one.
    static func read(_ string: String) -> URI? {
        var text = string
        guard let layout = text.withUTF8(layout) else { return nil }
        return URI(text: text, layout: layout, userInformation: nil)
    }

    private static func layout(_ bytes: UnsafeBufferPointer<UInt8>) -> URI.Layout? {
        var layout = URI.Layout()
        var position = 7
        if bytes.starts(with: "https://".utf8) {
            layout.isSecure = true
            position = 8
        } else if !bytes.starts(with: "http://".utf8) {
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

    private static func port(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> UInt16? {
        var value = 0
        position += 1
        let start = position
        while position < bytes.count, bytes[position].isDigit, position - start < 5 {
            value = value * 10 + Int(bytes[position] - UInt8(ascii: "0"))
            position += 1
        }
        return position > start ? UInt16(exactly: value) : nil
    }

    /// Path, query and fragment.
    private static func readTarget(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, _ layout: inout URI.Layout
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

    /// Whether the byte may stand in path, query or fragment as it is: visible ASCII but for `" < > \\ ^ ` { | }`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        let mask: UInt64 = byte < 64 ? 0xAFFF_FFFA_0000_0000 : 0x47FF_FFFE_AFFF_FFFF
        return mask >> (byte & 63) & 1 == 1
    }
}
