/// The reachability of the network, according to the machine itself.
///
/// The status is a hint, not a condition for sending. A reachable host may not answer, and an unreachable one may
/// answer by the time of the request. Send the request; use the status to explain a failure, and to choose the time of
/// the next attempt.
public enum ReachabilityStatus: Sendable, Hashable {
    /// The status is unknown: the kernel does not report it, or the host's name could not be resolved although a
    /// network exists.
    case unknown
    /// The host is not reachable: there is no usable route, or its interface is down or without a carrier.
    case notReachable
    /// The host is reachable over a path.
    case reachable(ReachabilityStatus.Path)

    /// True if there is a path.
    public var isReachable: Bool { path != nil }

    /// The path, if there is one.
    public var path: ReachabilityStatus.Path? {
        if case .reachable(let path) = self { path } else { nil }
    }
}

extension ReachabilityStatus: CustomStringConvertible {
    /// A text for logs; ``localizedDescription(_:)`` is for people.
    public var description: String {
        switch self {
        case .unknown: "unknown"
        case .notReachable: "not reachable"
        case .reachable(let path): "reachable via \(path)"
        }
    }
}

extension ReachabilityStatus {
    /// The path on which packets leave the machine.
    public struct Path: Sendable, Hashable {
        /// The name of the network interface, such as `eth0`. If IPv4 and IPv6 use different interfaces, this and the
        /// interface's other properties are those of IPv6, which is tried first (RFC 6724).
        public var interface: String
        /// The kind of interface.
        public var kind: ReachabilityStatus.Path.InterfaceKind
        /// The kind of the interface that carries a tunnel, such as a VPN; nil without a tunnel, or if it is unknown.
        public var over: ReachabilityStatus.Path.InterfaceKind?
        /// The versions of IP with a path.
        public var families: Families
        /// The source addresses of packets as text, one for each interface and family.
        public var localAddresses: [String]
        /// The next routers as text; empty for neighbours and tunnels.
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

        /// True if traffic is likely to cost money: the interface is cellular, or a tunnel over a cellular one. The
        /// kernel does not know the tariffs of other interfaces.
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
    /// A kind of network interface. Later versions may add kinds, so a `switch` needs a `default`.
    public struct InterfaceKind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Ethernet, including the virtual Ethernet of a container.
        public static let wired = ReachabilityStatus.Path.InterfaceKind(rawValue: "wired")
        /// A wireless network (IEEE 802.11).
        public static let wifi = ReachabilityStatus.Path.InterfaceKind(rawValue: "wifi")
        /// A mobile network.
        public static let cellular = ReachabilityStatus.Path.InterfaceKind(rawValue: "cellular")
        /// The machine itself.
        public static let loopback = ReachabilityStatus.Path.InterfaceKind(rawValue: "loopback")
        /// Other interfaces: tunnels and VPNs, Bluetooth, virtual and unknown interfaces.
        public static let other = ReachabilityStatus.Path.InterfaceKind(rawValue: "other")

        public var description: String { rawValue }
    }
}

extension ReachabilityStatus {
    /// The words for a ``ReachabilityStatus``, for translation.
    ///
    /// ```swift
    /// var german = ReachabilityStatus.Descriptions()
    /// german.notReachable = "Nicht erreichbar"
    /// label.text = status.localizedDescription(german)
    /// ```
    public struct Descriptions: Sendable, Hashable {
        /// The words for ``ReachabilityStatus/unknown``.
        public var unknown = "Unknown"
        /// The words for ``ReachabilityStatus/notReachable``.
        public var notReachable = "Not Reachable"
        /// The words for each kind of interface.
        public var reachable: [ReachabilityStatus.Path.InterfaceKind: String] = [
            .wired: "Reachable via Ethernet", .wifi: "Reachable via WiFi", .cellular: "Reachable via WWAN",
            .loopback: "Reachable on this machine",
        ]
        /// The words for kinds without an entry in ``reachable``.
        public var reachableOtherwise = "Reachable"

        /// AFNetworking's words, and similar words for the cases that it lacks.
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
