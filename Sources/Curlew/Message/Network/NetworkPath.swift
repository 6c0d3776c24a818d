/// The way that packets leave the machine by.
public struct NetworkPath: Sendable, Hashable {
    /// The name of the network interface, such as `eth0`. Where IPv4 and IPv6 leave by different ones, it is that of IPv6,
    /// which is tried first (RFC 6724), as are the other properties of the interface.
    public var interface: String
    /// What the interface is.
    public var kind: InterfaceKind
    /// What carries the interface where it is a tunnel, such as that of a VPN; nil where there is none or nobody can tell.
    public var over: InterfaceKind?
    /// The versions of IP that there is a way for.
    public var families: Families
    /// The addresses that packets are sent from, one for each interface and family, as text.
    public var localAddresses: [String]
    /// The routers that packets are handed to, as text; none for neighbours and tunnels.
    public var gateways: [String]

    public init(
        interface: String, kind: InterfaceKind, over: InterfaceKind? = nil, families: Families = .ipv4,
        localAddresses: [String] = [], gateways: [String] = []
    ) {
        self.interface = interface
        self.kind = kind
        self.over = over
        self.families = families
        self.localAddresses = localAddresses
        self.gateways = gateways
    }

    /// Whether bytes are likely to cost money: the interface is cellular, or a tunnel over one that is. The kernel knows
    /// nothing of the tariffs of other links.
    public var isExpensive: Bool { kind == .cellular || over == .cellular }

    /// Versions of IP.
    public struct Families: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let ipv4 = Families(rawValue: 1)
        public static let ipv6 = Families(rawValue: 2)
    }
}

extension NetworkPath: CustomStringConvertible {
    public var description: String {
        let versions = [families.contains(.ipv4) ? "IPv4" : nil, families.contains(.ipv6) ? "IPv6" : nil]
        let details = versions.compactMap { $0 } + (isExpensive ? ["expensive"] : [])
        return "\(kind) \(interface)" + (over.map { " over \($0)" } ?? "") + " (\(details.joined(separator: ", ")))"
    }
}
