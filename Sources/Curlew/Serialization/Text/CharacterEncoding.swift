/// How characters are written as bytes.
///
/// The encodings that responses still come in. Names are read as `charset` has them (IANA's names and common aliases), in
/// any case.
public struct CharacterEncoding: Sendable, Hashable, CustomStringConvertible {
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
    public static let utf8 = CharacterEncoding(.utf8)
    /// UTF-16 in the order of its byte order mark; without one, little-endian, as browsers read it.
    public static let utf16 = CharacterEncoding(.utf16)
    /// UTF-16, the low byte first.
    public static let utf16LittleEndian = CharacterEncoding(.utf16LittleEndian)
    /// UTF-16, the high byte first.
    public static let utf16BigEndian = CharacterEncoding(.utf16BigEndian)
    /// UTF-32 in the order of its byte order mark; without one, little-endian.
    public static let utf32 = CharacterEncoding(.utf32)
    /// UTF-32, the low byte first.
    public static let utf32LittleEndian = CharacterEncoding(.utf32LittleEndian)
    /// UTF-32, the high byte first.
    public static let utf32BigEndian = CharacterEncoding(.utf32BigEndian)
    /// ASCII; bytes from 0x80 on are invalid.
    public static let ascii = CharacterEncoding(.ascii)
    /// ISO 8859-1: every byte is the code point of its number.
    public static let latin1 = CharacterEncoding(.latin1)
    /// Windows code page 1252; the five bytes that it leaves out are control characters, as browsers have it.
    public static let windows1252 = CharacterEncoding(.windows1252)

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
