/// An IPv4 or IPv6 address as a number. An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) is stored as the IPv4 address,
/// because the kernel connects to that (RFC 4291 §2.5.5.2).
package struct IPAddress: Sendable, Hashable {
    let bits: UInt128
    package let isIPv6: Bool

    /// The number of bits: 32 or 128.
    var width: Int { isIPv6 ? 128 : 32 }

    package init(ipv4 bits: UInt32) {
        self.bits = UInt128(bits)
        isIPv6 = false
    }

    package init(ipv6 bits: UInt128) {
        isIPv6 = bits >> 32 != 0xFFFF
        self.bits = isIPv6 ? bits : bits & 0xFFFF_FFFF
    }

    /// The bytes in network order: four or sixteen.
    package init?(bytes: some Collection<UInt8>) {
        let number = bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        switch bytes.count {
        case 4: self.init(ipv4: UInt32(number))
        case 16: self.init(ipv6: number)
        default: return nil
        }
    }

    /// The bytes in network order: four or sixteen.
    package var bytes: [UInt8] {
        stride(from: width - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> UInt128($0)) }
    }

    /// The first `length` bits; the others are zero.
    func masked(to length: Int) -> UInt128 {
        let shift = UInt128(width - length)
        return shift >= UInt128(width) ? 0 : (bits >> shift) << shift
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal for IPv4; the form of RFC 5952 for IPv6.
    package var description: String {
        guard isIPv6 else {
            return [24, 16, 8, 0].map { String(bits >> UInt128($0) & 0xFF) }.joined(separator: ".")
        }
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: bits >> UInt128(112 - 16 * $0)) }
        let words = groups.map { String($0, radix: 16) }
        guard let gap = Self.longestGap(groups) else { return words.joined(separator: ":") }
        return words[..<gap.lowerBound].joined(separator: ":") + "::"
            + words[gap.upperBound...].joined(separator: ":")
    }

    /// The first of the longest runs of at least two zero groups.
    private static func longestGap(_ groups: [UInt16]) -> Range<Int>? {
        var longest: Range<Int>?
        var start = 0
        while start < groups.count {
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start >= 2, end - start > longest?.count ?? 0 { longest = start..<end }
            start = max(end, start + 1)
        }
        return longest
    }
}

extension IPAddress {
    /// Parses an address in its strict form: four decimal numbers without leading zeros, or RFC 4291 §2.2 without
    /// brackets and zone.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.contains(.colon) else {
            guard let number = Self.dotted(bytes[...]) else { return nil }
            self.init(ipv4: number)
            return
        }
        guard let number = Self.grouped(bytes) else { return nil }
        self.init(ipv6: number)
    }

    /// Parses the host of a URI as an address in any spelling that the system accepts: with brackets, or IPv4 as one to
    /// four decimal, octal (`0177.1`) or hexadecimal (`0x7f000001`) numbers, as `inet_aton` reads them.
    package init?(host: some StringProtocol) {
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
        // An IPv4 part is allowed only at the end of the address.
        guard !bytes[..<gap].contains(UInt8(ascii: ".")),
            let head = gap == 0 ? [] : groups(bytes[..<gap]), let tail = after.isEmpty ? [] : groups(after),
            head.count + tail.count <= 7
        else { return nil }
        return number(head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
    }

    private static func number(_ groups: [UInt16]) -> UInt128 { groups.reduce(UInt128(0)) { $0 << 16 | UInt128($1) } }

    /// Groups of 16 bits separated by colons. The last two may have the form of an IPv4 address.
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

    /// An IPv4 address of one to four numbers; the last number fills the rest of the 32 bits.
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

extension IPAddress {
    /// The IPv4 addresses to which a translator or a tunnel may carry packets for this IPv6 address.
    var embedded: [IPAddress] {
        guard isIPv6 else { return [] }
        let last = UInt32(truncatingIfNeeded: bits)
        switch bits >> 96 {
        // IPv4-compatible (RFC 4291 §2.5.5.1), except `::` and `::1`.
        case 0 where bits >> 32 == 0 && last > 1: return [IPAddress(ipv4: last)]
        case _ where isTranslated: return [IPAddress(ipv4: last)]
        // NAT64 for local use (RFC 8215): the position of the IPv4 address depends on the length of the network's
        // prefix.
        case _ where bits >> 80 == 0x0064_FF9B_0001: return [IPAddress(ipv4: last), IPAddress(ipv4: interrupted)]
        // Teredo (RFC 4380): the server, and the client with its bits inverted.
        case 0x2001_0000:
            return [IPAddress(ipv4: UInt32(truncatingIfNeeded: bits >> 64)), IPAddress(ipv4: ~last)]
        // 6to4 (RFC 3056).
        case _ where bits >> 112 == 0x2002: return [IPAddress(ipv4: UInt32(truncatingIfNeeded: bits >> 80))]
        default: return isISATAP ? [IPAddress(ipv4: last)] : []
        }
    }

    /// True for NAT64's well-known block, `64:ff9b::/96` (RFC 6052).
    var isTranslated: Bool { isIPv6 && bits >> 32 == 0x0064_FF9B_0000_0000_0000_0000 }

    /// True for an interface identifier of `0:5efe` or `200:5efe` and an IPv4 address (RFC 5214), with any prefix.
    private var isISATAP: Bool { bits >> 32 & 0xFDFF_FFFF == 0x0000_5EFE }

    /// The IPv4 address after a prefix of 48 bits, split around the bits 64 to 71 (RFC 6052 §2.2).
    private var interrupted: UInt32 {
        UInt32(truncatingIfNeeded: bits >> 64 & 0xFFFF) << 16 | UInt32(truncatingIfNeeded: bits >> 40 & 0xFFFF)
    }
}

extension IPAddress {
    /// True for 169.254.0.0/16 (RFC 3927) and fe80::/10 (RFC 4291 §2.5.6), which are valid on a single network link.
    var isLinkLocal: Bool { isIPv6 ? bits >> 118 == 0xFE80 >> 6 : bits >> 16 == 0xA9FE }

    /// True for 127.0.0.0/8 and ::1.
    var isLoopback: Bool { isIPv6 ? bits == 1 : bits >> 24 == 127 }
}
