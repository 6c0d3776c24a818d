extension IPAddress {
    /// The IPv4 addresses that packets to this IPv6 address may be carried on to by a translator or a tunnel.
    var embedded: [IPAddress] {
        guard isIPv6 else { return [] }
        let last = UInt32(truncatingIfNeeded: bits)
        switch bits >> 96 {
        // IPv4-compatible (RFC 4291 §2.5.5.1), but for `::` and `::1`.
        case 0 where bits >> 32 == 0 && last > 1: return [IPAddress(ipv4: last)]
        case _ where isTranslated: return [IPAddress(ipv4: last)]
        // NAT64 for local use (RFC 8215): where the address stands depends on the length of the network's prefix.
        case _ where bits >> 80 == 0x0064_FF9B_0001: return [IPAddress(ipv4: last), IPAddress(ipv4: interrupted)]
        // Teredo (RFC 4380): the server, and the client with its bits inverted.
        case 0x2001_0000:
            return [IPAddress(ipv4: UInt32(truncatingIfNeeded: bits >> 64)), IPAddress(ipv4: ~last)]
        // 6to4 (RFC 3056).
        case _ where bits >> 112 == 0x2002: return [IPAddress(ipv4: UInt32(truncatingIfNeeded: bits >> 80))]
        default: return isISATAP ? [IPAddress(ipv4: last)] : []
        }
    }

    /// Whether it is in NAT64's well-known block, `64:ff9b::/96` (RFC 6052).
    var isTranslated: Bool { isIPv6 && bits >> 32 == 0x0064_FF9B_0000_0000_0000_0000 }

    /// An interface identifier of `0:5efe` or `200:5efe` and an IPv4 address (RFC 5214), under any prefix.
    private var isISATAP: Bool { bits >> 32 & 0xFDFF_FFFF == 0x0000_5EFE }

    /// The address in a prefix of 48 bits, around the bits 64 to 71 (RFC 6052 §2.2).
    private var interrupted: UInt32 {
        UInt32(truncatingIfNeeded: bits >> 64 & 0xFFFF) << 16 | UInt32(truncatingIfNeeded: bits >> 40 & 0xFFFF)
    }
}
