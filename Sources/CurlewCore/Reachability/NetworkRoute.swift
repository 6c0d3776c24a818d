internal import CLinux
internal import CurlewPlatform

/// The route of a packet to an address, according to the kernel.
struct NetworkRoute: Equatable, Sendable {
    /// The fate of the packet.
    enum Fate: Equatable, Sendable {
        /// The packet is sent.
        case sent
        /// The packet stays on this machine, which has the address.
        case kept
        /// The packet is discarded, with or without an error, or it would be a broadcast or multicast.
        case refused
    }

    var fate: Fate
    var isIPv6: Bool
    /// The interface on which the packet leaves.
    var link: UInt32
    /// The source address of the packet; nil if the machine has none for it.
    var source: IPAddress?
    /// The next router; nil for a neighbour.
    var gateway: IPAddress?

    /// Parses the payload of `RTM_NEWROUTE`; nil if it is not an IP route.
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

/// A network interface, according to the kernel.
struct NetworkLink: Equatable, Sendable {
    var index: UInt32
    var name: String
    /// The flags, such as `IFF_UP`.
    var flags: UInt32
    /// The hardware type, such as `ARPHRD_ETHER`.
    var hardware: Int32 = 0
    /// The driver's name for a virtual interface, such as "veth" or "tun". Empty for hardware.
    var driver = ""
    /// The interface that this one is a part of, such as the bridge of a port.
    var master: UInt32?
    /// The interface that this one is built on, such as that of a VLAN.
    var lower: UInt32?

    init(index: UInt32, name: String, flags: UInt32) {
        self.index = index
        self.name = name
        self.flags = flags
    }

    /// Parses the payload of `RTM_NEWLINK`; nil if it is not an interface.
    init?(_ payload: NetlinkBytes) {
        // Bridges report their ports in messages of their own family, which lack half of the attributes.
        guard payload.number(at: 0, as: UInt8.self) == UInt8(AF_UNSPEC),
            let hardware = payload.number(at: 2, as: UInt16.self),
            let index = payload.number(at: 4, as: UInt32.self), index != 0,
            let flags = payload.number(at: 8, as: UInt32.self)
        else { return nil }
        let attributes = payload.attributes(from: 16)
        self.init(index: index, name: attributes[IFLA_IFNAME]?.text ?? "", flags: flags)
        guard Self.isName(name) else { return nil }
        self.hardware = Int32(hardware)
        driver = attributes[IFLA_LINKINFO]?.attributes(from: 0)[Int(IFLA_INFO_KIND)]?.text ?? ""
        master = attributes[IFLA_MASTER]?.word
        // The number of an interface in another namespace has another meaning here.
        let isElsewhere = attributes[IFLA_LINK_NETNSID] != nil
        lower = isElsewhere ? nil : attributes[IFLA_LINK]?.word.flatMap { $0 == 0 || $0 == index ? nil : $0 }
    }

    /// True if the interface is enabled and can carry packets: it has a carrier and is authenticated.
    var isRunning: Bool { has(IFF_UP) && has(IFF_RUNNING) }

    var isLoopback: Bool { has(IFF_LOOPBACK) || hardware == Int32(curlew_hardware_loopback) }

    private func has(_ flag: Int) -> Bool { flags & UInt32(flag) != 0 }

    /// True for a valid interface name: up to 15 bytes, and safe as a part of a path.
    private static func isName(_ text: String) -> Bool {
        (1...15).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }
}
