/// The blocks that the registries of IANA keep for special purposes (RFC 6890 and its followers): no host of the public
/// Internet is in them.
enum SpecialNetworks {
    /// Whether hosts of the public Internet have such addresses.
    static func isPublic(_ address: IPAddress) -> Bool {
        guard address.isIPv6 else { return !ipv4.contains { $0.contains(address) } }
        return globalUnicast.contains(address) && !ipv6.contains { $0.contains(address) }
    }

    private static let ipv4: [Network] = [
        block(0, 0, 0, 0, 8),  // this network
        block(10, 0, 0, 0, 8),  // private, RFC 1918
        block(100, 64, 0, 0, 10),  // carriers' NAT, RFC 6598
        block(127, 0, 0, 0, 8),  // loopback
        block(169, 254, 0, 0, 16),  // link-local, the metadata services of clouds among them
        block(172, 16, 0, 0, 12),  // private
        block(192, 0, 0, 0, 24),  // protocol assignments
        block(192, 0, 2, 0, 24),  // documentation
        block(192, 88, 99, 0, 24),  // relays of 6to4, RFC 7526
        block(192, 168, 0, 0, 16),  // private
        block(198, 18, 0, 0, 15),  // benchmarks, RFC 2544
        block(198, 51, 100, 0, 24),  // documentation
        block(203, 0, 113, 0, 24),  // documentation
        block(224, 0, 0, 0, 4),  // multicast
        block(240, 0, 0, 0, 4),  // reserved, and the broadcast address
    ]

    /// What IANA has given out so far: all else, `::1`, `fc00::/7`, `fe80::/10`, `fec0::/10` and `ff00::/8` among it, is not
    /// public.
    private static let globalUnicast = block(0x2000, 0, 0, 3)

    private static let ipv6: [Network] = [
        block(0x2001, 0, 0, 23),  // protocol assignments: Teredo, benchmarks, ORCHID
        block(0x2001, 0x0DB8, 0, 32),  // documentation
        block(0x2002, 0, 0, 16),  // 6to4
        block(0x3FFF, 0, 0, 20),  // documentation, RFC 9637
    ]

    private static func block(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ length: Int) -> Network {
        Network(IPAddress(ipv4: a << 24 | b << 16 | c << 8 | d), prefixLength: length)
    }

    private static func block(_ a: UInt128, _ b: UInt128, _ c: UInt128, _ length: Int) -> Network {
        Network(IPAddress(ipv6: a << 112 | b << 96 | c << 80), prefixLength: length)
    }
}
