import HTTPTypes
import Testing

@testable import CurlewCore

/// The labels of each encoding of the WHATWG Encoding Standard, from its encodings.json (2024-2026), except
/// `replacement`.
private let labels: [(name: String, labels: String)] = [
    ("UTF-8", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8"),
    ("IBM866", "866 cp866 csibm866 ibm866"),
    ("ISO-8859-2", "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2"),
    ("ISO-8859-3", "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3"),
    ("ISO-8859-4", "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4"),
    ("ISO-8859-5", "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"),
    ("ISO-8859-6", "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e"),
    ("ISO-8859-6", "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"),
    ("ISO-8859-7", "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597"),
    ("ISO-8859-7", "iso_8859-7 iso_8859-7:1987 sun_eu_greek"),
    ("ISO-8859-8", "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598"),
    ("ISO-8859-8", "iso_8859-8 iso_8859-8:1988 visual"),
    ("ISO-8859-8-I", "csiso88598i iso-8859-8-i logical"),
    ("ISO-8859-10", "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6"),
    ("ISO-8859-13", "iso-8859-13 iso8859-13 iso885913"),
    ("ISO-8859-14", "iso-8859-14 iso8859-14 iso885914"),
    ("ISO-8859-15", "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9"),
    ("ISO-8859-16", "iso-8859-16"),
    ("KOI8-R", "cskoi8r koi koi8 koi8-r koi8_r"),
    ("KOI8-U", "koi8-ru koi8-u"),
    ("macintosh", "csmacintosh mac macintosh x-mac-roman"),
    ("windows-874", "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874"),
    ("windows-1250", "cp1250 windows-1250 x-cp1250"),
    ("windows-1251", "cp1251 windows-1251 x-cp1251"),
    ("windows-1252", "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591"),
    ("windows-1252", "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252"),
    ("windows-1253", "cp1253 windows-1253 x-cp1253"),
    (
        "windows-1254",
        "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5"
    ),
    ("windows-1254", "windows-1254 x-cp1254"),
    ("windows-1255", "cp1255 windows-1255 x-cp1255"),
    ("windows-1256", "cp1256 windows-1256 x-cp1256"),
    ("windows-1257", "cp1257 windows-1257 x-cp1257"),
    ("windows-1258", "cp1258 windows-1258 x-cp1258"),
    ("x-mac-cyrillic", "x-mac-cyrillic x-mac-ukrainian"),
    ("GBK", "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk"),
    ("gb18030", "gb18030"),
    ("Big5", "big5 big5-hkscs cn-big5 csbig5 x-x-big5"),
    ("EUC-JP", "cseucpkdfmtjapanese euc-jp x-euc-jp"),
    ("ISO-2022-JP", "csiso2022jp iso-2022-jp"),
    ("Shift_JIS", "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis"),
    ("EUC-KR", "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601"),
    ("EUC-KR", "windows-949"),
    ("UTF-16BE", "unicodefffe utf-16be"),
    ("UTF-16LE", "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le"),
    ("x-user-defined", "x-user-defined"),
]

/// Samples of bytes, equal to the sources of the digests.
private enum Sample: String {
    /// Each byte once.
    case bytes
    /// Each pair of bytes whose first is 0x80 or more, followed by a line feed.
    case pairs
    /// 60,000 bytes, of the kinds that the encoding treats differently.
    case random
    /// Each character of three bytes in EUC-JP.
    case triples
    /// Each pair after a shift to JIS X 0208 in ISO-2022-JP.
    case shifted
    /// Each code of four bytes in the basic plane of GB 18030, and those at the borders beyond it.
    case quadruples

    func bytes(for name: String) -> [UInt8] {
        let high = Array(UInt8(0x80)...0xFF)
        let all = Array(UInt8(0)...0xFF)
        switch self {
        case .bytes: return all
        case .pairs: return high.flatMap { lead in all.flatMap { [lead, $0, 0x0A] } }
        case .random: return Self.random(Self.alphabet(of: name), 60_000)
        case .triples:
            let row = Array(UInt8(0xA1)...0xFE)
            return row.flatMap { lead in row.flatMap { [0x8F, lead, $0] } }
        case .shifted:
            let row = Array(UInt8(0x21)...0x7E)
            return [0x1B, 0x24, 0x42] + row.flatMap { lead in row.flatMap { [lead, $0] } }
        case .quadruples:
            let numbers = Array(0..<39_420) + [39_420, 188_999, 189_000, 189_001, 1_237_575, 1_237_576, 1_587_599]
            return numbers.flatMap { GB18030.bytes(of: $0) }
        }
    }

    private static func alphabet(of name: String) -> [UInt8] {
        switch name {
        case "GBK", "gb18030":
            [0x30, 0x39, 0x81, 0x82, 0x84, 0x31, 0x90, 0xE3, 0xFE, 0x41, 0x7F, 0x80, 0xFF, 0x35]
        case "ISO-2022-JP":
            [
                0x1B, 0x24, 0x28, 0x42, 0x4A, 0x49, 0x40, 0x21, 0x30, 0x7E, 0x5C, 0x0E, 0x80, 0x41, 0x1B, 0x28, 0x24,
            ]
        default:
            [
                0x8E, 0x8F, 0xA1, 0xB0, 0xDF, 0xE0, 0xFE, 0x41, 0x80, 0xA2, 0x81, 0x5C, 0x88, 0x62, 0xFF, 0x22, 0x3C,
            ]
        }
    }

    private static func random(_ alphabet: [UInt8], _ count: Int) -> [UInt8] {
        var state = 1
        return (0..<count).map { _ in
            state = (state * 1_103_515_245 + 12_345) % (1 << 31)
            return alphabet[(state >> 16) % alphabet.count]
        }
    }
}

/// The first half of the SHA-256 of each sample's text in UTF-8. The texts come from the standard's decoders,
/// implemented literally in another language over its index files, with U+FFFD for errors.
private let digests: [(name: String, samples: [(Sample, String)])] = [
    ("IBM866", [(.bytes, "3c8cc5cb485f93d2")]),
    ("ISO-8859-2", [(.bytes, "a5871b0f978b840b")]),
    ("ISO-8859-3", [(.bytes, "e83895f2b7d7b82b")]),
    ("ISO-8859-4", [(.bytes, "449076e20ebf45eb")]),
    ("ISO-8859-5", [(.bytes, "9f31ddc0f7444afa")]),
    ("ISO-8859-6", [(.bytes, "beba4e6cf97dce83")]),
    ("ISO-8859-7", [(.bytes, "71069977a6798ab7")]),
    ("ISO-8859-8", [(.bytes, "b43535e7aaeb7bcf")]),
    ("ISO-8859-8-I", [(.bytes, "b43535e7aaeb7bcf")]),
    ("ISO-8859-10", [(.bytes, "282514fbd01219c4")]),
    ("ISO-8859-13", [(.bytes, "4426f6d2f1b025cd")]),
    ("ISO-8859-14", [(.bytes, "f03afb7e01e66cac")]),
    ("ISO-8859-15", [(.bytes, "9b58b26dbd8fbff2")]),
    ("ISO-8859-16", [(.bytes, "2de1faef4dc524c9")]),
    ("KOI8-R", [(.bytes, "fb0243455e64ef70")]),
    ("KOI8-U", [(.bytes, "896c218aaf12ca1b")]),
    ("macintosh", [(.bytes, "54112bce885d7b1a")]),
    ("windows-874", [(.bytes, "6a2c7940c3d68216")]),
    ("windows-1250", [(.bytes, "03772ed2e875bd12")]),
    ("windows-1251", [(.bytes, "b16600cf4e6d1a2d")]),
    ("windows-1252", [(.bytes, "cc916e51644a12e8")]),
    ("windows-1253", [(.bytes, "e4570135cbc6e3d5")]),
    ("windows-1254", [(.bytes, "4a8e99647c3e28e6")]),
    ("windows-1255", [(.bytes, "870c5c5e687fabcd")]),
    ("windows-1256", [(.bytes, "6f6e8626197b1b6b")]),
    ("windows-1257", [(.bytes, "d19a4e888879e36a")]),
    ("windows-1258", [(.bytes, "e79b48db126bc71d")]),
    ("x-mac-cyrillic", [(.bytes, "784db55e1c90195e")]),
    ("x-user-defined", [(.bytes, "fb4341fe90799717")]),
    (
        "GBK",
        [
            (.bytes, "9cc45cb5d63e234d"), (.pairs, "6ca032ac22b5921c"), (.random, "a9e1d10356551a7f"),
        ]
    ),
    (
        "gb18030",
        [
            (.bytes, "9cc45cb5d63e234d"), (.pairs, "6ca032ac22b5921c"), (.random, "a9e1d10356551a7f"),
            (.quadruples, "a660ce7a846fa75e"),
        ]
    ),
    (
        "Big5",
        [
            (.bytes, "e44357c1b075d3e5"), (.pairs, "0a6ca50e9b5d4c9a"), (.random, "42174da8a6bfea39"),
        ]
    ),
    (
        "EUC-JP",
        [
            (.bytes, "ac22c5a947091e1f"), (.pairs, "93d193a6319f79db"), (.random, "53d4a577890b5f9f"),
            (.triples, "5eea0e0164f2e9df"),
        ]
    ),
    (
        "ISO-2022-JP",
        [
            (.bytes, "0a53580eb9bb28a3"), (.pairs, "d212557e4c8445c7"), (.random, "b22cd8b0db2e3163"),
            (.shifted, "8b9d7687f5830297"),
        ]
    ),
    (
        "Shift_JIS",
        [
            (.bytes, "71454046f74db40b"), (.pairs, "0694ae80cedb484d"), (.random, "16dadb0a29becf42"),
        ]
    ),
    (
        "EUC-KR",
        [
            (.bytes, "4ef9536a06f43c71"), (.pairs, "066ddaeeb420c9da"), (.random, "ccdac644e4bc5be8"),
        ]
    ),
]

@Suite("Charset labels and their encodings")
struct CharsetTests {
    private typealias Encoding = ResponseSerializers.Text.Encoding

    private static let replacement = [
        "csiso2022kr", "hz-gb-2312", "iso-2022-cn", "iso-2022-cn-ext", "iso-2022-kr", "replacement",
    ]

    @Test("each label of the WHATWG Encoding Standard has its encoding, in any letter case")
    func standardLabels() {
        var count = 0
        for (name, list) in labels {
            for label in list.split(separator: " ").map(String.init) {
                count += 1
                for spelling in [label, label.uppercased(), " \(label)\t", "'\(label)'", "\"\(label)\""] {
                    #expect(Encoding(name: spelling)?.description == name, "\(spelling)")
                }
            }
        }
        // The standard has 228 labels, six of them for its encoding `replacement`.
        #expect(count == 222)
    }

    @Test("a label whose encoding browsers do not decode is unknown", arguments: replacement)
    func replacementLabels(_ label: String) { #expect(Encoding(name: label) == nil) }

    @Test(
        "a common label that the standard lacks is accepted",
        arguments: [
            ("utf_8", "UTF-8"), ("UTF 8", "UTF-8"), ("utf8mb4", "UTF-8"), ("latin-1", "windows-1252"),
            ("ISO 8859-1", "windows-1252"), ("iso-latin-1", "windows-1252"), ("iso_8859_15", "ISO-8859-15"),
            ("cp932", "Shift_JIS"), ("shiftjis", "Shift_JIS"), ("eucjp", "EUC-JP"), ("EUC_KR", "EUC-KR"),
            ("cp949", "EUC-KR"), ("cp936", "GBK"), ("cp950", "Big5"), ("koi8_u", "KOI8-U"),
            ("win-1251", "windows-1251"),
            ("windows_1251", "windows-1251"), ("utf-32", "UTF-32"), ("UTF32LE", "UTF-32LE"),
        ])
    func aliases(_ label: String, _ name: String) { #expect(Encoding(name: label)?.description == name) }

    @Test(
        "a text that is not a label has no encoding",
        arguments: [
            "", "'", "utf-9", "utf-7", "klingon", "iso-8859-12", "iso-8859-17", "utf-8;", "ütf-8", "\u{212A}oi8-r",
            String(repeating: "-", count: 10_000) + "utf-8",
        ])
    func noLabels(_ label: String) { #expect(Encoding(name: label) == nil) }

    @Test("each legacy encoding decodes all of its bytes as in the standard", arguments: digests.indices)
    func decoding(_ index: Int) throws {
        let (name, samples) = digests[index]
        let encoding = try #require(Encoding(name: name))
        for (sample, expected) in samples {
            let bytes = sample.bytes(for: name)
            let text = try encoding.decode(bytes[...], repairs: true)
            let digest = try MessageDigest.hash(text, by: .sha256).prefix(16)
            #expect(digest == expected, "\(name) \(sample)")
        }
    }

    @Test("every legacy encoding is tested")
    func completeness() {
        #expect(Set(LegacyEncoding.allCases.map(\.rawValue)).isSubset(of: digests.map(\.name)))
    }

    @Test(
        "a text in a legacy encoding is decoded",
        arguments: [
            // The results are those of Python's codecs, except the euro sign of GBK, which is the standard's.
            ("windows-1251", "cff0e8e2e5f2", "Привет"), ("koi8-r", "f0d2c9d7c5d4", "Привет"),
            ("iso-8859-15", "a4bdbe", "€œŸ"), ("iso-8859-7", "c3e5e9dc", "Γειά"),
            ("windows-1256", "e3d1cde8c7", "مرحèا"),
            ("shift_jis", "93fa967b8cea5c", "日本語\\"), ("shift_jis", "b6c5", "ｶﾅ"),
            ("euc-jp", "c6fccbdcb8ec8eb6", "日本語ｶ"), ("iso-2022-jp", "1b2442467c4b5c386c1b2842", "日本語"),
            ("gb2312", "d6d0cec480", "中文€"), ("gb18030", "d6d0cec49439da33", "中文💩"), ("big5", "a4a4a4e5", "中文"),
            ("euc-kr", "c7d1b1db8141", "한글갂"),
        ])
    func samples(_ label: String, _ hexadecimal: String, _ text: String) throws {
        let bytes = Self.bytes(hexadecimal)
        #expect(try Encoding(name: label)?.decode(bytes[...], repairs: false) == text)
    }

    @Test(
        "invalid bytes are one error each, and never consume an ASCII byte",
        arguments: [
            // The results are those of the standard's decoders.
            ("shift_jis", "8122", "\u{FFFD}\""), ("shift_jis", "81fd41", "\u{FFFD}A"), ("shift_jis", "81", "\u{FFFD}"),
            ("shift_jis", "a0ff", "\u{FFFD}\u{FFFD}"), ("euc-kr", "ff413c", "\u{FFFD}A<"),
            ("euc-kr", "c93c", "\u{FFFD}<"),
            ("big5", "87ff41", "\u{FFFD}A"), ("big5", "8722", "\u{FFFD}\""), ("euc-jp", "8fa241", "\u{FFFD}A"),
            ("euc-jp", "8fa1", "\u{FFFD}"), ("euc-jp", "8e8e41", "\u{FFFD}A"), ("gb18030", "813081", "\u{FFFD}"),
            ("gb18030", "81308141", "\u{FFFD}0丄"), ("gb18030", "8130ff", "\u{FFFD}0\u{FFFD}"),
            ("gb18030", "8431a530", "\u{FFFD}"), ("iso-2022-jp", "1b2441", "\u{FFFD}$A"),
            ("iso-2022-jp", "1b24421b284241", "\u{FFFD}A"), ("iso-2022-jp", "1b2442461b284241", "\u{FFFD}A"),
            ("iso-2022-jp", "80", "\u{FFFD}"), ("windows-1253", "aa", "\u{FFFD}"), ("iso-8859-3", "a5", "\u{FFFD}"),
        ])
    func invalid(_ label: String, _ hexadecimal: String, _ repaired: String) throws {
        let bytes = Self.bytes(hexadecimal)
        let encoding = try #require(Encoding(name: label))
        #expect(try encoding.decode(bytes[...], repairs: true) == repaired)
        let error = #expect(throws: CurlewError.self) { try encoding.decode(bytes[...], repairs: false) }
        #expect(error?.code == .decodingFailed && error?.message.contains(encoding.description) == true)
    }

    @Test(
        "a machine without the C library's tables reports an error that names the encoding",
        arguments: LegacyEncoding.allCases)
    func missingTables(_ encoding: LegacyEncoding) throws {
        let none = CharacterTables { _ in nil }
        guard encoding != .userDefined else {
            #expect(try encoding.decode([0x41, 0x80], repairs: false, tables: none) == "A\u{F780}")
            return
        }
        let error = #expect(throws: CurlewError.self) { try encoding.decode([0x41], repairs: false, tables: none) }
        #expect(error?.code == .decodingFailed && error?.message.contains("\"\(encoding.rawValue)\"") == true)
    }

    @Test("a conversion that the C library lacks is nil")
    func noConversion() {
        if SystemConversion(from: "no-such-charset") != nil { Issue.record("there is a conversion") }
    }

    @Test("the error for an unknown charset names it, shortened and without control characters")
    func unknownLabel() {
        let error = CharsetLabels.unknown("a\u{1B}" + String(repeating: "b", count: 1000), of: "the response")
        #expect(
            error.message
                == "the charset \"a\u{FFFD}\(String(repeating: "b", count: 38))\" of the response is not known")
    }

    @Test("a byte order mark overrides every label, even a label of UTF-16")
    func marks() throws {
        let marked: [[UInt8]] = [[0xEF, 0xBB, 0xBF, 0xC3, 0xA9], [0xFE, 0xFF, 0, 0xE9], [0xFF, 0xFE, 0xE9, 0]]
        for bytes in marked {
            for label in ["shift_jis", "gb18030", "utf-16le", "utf-16be", "utf-8", "iso-2022-jp"] {
                let fields: HTTPFields = [.contentType: "text/plain; charset=\(label)"]
                let response = CurlewResponse.Collected(
                    head: HTTPResponse(status: .ok, headerFields: fields), body: bytes, uri: try CurlewURI("http://a/"))
                #expect(try ResponseSerializers.Text().decode(response) == "é", "\(label)")
            }
        }
    }

    @Test("decoding takes linear time for any bytes")
    func time() throws {
        for label in ["gb18030", "iso-2022-jp", "big5", "euc-jp", "shift_jis", "euc-kr", "windows-1251"] {
            let encoding = try #require(Encoding(name: label))
            for pattern in [[0x81], [0x81, 0x30], [0x1B], [0x8F, 0xA1], [0x1B, 0x24, 0x42]] as [[UInt8]] {
                let bytes = Array(repeatElement(pattern, count: 1 << 18).joined())
                #expect(try encoding.decode(bytes[...], repairs: true).utf8.count <= 3 * bytes.count)
            }
        }
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal.utf8).compactMap(\.hexValue)
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
