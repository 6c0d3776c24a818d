/// The characters of the legacy encodings, by the indexes of the WHATWG Encoding Standard.
///
/// A table is created at the first use of its encoding and kept for the life of the process. Its characters come from
/// the C library, with corrections for the few that differ from the standard (glibc 2.36). All tables together have
/// less than 1 MiB.
struct CharacterTables: Sendable {
    /// The value for bytes that are not a character.
    static let missing: UInt32 = 0
    /// The flag of a value with a letter in its upper half and a mark in its lower one.
    static let pairFlag: UInt32 = 1 << 31

    /// The tables of the process.
    static let shared = CharacterTables { SystemConversion(from: $0) }

    private enum Part: Hashable {
        case singleByte(LegacyEncoding)
        /// Two bytes, by the name of the conversion that several encodings may share.
        case pairs(String)
        case quadruples, supplement
    }

    private let open: @Sendable (String) -> SystemConversion?
    private let made = Guarded<[Part: [UInt32]]>([:])

    /// - Parameter open: Opens the conversion of a name; nil if there is none.
    init(open: @escaping @Sendable (String) -> SystemConversion?) { self.open = open }

    /// The table of a part, stored after its creation. Another thread may create the same one concurrently.
    private func table(
        _ part: Part, from name: String, for encoding: LegacyEncoding, _ make: (borrowing SystemConversion) -> [UInt32]
    ) throws(CurlewError) -> [UInt32] {
        if let table = made.withLock({ $0[part] }) { return table }
        guard let conversion = open(name) else {
            throw CurlewError(
                .decodingFailed,
                "the charset \"\(encoding.rawValue)\" needs a table of the C library (iconv) that this machine lacks")
        }
        let table = make(conversion)
        made.withLock { $0[part] = table }
        return table
    }
}

// MARK: Single-byte encodings

extension CharacterTables {
    /// The characters of the bytes from 0x80.
    func singleByte(_ encoding: LegacyEncoding) throws(CurlewError) -> [UInt32] {
        guard let name = encoding.conversion else { return (0..<0x80).map { 0xF780 + $0 } }
        return try table(.singleByte(encoding), from: name, for: encoding) { conversion in
            let isWindows = encoding.rawValue.hasPrefix("windows")
            var table = (0x80...0xFF).map { byte in
                // The standard defines control characters where Windows defines none.
                conversion.scalars(of: [byte]).first ?? (isWindows && byte < 0xA0 ? UInt32(byte) : Self.missing)
            }
            for (byte, scalar) in encoding.corrections { table[byte - 0x80] = scalar }
            return table
        }
    }
}

extension LegacyEncoding {
    /// The bytes that the C library decodes differently.
    fileprivate var corrections: [(byte: Int, scalar: UInt32)] {
        switch self {
        case .koi8Ukrainian: [(0xAE, 0x45E), (0xBE, 0x40E)]
        case .macintosh: [(0xC6, 0x2206), (0xF0, 0xF8FF)]
        case .windows1255: [(0xCA, 0x5BA)]
        case .macCyrillic: [(0xFF, 0x20AC)]
        default: []
        }
    }
}

// MARK: Multi-byte encodings

extension CharacterTables {
    /// The index of a pair in a table of pairs; the first byte is 0x80 or more.
    static func place(_ lead: UInt8, _ trail: UInt8) -> Int { Int(lead & 0x7F) << 8 | Int(trail) }

    /// The characters of pairs of bytes.
    func pairs(_ encoding: LegacyEncoding) throws(CurlewError) -> [UInt32] {
        guard let name = encoding.conversion else { return [] }
        return try table(.pairs(name), from: name, for: encoding) { conversion in
            var table = Self.pairs(by: conversion, UInt8(0x40)...0xFE)
            switch encoding {
            case .big5: Self.correct(&table, by: Big5Corrections.all)
            case .gbk, .gb18030: Self.correct(&table, by: GB18030Corrections.pairs)
            default: break
            }
            return table
        }
    }

    private static func pairs(
        by conversion: borrowing SystemConversion, _ trails: ClosedRange<UInt8>, after prefix: [UInt8] = []
    ) -> [UInt32] {
        var table = [UInt32](repeating: missing, count: 1 << 15)
        for lead in UInt8(0x81)...0xFE {
            for trail in trails {
                let scalars = conversion.scalars(of: prefix + [lead, trail])
                // Half-width katakana of code page 932 have one byte each: two of them are not a pair.
                let isPair = scalars.count == 2 && scalars[1] == 0x304 || scalars.count == 2 && scalars[1] == 0x30C
                if scalars.count == 1 {
                    table[place(lead, trail)] = scalars[0]
                } else if isPair {
                    table[place(lead, trail)] = pairFlag | scalars[0] << 16 | scalars[1]
                }
            }
        }
        return table
    }

    private static func correct(_ table: inout [UInt32], by corrections: [(pair: UInt16, scalar: UInt32)]) {
        for (pair, scalar) in corrections {
            table[place(UInt8(pair >> 8), UInt8(truncatingIfNeeded: pair))] = scalar
        }
    }

    /// The index jis0212: the characters of two bytes after 0x8F in EUC-JP.
    func supplement() throws(CurlewError) -> [UInt32] {
        try table(.supplement, from: "EUC-JP", for: .eucJapanese) {
            Self.pairs(by: $0, UInt8(0xA1)...0xFE, after: [0x8F])
        }
    }

    /// The characters of four bytes in GB 18030 in the basic plane, by their number.
    func quadruples() throws(CurlewError) -> [UInt32] {
        try table(.quadruples, from: "GB18030", for: .gb18030) { conversion in
            var table = (0..<GB18030.basicCount).map { number in
                conversion.scalars(of: GB18030.bytes(of: number)).first ?? Self.missing
            }
            for (first, scalars) in GB18030Corrections.quadruples {
                for (offset, scalar) in scalars.enumerated() { table[first + offset] = scalar }
            }
            return table
        }
    }
}

/// The numbers of the four-byte codes of GB 18030.
enum GB18030 {
    /// The number after the last one of the basic plane.
    static let basicCount = 39_420
    /// The number of U+10000, the first character after the basic plane.
    static let supplementaryStart = 189_000

    static func number(_ one: UInt8, _ two: UInt8, _ three: UInt8, _ four: UInt8) -> Int {
        ((Int(one) - 0x81) * 10 + Int(two) - 0x30) * 1260 + (Int(three) - 0x81) * 10 + Int(four) - 0x30
    }

    static func bytes(of number: Int) -> [UInt8] {
        [
            UInt8(number / 12_600 + 0x81), UInt8(number / 1260 % 10 + 0x30), UInt8(number / 10 % 126 + 0x81),
            UInt8(number % 10 + 0x30),
        ]
    }
}

/// The characters of GB 18030 that differ between versions of the C library. The standard decodes the private
/// characters of the 2000 edition unchanged, and the others by the 2022 edition.
private enum GB18030Corrections {
    static let pairs: [(pair: UInt16, scalar: UInt32)] = [
        (0xA3A0, 0x3000), (0xA6D9, 0xFE10), (0xA6DA, 0xFE12), (0xA6DB, 0xFE11), (0xA6DC, 0xFE13), (0xA6DD, 0xFE14),
        (0xA6DE, 0xFE15), (0xA6DF, 0xFE16), (0xA6EC, 0xFE17), (0xA6ED, 0xFE18), (0xA6F3, 0xFE19), (0xA8BC, 0x1E3F),
        (0xFE51, 0xE816), (0xFE52, 0xE817), (0xFE53, 0xE818), (0xFE59, 0x9FB4), (0xFE61, 0x9FB5), (0xFE66, 0x9FB6),
        (0xFE67, 0x9FB7), (0xFE6C, 0xE831), (0xFE6D, 0x9FB8), (0xFE76, 0xE83B), (0xFE7E, 0x9FB9), (0xFE90, 0x9FBA),
        (0xFE91, 0xE855), (0xFEA0, 0x9FBB),
    ]
    /// The first number of a run, and its characters.
    static let quadruples: [(first: Int, scalars: ClosedRange<UInt32>)] = [
        (7457, 0xE7C7...0xE7C7), (19_057, 0x9FB4...0x9FBB), (39_076, 0xFE10...0xFE19),
    ]
}
