/// The reachability of the network, as far as the machine itself knows.
///
/// It is a hint and never a gate: what is reachable may not answer, and what is said not to be may answer by the time that
/// it is asked. Send the request; use the status to explain a failure, and to know when to try again.
public enum ReachabilityStatus: Sendable, Hashable {
    /// The status is not known: the kernel does not say, or the host's name was not resolved though there is a network.
    case unknown
    /// There is no way there: no route, none that may be used, or only by an interface that is down or without a carrier.
    case notReachable
    /// There is a way.
    case reachable(ReachabilityStatus.Path)

    /// True if there is a way.
    public var isReachable: Bool { path != nil }

    /// The way, if there is one.
    public var path: ReachabilityStatus.Path? {
        if case .reachable(let path) = self { path } else { nil }
    }
}

extension ReachabilityStatus: CustomStringConvertible {
    /// For logs; ``localizedDescription(_:)`` is for people.
    public var description: String {
        switch self {
        case .unknown: "unknown"
        case .notReachable: "not reachable"
        case .reachable(let path): "reachable via \(path)"
        }
    }
}

extension ReachabilityStatus {
    /// The way that packets leave the machine by.
    public struct Path: Sendable, Hashable {
        /// The name of the network interface, such as `eth0`. Where IPv4 and IPv6 leave by different ones, it is that of IPv6,
        /// which is tried first (RFC 6724), as are the other properties of the interface.
        public var interface: String
        /// The kind of interface.
        public var kind: ReachabilityStatus.Path.InterfaceKind
        /// The kind of interface beneath a tunnel, such as that of a VPN; nil where there is none or nobody can tell.
        public var over: ReachabilityStatus.Path.InterfaceKind?
        /// The versions of IP that there is a way for.
        public var families: Families
        /// The addresses that packets are sent from, one for each interface and family, as text.
        public var localAddresses: [String]
        /// The routers that packets are handed to, as text; none for neighbours and tunnels.
        public var gateways: [String]

        public init(
            interface: String, kind: ReachabilityStatus.Path.InterfaceKind,
            over: ReachabilityStatus.Path.InterfaceKind? = nil,
            families: Families = .ipv4,
            localAddresses: [String] = [], gateways: [String] = []
        ) {
            self.interface = interface
            self.kind = kind
            self.over = over
            self.families = families
            self.localAddresses = localAddresses
            self.gateways = gateways
        }

        /// True if bytes are likely to cost money: the interface is cellular, or a tunnel over one that is. The kernel
        /// knows nothing of the tariffs of other links.
        public var isExpensive: Bool { kind == .cellular || over == .cellular }

        /// Versions of IP.
        public struct Families: OptionSet, Sendable, Hashable {
            public let rawValue: UInt8

            public init(rawValue: UInt8) { self.rawValue = rawValue }

            public static let ipv4 = Families(rawValue: 1)
            public static let ipv6 = Families(rawValue: 2)
        }
    }
}

extension ReachabilityStatus.Path: CustomStringConvertible {
    public var description: String {
        let versions = [families.contains(.ipv4) ? "IPv4" : nil, families.contains(.ipv6) ? "IPv6" : nil]
        let details = versions.compactMap { $0 } + (isExpensive ? ["expensive"] : [])
        return "\(kind) \(interface)" + (over.map { " over \($0)" } ?? "") + " (\(details.joined(separator: ", ")))"
    }
}

extension ReachabilityStatus.Path {
    /// A kind of network interface. New kinds may be added; keep a `default`.
    public struct InterfaceKind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Ethernet, the virtual one of a container included.
        public static let wired = ReachabilityStatus.Path.InterfaceKind(rawValue: "wired")
        /// A wireless network (IEEE 802.11).
        public static let wifi = ReachabilityStatus.Path.InterfaceKind(rawValue: "wifi")
        /// A mobile network.
        public static let cellular = ReachabilityStatus.Path.InterfaceKind(rawValue: "cellular")
        /// The machine itself.
        public static let loopback = ReachabilityStatus.Path.InterfaceKind(rawValue: "loopback")
        /// Anything else: tunnels and VPNs, Bluetooth, virtual interfaces, and what is not known.
        public static let other = ReachabilityStatus.Path.InterfaceKind(rawValue: "other")

        public var description: String { rawValue }
    }
}

extension ReachabilityStatus {
    /// The words for a ``ReachabilityStatus``, to be put into another language.
    ///
    /// ```swift
    /// var german = ReachabilityStatus.Descriptions()
    /// german.notReachable = "Nicht erreichbar"
    /// label.text = status.localizedDescription(german)
    /// ```
    public struct Descriptions: Sendable, Hashable {
        /// For ``ReachabilityStatus/unknown``.
        public var unknown = "Unknown"
        /// For ``ReachabilityStatus/notReachable``.
        public var notReachable = "Not Reachable"
        /// For each kind of interface.
        public var reachable: [ReachabilityStatus.Path.InterfaceKind: String] = [
            .wired: "Reachable via Ethernet", .wifi: "Reachable via WiFi", .cellular: "Reachable via WWAN",
            .loopback: "Reachable on this machine",
        ]
        /// For kinds that ``reachable`` does not have.
        public var reachableOtherwise = "Reachable"

        /// AFNetworking's words, and others like them for what it does not know.
        public init() {}
    }
}

extension ReachabilityStatus {
    /// The status in words for people.
    public func localizedDescription(_ strings: ReachabilityStatus.Descriptions = ReachabilityStatus.Descriptions())
        -> String
    {
        switch self {
        case .unknown: strings.unknown
        case .notReachable: strings.notReachable
        case .reachable(let path): strings.reachable[path.kind] ?? strings.reachableOtherwise
        }
    }
}
