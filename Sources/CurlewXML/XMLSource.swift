internal import Curlew

/// A converter of XML documents from any supported encoding to UTF-8.
///
/// libxml2 supports many more encodings, some of which hide tags from a scan of the bytes. So the text is decoded here
/// without its XML declaration, and libxml2 reads only UTF-8.
enum XMLSource {
    /// The document in UTF-8. A byte order mark determines the encoding, otherwise the charset of Content-Type (RFC
    /// 7303 §3), otherwise the declaration.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed``.
    static func utf8(_ bytes: [UInt8], charset: String? = nil) throws -> [UInt8] {
        let encoding = try encoding(of: bytes, charset: charset)
        let text = try encoding.decode(bytes[...], repairs: false)
        return try withoutDeclaration(Array(text.utf8))
    }

    private static func encoding(of bytes: [UInt8], charset: String?) throws -> ResponseSerializers.Text.Encoding {
        if let marked = ResponseSerializers.Text.Encoding.marked(bytes) { return marked }
        if bytes.starts(with: [0, 0x3C]) { return .utf16BigEndian }
        if bytes.starts(with: [0x3C, 0]) { return .utf16LittleEndian }
        guard let name = charset ?? declaredEncoding(bytes) else { return .utf8 }
        guard let encoding = ResponseSerializers.Text.Encoding(name: name) else {
            throw CharsetLabels.unknown(name, of: "the XML")
        }
        return encoding
    }

    /// The end of the XML declaration; nil if there is none. It ends at the first `>`, because its content has none.
    private static func declarationEnd(_ bytes: some Collection<UInt8>) -> Int? {
        guard bytes.starts(with: "<?xml".utf8), let blank = bytes.dropFirst(5).first,
            [0x20, 0x09, 0x0A, 0x0D].contains(blank)
        else { return nil }
        return bytes.enumerated().first { $0.element == UInt8(ascii: ">") }.map { $0.offset + 1 }
    }

    /// Removes the declaration and byte order marks.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for a text that has a declaration
    ///   nevertheless. libxml2 would obey its encoding.
    private static func withoutDeclaration(_ bytes: [UInt8]) throws -> [UInt8] {
        let content = withoutMarks(bytes[...])
        let text = declarationEnd(content).map { content.dropFirst($0) } ?? content
        guard declarationEnd(withoutMarks(text)) == nil else {
            throw CurlewError(.decodingFailed, "the XML has two XML declarations")
        }
        return Array(text)
    }

    private static func withoutMarks(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        while rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        return rest
    }

    /// The value of `encoding` in the declaration.
    private static func declaredEncoding(_ bytes: [UInt8]) -> String? {
        guard let end = declarationEnd(bytes) else { return nil }
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        guard let start = text.firstRange(of: "encoding") else { return nil }
        let quotes: Set<Character> = ["\"", "'"]
        let value = text[start.upperBound...].drop { !quotes.contains($0) }.dropFirst()
        return value.isEmpty ? nil : String(value.prefix { !quotes.contains($0) })
    }
}
