/// The encodings of Unicode, by their names in the WHATWG Encoding Standard.
package enum UnicodeEncoding: String, Sendable {
    case utf8 = "UTF-8"
    /// UTF-16 in the order of its byte order mark; without one little-endian.
    case utf16 = "UTF-16"
    case utf16LittleEndian = "UTF-16LE"
    case utf16BigEndian = "UTF-16BE"
    /// UTF-32 in the order of its byte order mark; without one little-endian.
    case utf32 = "UTF-32"
    case utf32LittleEndian = "UTF-32LE"
    case utf32BigEndian = "UTF-32BE"

    /// The text of the bytes, without a byte order mark.
    /// - Parameter repairs: True if invalid bytes become U+FFFD; otherwise the text is nil.
    package func text(of bytes: ArraySlice<UInt8>, repairs: Bool) -> String? {
        switch self {
        case .utf8: Self.text(Self.strip([0xEF, 0xBB, 0xBF], from: bytes), UTF8.self, repairs)
        case .utf16, .utf16LittleEndian, .utf16BigEndian: decodeUnits(bytes, UTF16.self, repairs)
        case .utf32, .utf32LittleEndian, .utf32BigEndian: decodeUnits(bytes, UTF32.self, repairs)
        }
    }

    /// The encoding of a byte order mark at the beginning; nil without one.
    package static func marked(_ bytes: [UInt8]) -> UnicodeEncoding? {
        guard bytes.count >= 2 else { return nil }
        let third = bytes.count > 2 ? bytes[2] : nil
        let fourth = bytes.count > 3 ? bytes[3] : nil
        switch (bytes[0], bytes[1]) {
        case (0xEF, 0xBB): return third == 0xBF ? .utf8 : nil
        case (0xFF, 0xFE): return third == 0 && fourth == 0 ? .utf32 : .utf16
        case (0xFE, 0xFF): return .utf16
        case (0, 0): return third == 0xFE && fourth == 0xFF ? .utf32 : nil
        default: return nil
        }
    }

    /// Decodes UTF-16 or UTF-32: bytes to units, units to text.
    private func decodeUnits<Encoding: Unicode.Encoding>(
        _ bytes: ArraySlice<UInt8>, _ encoding: Encoding.Type, _ repairs: Bool
    ) -> String? where Encoding.CodeUnit: FixedWidthInteger {
        typealias Unit = Encoding.CodeUnit
        let width = Unit.bitWidth / 8
        guard repairs || bytes.count % width == 0 else { return nil }
        var units: [Unit] = []
        units.reserveCapacity(bytes.count / width)
        var position = bytes.startIndex
        while position + width <= bytes.endIndex {
            units.append(bytes[position..<(position + width)].reversed().reduce(0) { $0 << 8 | Unit($1) })
            position += width
        }
        let mark = Unit(0xFEFF)
        // The units were read as little-endian; a byte-swapped mark shows that they are big-endian.
        if self == .utf16BigEndian || self == .utf32BigEndian {
            units = units.map(\.byteSwapped)
        } else if self == .utf16 || self == .utf32, units.first == mark.byteSwapped {
            units = units.map(\.byteSwapped)
        }
        let text = Self.text(units.first == mark ? units.dropFirst() : units[...], encoding, repairs)
        return bytes.count % width == 0 ? text : text.map { $0 + "\u{FFFD}" }
    }

    private static func text<Encoding: Unicode.Encoding>(
        _ units: ArraySlice<Encoding.CodeUnit>, _ encoding: Encoding.Type, _ repairs: Bool
    ) -> String? {
        repairs ? String(decoding: units, as: encoding) : String(validating: units, as: encoding)
    }

    private static func strip(_ mark: [UInt8], from bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes
    }
}
