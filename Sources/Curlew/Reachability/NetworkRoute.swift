internal import CLinux
internal import Glibc

/// The way that a packet to an address would take, as the kernel says.
struct NetworkRoute: Equatable, Sendable {
    /// The fate of the packet.
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

/// A network interface as the kernel describes it.
struct NetworkLink: Equatable, Sendable {
    var index: UInt32
    var name: String
    /// `IFF_UP` and its like.
    var flags: UInt32
    /// `ARPHRD_ETHER` and its like.
    var hardware: Int32 = 0
    /// The driver's name for such an interface, for those that software makes: "veth", "tun". Empty for hardware.
    var driver = ""
    /// The interface that it is a part of, as a port of a bridge is.
    var master: UInt32?
    /// The interface that it is made upon, as a VLAN is.
    var lower: UInt32?

    init(index: UInt32, name: String, flags: UInt32) {
        self.index = index
        self.name = name
        self.flags = flags
    }

    /// Reads what follows the header of `RTM_NEWLINK`; nil if it is none.
    init?(_ payload: NetlinkBytes) {
        // Bridges report their ports by messages of their own family, which lack half of it.
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
        // One in another namespace has a number that means another interface here, or none.
        let isElsewhere = attributes[IFLA_LINK_NETNSID] != nil
        lower = isElsewhere ? nil : attributes[IFLA_LINK]?.word.flatMap { $0 == 0 || $0 == index ? nil : $0 }
    }

    /// True if it was switched on and can carry packets: it has a carrier, and what authenticates has let it in.
    var isRunning: Bool { has(IFF_UP) && has(IFF_RUNNING) }

    var isLoopback: Bool { has(IFF_LOOPBACK) || hardware == Int32(curlew_hardware_loopback) }

    private func has(_ flag: Int) -> Bool { flags & UInt32(flag) != 0 }

    /// As the kernel has it: up to 15 bytes, and nothing that would lead elsewhere as a part of a path.
    private static func isName(_ text: String) -> Bool {
        (1...15).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }
}
