extension IPAddress {
    /// 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291 §2.5.6): good on one link alone.
    var isLinkLocal: Bool { isIPv6 ? bits >> 118 == 0xFE80 >> 6 : bits >> 16 == 0xA9FE }

    /// 127.0.0.0/8 or ::1.
    var isLoopback: Bool { isIPv6 ? bits == 1 : bits >> 24 == 127 }
}
