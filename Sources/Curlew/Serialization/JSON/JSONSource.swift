/// The text of a JSON document as UTF-8, whatever Unicode encoding it came in.
enum JSONSource {
    /// Finds the encoding, by a byte order mark or by where the zeros of the first four bytes are (RFC 4627 §3), and turns
    /// the text into UTF-8 without a mark.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for bytes that are not valid in it.
    static func utf8(_ bytes: [UInt8]) throws -> [UInt8] {
        let encoding = encoding(of: bytes)
        guard encoding == .utf8 else {
            guard let text = encoding.decode(bytes[...], repairs: false) else { throw invalid(encoding) }
            return Array(text.utf8)
        }
        guard (try? UTF8Span(validating: bytes.span)) != nil else { throw invalid(encoding) }
        return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    /// Whether there is nothing but white space.
    static func isBlank(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { $0 == .space || $0 == .lineFeed || $0 == .carriageReturn || $0 == .tab }
    }

    private static func encoding(of bytes: [UInt8]) -> CharacterEncoding {
        if let marked = CharacterEncoding.marked(bytes) { return marked }
        guard bytes.count >= 2 else { return .utf8 }
        let zeros = bytes.prefix(4).map { $0 == 0 }
        if zeros == [true, true, true, false] { return .utf32BigEndian }
        if zeros == [false, true, true, true] { return .utf32LittleEndian }
        if zeros[0], !zeros[1] { return .utf16BigEndian }
        if !zeros[0], zeros[1] { return .utf16LittleEndian }
        return .utf8
    }

    private static func invalid(_ encoding: CharacterEncoding) -> CurlewError {
        CurlewError(.decodingFailed, "the bytes are not valid \(encoding)")
    }
}
