/// Decodes multi-byte encodings by the decoders of the WHATWG Encoding Standard.
///
/// Bytes that are not a character are one error. An ASCII byte is never part of an error, so that invalid bytes do not
/// hide a quotation mark or a tag.
struct LegacyDecoder {
    private(set) var output: LegacyOutput
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
        output = LegacyOutput(capacity: bytes.count)
    }

    private var next: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    private mutating func take() -> UInt8? {
        guard position < bytes.endIndex else { return nil }
        position += 1
        return bytes[position - 1]
    }

    /// Reads the second byte of a pair.
    private mutating func pair(_ table: [UInt32], after lead: UInt8) {
        guard let trail = next else { return output.fail() }
        finish(table[CharacterTables.place(lead, trail)], with: trail)
    }

    /// Ends a character with its last byte. If the character is invalid, the byte belongs to the error unless it is
    /// ASCII.
    private mutating func finish(_ value: UInt32, with last: UInt8) {
        if value != CharacterTables.missing || last >= 0x80 { position += 1 }
        output.append(value)
    }

    // MARK: Pairs

    /// Decodes Big5 (§11.1) and EUC-KR (§13.1), which differ only in their tables.
    mutating func readPairs(_ table: [UInt32], leads: ClosedRange<UInt8>) {
        while let byte = take() {
            if byte < 0x80 {
                output.append(byte: byte)
            } else if leads.contains(byte) {
                pair(table, after: byte)
            } else {
                output.fail()
            }
        }
    }

    /// Decodes Shift_JIS (§12.3).
    mutating func readShiftJIS(_ table: [UInt32]) {
        while let byte = take() {
            switch byte {
            case 0...0x80: output.append(byte: byte)
            case 0xA1...0xDF: output.append(Self.katakana(byte))
            case 0x81...0x9F, 0xE0...0xFC: pair(table, after: byte)
            default: output.fail()
            }
        }
    }

    /// The half-width katakana of a byte from 0xA1 to 0xDF.
    private static func katakana(_ byte: UInt8) -> UInt32 { 0xFF61 + UInt32(byte - 0xA1) }

    /// The character of the index jis0208 for bytes of EUC-JP, from the table of Shift_JIS.
    private static func japanese(_ table: [UInt32], _ lead: UInt8, _ trail: UInt8) -> UInt32 {
        guard 0xA1...0xFE ~= lead, 0xA1...0xFE ~= trail else { return CharacterTables.missing }
        let number = (Int(lead) - 0xA1) * 94 + Int(trail) - 0xA1
        let (row, column) = number.quotientAndRemainder(dividingBy: 188)
        return table[
            CharacterTables.place(
                UInt8(row + (row < 31 ? 0x81 : 0xC1)), UInt8(column + (column < 63 ? 0x40 : 0x41)))]
    }

    /// Decodes EUC-JP (§12.1).
    mutating func readEUCJapanese(_ table: [UInt32], _ supplement: [UInt32]) {
        while let byte = take() {
            switch byte {
            case 0..<0x80: output.append(byte: byte)
            case 0x8E, 0x8F, 0xA1...0xFE:
                guard let trail = next else { return output.fail() }
                if byte == 0x8E, 0xA1...0xDF ~= trail {
                    finish(Self.katakana(trail), with: trail)
                } else if byte == 0x8F, 0xA1...0xFE ~= trail {
                    position += 1
                    guard let last = next else { return output.fail() }
                    finish(supplement[CharacterTables.place(trail, last)], with: last)
                } else {
                    finish(Self.japanese(table, byte, trail), with: trail)
                }
            default: output.fail()
            }
        }
    }

    // MARK: GB 18030

    /// Decodes GBK and gb18030 (§10.2).
    mutating func readGB18030(_ table: [UInt32], _ quadruples: [UInt32]) {
        while let byte = take() {
            switch byte {
            case 0..<0x80: output.append(byte: byte)
            case 0x80: output.append(0x20AC)
            case 0xFF: output.fail()
            default:
                if let second = next, second.isDigit {
                    quadruple(byte, second, quadruples)
                } else {
                    pair(table, after: byte)
                }
            }
        }
    }

    /// Reads the three bytes after the first of four. If they are incomplete, only the first byte is the error; at the
    /// end of the text all remaining bytes are.
    private mutating func quadruple(_ first: UInt8, _ second: UInt8, _ table: [UInt32]) {
        let rest = bytes[position...].prefix(3)
        let third = rest.dropFirst().first
        let fourth = rest.dropFirst(2).first
        guard third.map({ 0x81...0xFE ~= $0 }) ?? true, fourth.map(\.isDigit) ?? true else { return output.fail() }
        position += rest.count
        guard let third, let fourth else { return output.fail() }
        let number = GB18030.number(first, second, third, fourth)
        if number < GB18030.basicCount {
            output.append(table[number])
        } else if number >= GB18030.supplementaryStart {
            output.append(UInt32(0x10000 + number - GB18030.supplementaryStart))
        } else {
            output.fail()
        }
    }
}

// MARK: ISO-2022-JP

extension LegacyDecoder {
    /// The character sets that escape sequences select.
    private enum Shift { case ascii, roman, katakana, pairs }

    /// Decodes ISO-2022-JP (§12.2).
    mutating func readISO2022Japanese(_ table: [UInt32]) {
        var shift = Shift.ascii
        // Two consecutive escape sequences are an error: they could hide text from other readers.
        var hasSwitched = false
        while let byte = take() {
            if byte == 0x1B {
                guard let next = escape() else {
                    hasSwitched = false
                    output.fail()
                    continue
                }
                shift = next
                if hasSwitched { output.fail() }
                hasSwitched = true
                continue
            }
            hasSwitched = false
            read(byte, shift, table)
        }
    }

    /// Reads the rest of an escape sequence; nil if it is invalid: then the bytes are text.
    private mutating func escape() -> Shift? {
        let shift: Shift
        switch Array(bytes[position...].prefix(2)) {
        case [0x28, 0x42]: shift = .ascii
        case [0x28, 0x4A]: shift = .roman
        case [0x28, 0x49]: shift = .katakana
        case [0x24, 0x40], [0x24, 0x42]: shift = .pairs
        default: return nil
        }
        position += 2
        return shift
    }

    private mutating func read(_ byte: UInt8, _ shift: Shift, _ table: [UInt32]) {
        switch shift {
        case .ascii where Self.isText(byte): output.append(byte: byte)
        case .roman where byte == 0x5C: output.append(0xA5)
        case .roman where byte == 0x7E: output.append(0x203E)
        case .roman where Self.isText(byte): output.append(byte: byte)
        case .katakana where 0x21...0x5F ~= byte: output.append(Self.katakana(byte | 0x80))
        case .pairs where 0x21...0x7E ~= byte:
            guard let trail = next, trail != 0x1B else { return output.fail() }
            position += 1
            // An invalid second byte belongs to the error and is consumed.
            output.append(trail < 0x80 ? Self.japanese(table, byte | 0x80, trail | 0x80) : CharacterTables.missing)
        default: output.fail()
        }
    }

    /// True for ASCII, except the characters that shift in other encodings.
    private static func isText(_ byte: UInt8) -> Bool { byte < 0x80 && byte != 0x0E && byte != 0x0F }
}
