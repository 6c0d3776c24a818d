extension IPAddress {
    /// Reads an address as it should be written: four decimal numbers without leading zeros, or RFC 4291 §2.2 without
    /// brackets and zone.
    init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.contains(.colon) else {
            guard let number = Self.dotted(bytes[...]) else { return nil }
            self.init(ipv4: number)
            return
        }
        guard let number = Self.grouped(bytes) else { return nil }
        self.init(ipv6: number)
    }

    /// Reads the host of a URI if it is an address in any spelling that ends up as one: in brackets, and with IPv4 in one to
    /// four decimal, octal (`0177.1`) or hexadecimal (`0x7f000001`) numbers, as `inet_aton` takes them.
    init?(host: some StringProtocol) {
        var text = host[...]
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        if text.hasSuffix(".") { text = text.dropLast() }
        if let address = IPAddress(text) {
            self = address
        } else if let number = Self.loose(Array(text.utf8)) {
            self.init(ipv4: number)
        } else {
            return nil
        }
    }

    private static func dotted(_ bytes: ArraySlice<UInt8>) -> UInt32? {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var number: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy(\.isDigit) else { return nil }
            guard part.count == 1 || part.first != UInt8(ascii: "0") else { return nil }
            let value = part.reduce(UInt32(0)) { $0 * 10 + UInt32($1 - UInt8(ascii: "0")) }
            guard value <= 255 else { return nil }
            number = number << 8 | value
        }
        return number
    }

    private static func grouped(_ bytes: [UInt8]) -> UInt128? {
        let gap = bytes.indices.dropLast().first { bytes[$0] == .colon && bytes[$0 + 1] == .colon }
        guard let gap else {
            guard let groups = groups(bytes[...]), groups.count == 8 else { return nil }
            return number(groups)
        }
        let after = bytes[(gap + 2)...]
        // IPv4 may stand at the end of the whole alone.
        guard !bytes[..<gap].contains(UInt8(ascii: ".")),
            let head = gap == 0 ? [] : groups(bytes[..<gap]), let tail = after.isEmpty ? [] : groups(after),
            head.count + tail.count <= 7
        else { return nil }
        return number(head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
    }

    private static func number(_ groups: [UInt16]) -> UInt128 { groups.reduce(UInt128(0)) { $0 << 16 | UInt128($1) } }

    /// Groups of 16 bits with a colon between any two; the last two may be written as an IPv4 address.
    private static func groups(_ bytes: ArraySlice<UInt8>) -> [UInt16]? {
        var words = bytes.split(separator: .colon, omittingEmptySubsequences: false)
        var last: [UInt16] = []
        if let word = words.last, word.contains(UInt8(ascii: ".")) {
            guard let number = dotted(word) else { return nil }
            last = [UInt16(number >> 16), UInt16(truncatingIfNeeded: number)]
            words.removeLast()
        }
        let groups = words.compactMap(group)
        return groups.count == words.count && groups.count <= 8 ? groups + last : nil
    }

    private static func group(_ word: ArraySlice<UInt8>) -> UInt16? {
        guard (1...4).contains(word.count) else { return nil }
        var value: UInt16 = 0
        for byte in word {
            guard let digit = byte.hexValue else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    /// One to four numbers; the last one fills what is left of the 32 bits.
    private static func loose(_ bytes: [UInt8]) -> UInt32? {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var number: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let value = looseNumber(part) else { return nil }
            let isLast = index == parts.count - 1
            let width = isLast ? UInt64(8 * (4 - index)) : 8
            guard value < 1 << width else { return nil }
            number = number << width | value
        }
        return UInt32(number)
    }

    private static func looseNumber(_ part: ArraySlice<UInt8>) -> UInt64? {
        let zero = UInt8(ascii: "0")
        var digits = part
        var radix = 10
        if part.first == zero, part.count > 1 {
            let isHexadecimal = part.dropFirst().first.map { $0 | 0x20 == UInt8(ascii: "x") } ?? false
            radix = isHexadecimal ? 16 : 8
            digits = part.dropFirst(isHexadecimal ? 2 : 1)
            // `inet_aton` reads "0x" as zero.
            if digits.isEmpty { return 0 }
        }
        guard !digits.isEmpty, digits.allSatisfy(\.isHexDigit) else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self), radix: radix)
    }
}
