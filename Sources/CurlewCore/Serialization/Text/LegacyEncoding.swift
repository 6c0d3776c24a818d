/// An encoding of the WHATWG Encoding Standard, by its name there, except those of Unicode and windows-1252.
///
/// The characters come from the C library (``SystemConversion``), once for each encoding and process, into tables of at
/// most 160 KiB. The decoding follows the standard: it defines which invalid bytes are one error.
enum LegacyEncoding: String, Sendable, CaseIterable {
    case ibm866 = "IBM866"
    case iso8859Part2 = "ISO-8859-2"
    case iso8859Part3 = "ISO-8859-3"
    case iso8859Part4 = "ISO-8859-4"
    case iso8859Part5 = "ISO-8859-5"
    case iso8859Part6 = "ISO-8859-6"
    case iso8859Part7 = "ISO-8859-7"
    case iso8859Part8 = "ISO-8859-8"
    case iso8859Part8Logical = "ISO-8859-8-I"
    case iso8859Part10 = "ISO-8859-10"
    case iso8859Part13 = "ISO-8859-13"
    case iso8859Part14 = "ISO-8859-14"
    case iso8859Part15 = "ISO-8859-15"
    case iso8859Part16 = "ISO-8859-16"
    case koi8Russian = "KOI8-R"
    case koi8Ukrainian = "KOI8-U"
    case macintosh = "macintosh"
    case windows874 = "windows-874"
    case windows1250 = "windows-1250"
    case windows1251 = "windows-1251"
    case windows1253 = "windows-1253"
    case windows1254 = "windows-1254"
    case windows1255 = "windows-1255"
    case windows1256 = "windows-1256"
    case windows1257 = "windows-1257"
    case windows1258 = "windows-1258"
    case macCyrillic = "x-mac-cyrillic"
    case gbk = "GBK"
    case gb18030 = "gb18030"
    case big5 = "Big5"
    case eucJapanese = "EUC-JP"
    case iso2022Japanese = "ISO-2022-JP"
    case shiftJIS = "Shift_JIS"
    case eucKorean = "EUC-KR"
    case userDefined = "x-user-defined"

    /// The C library's name of the conversion with the characters of the table; nil for encodings without their own
    /// table.
    var conversion: String? {
        switch self {
        case .iso8859Part8Logical: "ISO-8859-8"
        case .windows874: "CP874"
        case .windows1250, .windows1251, .windows1253, .windows1254, .windows1255, .windows1256, .windows1257,
            .windows1258:
            "CP" + rawValue.suffix(4)
        case .macintosh: "MACINTOSH"
        case .macCyrillic: "MAC-CYRILLIC"
        case .gbk, .gb18030: "GB18030"
        case .big5: "BIG5-HKSCS"
        // The index jis0208 of the standard contains code page 932 in another order.
        case .shiftJIS, .eucJapanese, .iso2022Japanese: "CP932"
        case .eucKorean: "UHC"
        case .userDefined: nil
        default: rawValue
        }
    }

    var isSingleByte: Bool {
        switch self {
        case .gbk, .gb18030, .big5, .eucJapanese, .iso2022Japanese, .shiftJIS, .eucKorean: false
        default: true
        }
    }
}

extension LegacyEncoding {
    /// The text of the bytes.
    /// - Parameters:
    ///   - bytes: The text's bytes.
    ///   - repairs: True if invalid bytes become U+FFFD; otherwise the result is nil.
    ///   - tables: The tables of characters.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` if the machine lacks the characters of the encoding.
    func decode(
        _ bytes: ArraySlice<UInt8>, repairs: Bool, tables: CharacterTables = .shared
    ) throws(CurlewError) -> String? {
        if isSingleByte {
            var output = LegacyOutput(capacity: bytes.count)
            let table = try tables.singleByte(self)
            for byte in bytes {
                if byte < 0x80 { output.append(byte: byte) } else { output.append(table[Int(byte) - 0x80]) }
            }
            return output.text(repairs: repairs)
        }
        var decoder = LegacyDecoder(bytes)
        switch self {
        case .gbk, .gb18030: decoder.readGB18030(try tables.pairs(self), try tables.quadruples())
        case .eucJapanese: decoder.readEUCJapanese(try tables.pairs(self), try tables.supplement())
        case .iso2022Japanese: decoder.readISO2022Japanese(try tables.pairs(self))
        case .big5: decoder.readPairs(try tables.pairs(self), leads: 0x81...0xFE)
        case .eucKorean: decoder.readPairs(try tables.pairs(self), leads: 0x81...0xFE)
        default: decoder.readShiftJIS(try tables.pairs(self))
        }
        return decoder.output.text(repairs: repairs)
    }
}

/// The scalars of a text, and a flag for errors.
struct LegacyOutput {
    private var scalars = String.UnicodeScalarView()
    private var isInvalid = false

    init(capacity: Int) { scalars.reserveCapacity(capacity) }

    /// Appends a character of a table: a scalar, a letter with a mark, or an error.
    mutating func append(_ value: UInt32) {
        if value & CharacterTables.pairFlag != 0 {
            append((value & ~CharacterTables.pairFlag) >> 16)
            append(value & 0xFFFF)
        } else if value != CharacterTables.missing, let scalar = Unicode.Scalar(value) {
            scalars.append(scalar)
        } else {
            fail()
        }
    }

    mutating func append(byte: UInt8) { scalars.append(Unicode.Scalar(byte)) }

    mutating func fail() {
        isInvalid = true
        scalars.append("\u{FFFD}")
    }

    /// The text; nil if it has errors and `repairs` is false.
    func text(repairs: Bool) -> String? { isInvalid && !repairs ? nil : String(scalars) }
}
