extension StringResponseSerializer {
    /// An encoding of characters as bytes.
    ///
    /// The encodings that responses still come in. Names are read as `charset` has them (IANA's names and common aliases), in
    /// any case.
    public struct Encoding: Sendable, Hashable, CustomStringConvertible {
        enum Kind: String, Sendable {
            case utf8 = "UTF-8"
            case utf16 = "UTF-16"
            case utf16LittleEndian = "UTF-16LE"
            case utf16BigEndian = "UTF-16BE"
            case utf32 = "UTF-32"
            case utf32LittleEndian = "UTF-32LE"
            case utf32BigEndian = "UTF-32BE"
            case ascii = "US-ASCII"
            case latin1 = "ISO-8859-1"
            case windows1252 = "windows-1252"
        }

        let kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        /// UTF-8.
        public static let utf8 = StringResponseSerializer.Encoding(.utf8)
        /// UTF-16 in the order of its byte order mark; without one, little-endian, as browsers read it.
        public static let utf16 = StringResponseSerializer.Encoding(.utf16)
        /// UTF-16, the low byte first.
        public static let utf16LittleEndian = StringResponseSerializer.Encoding(.utf16LittleEndian)
        /// UTF-16, the high byte first.
        public static let utf16BigEndian = StringResponseSerializer.Encoding(.utf16BigEndian)
        /// UTF-32 in the order of its byte order mark; without one, little-endian.
        public static let utf32 = StringResponseSerializer.Encoding(.utf32)
        /// UTF-32, the low byte first.
        public static let utf32LittleEndian = StringResponseSerializer.Encoding(.utf32LittleEndian)
        /// UTF-32, the high byte first.
        public static let utf32BigEndian = StringResponseSerializer.Encoding(.utf32BigEndian)
        /// ASCII; bytes from 0x80 on are invalid.
        public static let ascii = StringResponseSerializer.Encoding(.ascii)
        /// ISO 8859-1: every byte is the code point of its number.
        public static let latin1 = StringResponseSerializer.Encoding(.latin1)
        /// Windows code page 1252; the five bytes that it leaves out are control characters, as browsers have it.
        public static let windows1252 = StringResponseSerializer.Encoding(.windows1252)

        /// The encoding with this name. nil if it is not one of those above.
        public init?(name: String) {
            guard let kind = Self.kinds[name.lowercased()] else { return nil }
            self.kind = kind
        }

        /// The name, as `charset` would have it.
        public var description: String { kind.rawValue }

        private static let kinds: [String: Kind] = [
            "utf-8": .utf8, "utf8": .utf8, "unicode-1-1-utf-8": .utf8,
            "utf-16": .utf16, "utf16": .utf16, "ucs-2": .utf16, "iso-10646-ucs-2": .utf16, "unicode": .utf16,
            "utf-16le": .utf16LittleEndian, "utf-16be": .utf16BigEndian,
            "utf-32": .utf32, "utf32": .utf32, "utf-32le": .utf32LittleEndian, "utf-32be": .utf32BigEndian,
            "us-ascii": .ascii, "ascii": .ascii, "ansi_x3.4-1968": .ascii, "iso646-us": .ascii,
            "iso-8859-1": .latin1, "iso8859-1": .latin1, "iso_8859-1": .latin1, "latin1": .latin1, "l1": .latin1,
            "windows-1252": .windows1252, "cp1252": .windows1252, "x-cp1252": .windows1252,
        ]
    }
}

extension StringResponseSerializer.Encoding {
    /// The text that the bytes are, without a byte order mark.
    /// - Parameter repairs: Whether what is not valid becomes U+FFFD. If not, there is no text.
    package func decode(_ bytes: ArraySlice<UInt8>, repairs: Bool) -> String? {
        switch kind {
        case .utf8: return Self.text(Self.strip([0xEF, 0xBB, 0xBF], from: bytes), UTF8.self, repairs)
        case .ascii: return decodeASCII(bytes, repairs: repairs)
        case .latin1: return Self.text(of: bytes) { Unicode.Scalar($0) }
        case .windows1252: return Self.text(of: bytes, Self.windowsCharacter)
        case .utf16, .utf16LittleEndian, .utf16BigEndian: return decodeUnits(bytes, UTF16.self, repairs)
        case .utf32, .utf32LittleEndian, .utf32BigEndian: return decodeUnits(bytes, UTF32.self, repairs)
        }
    }

    private func decodeASCII(_ bytes: ArraySlice<UInt8>, repairs: Bool) -> String? {
        if !repairs, bytes.contains(where: { $0 >= 0x80 }) { return nil }
        return Self.text(of: bytes) { $0 < 0x80 ? Unicode.Scalar($0) : "\u{FFFD}" }
    }

    /// UTF-16 or UTF-32: bytes to units, units to text.
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
        // Every unit was read little-endian; a mark the wrong way round says that they are not.
        if kind == .utf16BigEndian || kind == .utf32BigEndian {
            units = units.map(\.byteSwapped)
        } else if kind == .utf16 || kind == .utf32, units.first == mark.byteSwapped {
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

    private static func text(of bytes: ArraySlice<UInt8>, _ scalar: (UInt8) -> Unicode.Scalar) -> String {
        var text = String.UnicodeScalarView()
        text.reserveCapacity(bytes.count)
        for byte in bytes { text.append(scalar(byte)) }
        return String(text)
    }

    private static func windowsCharacter(_ byte: UInt8) -> Unicode.Scalar {
        guard (0x80...0x9F).contains(byte) else { return Unicode.Scalar(byte) }
        return windowsCharacters[Int(byte - 0x80)]
    }

    /// 0x80 to 0x9F (WHATWG Encoding, index windows-1252).
    private static let windowsCharacters: [Unicode.Scalar] = [
        "\u{20AC}", "\u{81}", "\u{201A}", "\u{192}", "\u{201E}", "\u{2026}", "\u{2020}", "\u{2021}",
        "\u{2C6}", "\u{2030}", "\u{160}", "\u{2039}", "\u{152}", "\u{8D}", "\u{17D}", "\u{8F}",
        "\u{90}", "\u{2018}", "\u{2019}", "\u{201C}", "\u{201D}", "\u{2022}", "\u{2013}", "\u{2014}",
        "\u{2DC}", "\u{2122}", "\u{161}", "\u{203A}", "\u{153}", "\u{9D}", "\u{17E}", "\u{178}",
    ]
}

extension StringResponseSerializer.Encoding {
    /// The encoding that a byte order mark at the beginning names.
    package static func marked(_ bytes: some Collection<UInt8>) -> StringResponseSerializer.Encoding? {
        let start = Array(bytes.prefix(4))
        if start.starts(with: [0xEF, 0xBB, 0xBF]) { return .utf8 }
        if start == [0xFF, 0xFE, 0, 0] || start == [0, 0, 0xFE, 0xFF] { return .utf32 }
        if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) { return .utf16 }
        return nil
    }

    /// True if a text in this encoding may begin with the mark of another and mean it.
    var isFixedByItsName: Bool {
        switch kind {
        case .utf16LittleEndian, .utf32LittleEndian, .utf32BigEndian, .utf16BigEndian: true
        default: false
        }
    }
}
