extension ResponseSerializers.Text {
    /// An encoding of characters as bytes.
    ///
    /// The encodings of Unicode, ASCII, ISO 8859-1 and windows-1252 have constants. ``init(name:)`` creates the other
    /// encodings of the WHATWG Encoding Standard, such as `windows-1251`, `Shift_JIS`, `EUC-KR`, `Big5` and `GBK`.
    /// Their characters come from the C library (iconv).
    ///
    /// ```swift
    /// let cyrillic = ResponseSerializers.Text.Encoding(name: "windows-1251")
    /// ```
    public struct Encoding: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Sendable, Hashable {
            case unicode(UnicodeEncoding)
            case ascii, latin1, windows1252
            case legacy(LegacyEncoding)
        }

        let kind: Kind

        init(_ kind: Kind) { self.kind = kind }

        /// UTF-8.
        public static let utf8 = ResponseSerializers.Text.Encoding(.unicode(.utf8))
        /// UTF-16 in the order of its byte order mark; without one little-endian, as in browsers.
        public static let utf16 = ResponseSerializers.Text.Encoding(.unicode(.utf16))
        /// UTF-16, the low byte first.
        public static let utf16LittleEndian = ResponseSerializers.Text.Encoding(.unicode(.utf16LittleEndian))
        /// UTF-16, the high byte first.
        public static let utf16BigEndian = ResponseSerializers.Text.Encoding(.unicode(.utf16BigEndian))
        /// UTF-32 in the order of its byte order mark; without one little-endian.
        public static let utf32 = ResponseSerializers.Text.Encoding(.unicode(.utf32))
        /// UTF-32, the low byte first.
        public static let utf32LittleEndian = ResponseSerializers.Text.Encoding(.unicode(.utf32LittleEndian))
        /// UTF-32, the high byte first.
        public static let utf32BigEndian = ResponseSerializers.Text.Encoding(.unicode(.utf32BigEndian))
        /// ASCII; bytes from 0x80 are invalid. The label `us-ascii` of a response means ``windows1252``.
        public static let ascii = ResponseSerializers.Text.Encoding(.ascii)
        /// ISO 8859-1: every byte is its own code point. The label `iso-8859-1` of a response means ``windows1252``.
        public static let latin1 = ResponseSerializers.Text.Encoding(.latin1)
        /// Windows code page 1252; its five undefined bytes are control characters, as in browsers.
        public static let windows1252 = ResponseSerializers.Text.Encoding(.windows1252)

        /// Creates the encoding of a label as browsers read `charset` (WHATWG Encoding Standard §4.2); nil for an
        /// unknown label.
        ///
        /// All labels of the standard are known, except those of `replacement` (`iso-2022-kr`, `iso-2022-cn`,
        /// `hz-gb-2312`), which no browser decodes. UTF-32 and aliases that servers send, such as `cp932`, are known
        /// too.
        ///
        /// Case is ignored, as are spaces and quotation marks around the label, and hyphens, underscores and spaces in
        /// it: `'UTF_8'` is `utf-8`. `iso-8859-1`, `latin1` and `us-ascii` are windows-1252, `gb2312` is GBK,
        /// `iso-8859-9` is windows-1254. `utf-16` is little-endian, unless a byte order mark indicates the other order.
        public init?(name: String) {
            guard let kind = CharsetLabels.kind(of: name) else { return nil }
            self.kind = kind
        }

        /// The name in the WHATWG Encoding Standard.
        public var description: String {
            switch kind {
            case .unicode(let encoding): encoding.rawValue
            case .ascii: "US-ASCII"
            case .latin1: "ISO-8859-1"
            case .windows1252: "windows-1252"
            case .legacy(let encoding): encoding.rawValue
            }
        }
    }
}

extension ResponseSerializers.Text.Encoding {
    /// The text of the bytes, without a byte order mark.
    /// - Parameter repairs: True if invalid bytes become U+FFFD; otherwise they are an error.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed``, also if the machine lacks the characters of the
    ///   encoding.
    // Not inlined: Swift 6.3.1 crashes in release builds on an async function that this function is inlined into.
    @inline(never)
    package func decode(_ bytes: ArraySlice<UInt8>, repairs: Bool) throws -> String {
        guard let text = try text(of: bytes, repairs: repairs) else {
            throw CurlewError(.decodingFailed, "the bytes are not valid \(self)")
        }
        return text
    }

    private func text(of bytes: ArraySlice<UInt8>, repairs: Bool) throws -> String? {
        switch kind {
        case .unicode(let encoding): return encoding.text(of: bytes, repairs: repairs)
        case .ascii: return decodeASCII(bytes, repairs: repairs)
        case .latin1: return Self.text(of: bytes) { Unicode.Scalar($0) }
        case .windows1252: return Self.text(of: bytes, Self.windowsCharacter)
        case .legacy(let encoding): return try encoding.decode(bytes, repairs: repairs)
        }
    }

    private func decodeASCII(_ bytes: ArraySlice<UInt8>, repairs: Bool) -> String? {
        if !repairs, bytes.contains(where: { $0 >= 0x80 }) { return nil }
        return Self.text(of: bytes) { $0 < 0x80 ? Unicode.Scalar($0) : "\u{FFFD}" }
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

    /// The characters 0x80 to 0x9F (WHATWG Encoding, index windows-1252).
    private static let windowsCharacters: [Unicode.Scalar] = [
        "\u{20AC}", "\u{81}", "\u{201A}", "\u{192}", "\u{201E}", "\u{2026}", "\u{2020}", "\u{2021}",
        "\u{2C6}", "\u{2030}", "\u{160}", "\u{2039}", "\u{152}", "\u{8D}", "\u{17D}", "\u{8F}",
        "\u{90}", "\u{2018}", "\u{2019}", "\u{201C}", "\u{201D}", "\u{2022}", "\u{2013}", "\u{2014}",
        "\u{2DC}", "\u{2122}", "\u{161}", "\u{203A}", "\u{153}", "\u{9D}", "\u{17E}", "\u{178}",
    ]
}

extension ResponseSerializers.Text.Encoding {
    /// The encoding of a byte order mark at the beginning; nil without one.
    package static func marked(_ bytes: some Collection<UInt8>) -> ResponseSerializers.Text.Encoding? {
        UnicodeEncoding.marked(Array(bytes.prefix(4))).map { Self(.unicode($0)) }
    }

    /// The encoding of a text with a byte order mark and a label: the mark decides, as in browsers (WHATWG Encoding
    /// Standard §6).
    ///
    /// The mark of little-endian UTF-16 with a following NUL is also the mark of UTF-32. In this case the label
    /// decides.
    package static func marked(
        _ bytes: some Collection<UInt8>, labelled label: ResponseSerializers.Text.Encoding?
    ) -> ResponseSerializers.Text.Encoding? {
        let marked = marked(bytes)
        guard marked == .utf32, bytes.first == 0xFF else { return marked }
        return label == .utf16 || label == .utf16LittleEndian ? .utf16 : marked
    }
}
