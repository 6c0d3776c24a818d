internal import CurlewSupport

/// Checks a text and decodes it by a coding.
package struct JSONReader: Sendable {
    let options: JSONCoding.ReadingOptions
    let coding: JSONCoding

    package init(options: JSONCoding.ReadingOptions, coding: JSONCoding) {
        self.options = options
        self.coding = coding
    }

    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/decodingFailed`` for text that is not JSON by
    ///   the options; the decoder's error for text that is not a value of the type.
    package func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        let text = try JSONSource.utf8(bytes)
        let tape = try JSONTape(text, options: options)
        guard let decoder = coding.decoder, type != JSONValue.self, type != JSONValue?.self else {
            return try JSONDecoding.decode(type, from: tape, coding: coding)
        }
        // Another decoder does not know these rules: it usually takes the first of two values, and keeps all nulls.
        let isChanged = options.duplicateKeys == .lastWins || options.removesKeysWithNullValues
        return try decoder.decode(json: isChanged ? tape.value().jsonBytes() : text, as: type)
    }
}

/// The conversion of JSON texts in any Unicode encoding to UTF-8.
package enum JSONSource {
    /// Converts a text to UTF-8 without a byte order mark. The encoding is detected by the mark, or by the zeros among
    /// the first four bytes (RFC 4627 §3).
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/decodingFailed`` for bytes that are invalid in
    ///   their encoding.
    static func utf8(_ bytes: [UInt8]) throws -> [UInt8] {
        let encoding = encoding(of: bytes)
        guard encoding == .utf8 else {
            guard let text = encoding.text(of: bytes[...], repairs: false) else { throw invalid(encoding) }
            return Array(text.utf8)
        }
        guard (try? UTF8Span(validating: bytes.span)) != nil else { throw invalid(encoding) }
        return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    private static func invalid(_ encoding: UnicodeEncoding) -> JSONCoding.Failure {
        JSONCoding.Failure(reading: "the bytes are not valid \(encoding.rawValue)")
    }

    /// True if the bytes are empty or only white space.
    package static func isBlank(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { $0 == .space || $0 == .lineFeed || $0 == .carriageReturn || $0 == .tab }
    }

    private static func encoding(of bytes: [UInt8]) -> UnicodeEncoding {
        if let marked = UnicodeEncoding.marked(bytes) { return marked }
        guard bytes.count >= 2 else { return .utf8 }
        let zeros = bytes.prefix(4).map { $0 == 0 }
        if zeros == [true, true, true, false] { return .utf32BigEndian }
        if zeros == [false, true, true, true] { return .utf32LittleEndian }
        if zeros[0], !zeros[1] { return .utf16BigEndian }
        if !zeros[0], zeros[1] { return .utf16LittleEndian }
        return .utf8
    }
}

/// JSON strings (RFC 8259 §7).
enum JSONText {
    /// Appends the string in quotation marks. Control characters, quotation marks and backslashes are escaped; all
    /// other characters are written in UTF-8.
    static func append(_ string: String, escapingSlashes: Bool, to output: inout [UInt8]) {
        var string = string
        output.append(quotationMark)
        string.withUTF8 { bytes in
            var start = 0
            for (position, byte) in bytes.enumerated() where needsEscape(byte, escapingSlashes) {
                output.append(contentsOf: bytes[start..<position])
                appendEscape(of: byte, to: &output)
                start = position + 1
            }
            output.append(contentsOf: bytes[start...])
        }
        output.append(quotationMark)
    }

    private static let quotationMark = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    private static func needsEscape(_ byte: UInt8, _ escapingSlashes: Bool) -> Bool {
        byte < 0x20 || byte == quotationMark || byte == backslash || (byte == .slash && escapingSlashes)
    }

    private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        output.append(backslash)
        switch byte {
        case quotationMark, backslash, .slash: output.append(byte)
        case 0x08: output.append(UInt8(ascii: "b"))
        case .tab: output.append(UInt8(ascii: "t"))
        case .lineFeed: output.append(UInt8(ascii: "n"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case .carriageReturn: output.append(UInt8(ascii: "r"))
        default:
            let low = byte & 15
            output += "u00".utf8
            output.append(UInt8(ascii: "0") + byte >> 4)
            output.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        }
    }
}
