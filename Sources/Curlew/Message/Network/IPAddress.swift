/// An IPv4 or IPv6 address as a number. An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) is the IPv4 address that the kernel
/// connects to when it is given one (RFC 4291 §2.5.5.2).
struct IPAddress: Sendable, Hashable {
    let bits: UInt128
    let isIPv6: Bool

    /// 32 or 128.
    var width: Int { isIPv6 ? 128 : 32 }

    init(ipv4 bits: UInt32) {
        self.bits = UInt128(bits)
        isIPv6 = false
    }

    init(ipv6 bits: UInt128) {
        isIPv6 = bits >> 32 != 0xFFFF
        self.bits = isIPv6 ? bits : bits & 0xFFFF_FFFF
    }

    /// The bytes in network order: four or sixteen.
    init?(bytes: some Collection<UInt8>) {
        let number = bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        switch bytes.count {
        case 4: self.init(ipv4: UInt32(number))
        case 16: self.init(ipv6: number)
        default: return nil
        }
    }

    /// The same, four or sixteen.
    var bytes: [UInt8] {
        stride(from: width - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> UInt128($0)) }
    }

    /// Its first `length` bits, the others zero.
    func masked(to length: Int) -> UInt128 {
        let shift = UInt128(width - length)
        return shift >= UInt128(width) ? 0 : (bits >> shift) << shift
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or the form of RFC 5952.
    var description: String {
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
