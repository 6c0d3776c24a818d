/// Reads media types from bytes (WHATWG MIME Sniffing §4.4). Pure, for any input.
package enum MediaTypeParser {
    /// The media type that the bytes are.
    package static func mediaType(in bytes: some Collection<UInt8>) -> MediaType? {
        var reader = FieldValueReader(bytes)
        reader.skipSpace()
        guard let type = reader.token(), reader.take(.slash), let subtype = reader.token() else { return nil }
        reader.skipSpace()
        guard reader.isAtEnd || reader.next == .semicolon else { return nil }
        return MediaType(type, subtype, parameters: parameters(&reader))
    }

    /// What stands behind the first value: a semicolon, a name and a value, each time.
    static func parameters(_ reader: inout FieldValueReader) -> [MediaType.Parameter] {
        var parameters: [MediaType.Parameter] = []
        while !reader.isAtEnd, parameters.count < MediaType.parameterLimit {
            reader.skip { $0 != .semicolon }
            guard reader.take(.semicolon) else { break }
            reader.skipSpace()
            guard let name = reader.token()?.lowercased(), reader.take(.equals) else { continue }
            guard let value = reader.next == .quote ? reader.quotedString() : reader.bareValue() else { continue }
            guard !parameters.contains(where: { $0.name == name }) else { continue }
            parameters.append(MediaType.Parameter(name, value))
        }
        return parameters
    }

    /// The members of a list: what stands between commas that are not in quotes.
    package static func parts(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        var isQuoted = false
        var isEscaped = false
        for (index, byte) in bytes.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == .backslash {
                isEscaped = true
            } else if byte == .quote {
                isQuoted.toggle()
            } else if byte == .comma, !isQuoted {
                parts.append(bytes[start..<index])
                start = index + 1
            }
        }
        parts.append(bytes[start...])
        return parts
    }

    /// The text as it may stand after an equals sign: a token as it is, anything else in quotes.
    static func quotedIfNeeded(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy(\.isTokenByte) { return text }
        var quoted = "\""
        for character in text.unicodeScalars {
            if character == "\"" || character == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}
