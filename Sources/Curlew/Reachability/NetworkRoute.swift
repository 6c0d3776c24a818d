internal import CLinux
internal import Glibc

/// The way that a packet to an address would take, as the kernel says.
struct NetworkRoute: Equatable, Sendable {
    /// What becomes of the packet.
    enum Fate: Equatable, Sendable {
        /// It is sent on.
        case sent
        /// The address is this machine's own.
        case kept
        /// It is thrown away, with or without a word, or it would go to many.
        case refused
    }

    var fate: Fate
    var isIPv6: Bool
    /// The interface that it leaves by.
    var link: UInt32
    /// The address that it is sent from; nil if the machine has none for it.
    var source: IPAddress?
    /// The router that it is handed to; nil for a neighbour.
    var gateway: IPAddress?

    /// Reads what follows the header of `RTM_NEWROUTE`; nil if it is no way out.
    init?(_ payload: NetlinkBytes) {
        guard let family = payload.number(at: 0, as: UInt8.self).map(Int32.init),
            family == AF_INET || family == AF_INET6,
            let kind = payload.number(at: 7, as: UInt8.self)
        else { return nil }
        let attributes = payload.attributes(from: 12)
        isIPv6 = family == AF_INET6
        fate = Self.fate(Int(kind))
        link = attributes[Int(RTA_OIF.rawValue)]?.word ?? 0
        source = attributes[Int(RTA_PREFSRC.rawValue)]?.address.flatMap { $0.bits == 0 ? nil : $0 }
        let via = attributes[Int(RTA_VIA.rawValue)]
        let router = attributes[Int(RTA_GATEWAY.rawValue)] ?? via?.part(2, max(0, via?.count ?? 0) - 2)
        gateway = router?.address.flatMap { $0.bits == 0 ? nil : $0 }
    }

    init(_ fate: Fate, isIPv6: Bool = false, link: UInt32, source: IPAddress?, gateway: IPAddress? = nil) {
        self.fate = fate
        self.isIPv6 = isIPv6
        self.link = link
        self.source = source
        self.gateway = gateway
    }

    private static func fate(_ kind: Int) -> Fate {
        switch kind {
        case RTN_UNICAST: .sent
        case RTN_LOCAL, RTN_ANYCAST: .kept
        default: .refused
        }
    }
}
