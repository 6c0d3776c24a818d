/// Where a connection goes and where it comes from, when that is not what the URI alone says.
public struct ConnectionRoute: Sendable, Hashable, Codable {
    /// Addresses to use for a host instead of asking the resolver, as `curl --resolve`.
    public struct HostOverride: Sendable, Hashable, Codable {
        public var host: String
        /// The port for which it holds.
        public var port: Int
        /// IPv4 and IPv6 addresses without brackets, tried as a resolver's answer would be.
        public var addresses: [String]

        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }

    /// Another host and port to connect to, as `curl --connect-to`. Host field, SNI and certificate check keep the
    /// URI's host.
    public struct Redirection: Sendable, Hashable, Codable {
        /// The host and port that it holds for; nil holds for any.
        public var host: String?
        public var port: Int?
        public var toHost: String
        public var toPort: Int

        public init(host: String? = nil, port: Int? = nil, toHost: String, toPort: Int) {
            self.host = host
            self.port = port
            self.toHost = toHost
            self.toPort = toPort
        }
    }

    /// Addresses for hosts. Those of a host that a redirection leads to are used as well.
    public var hosts: [HostOverride]
    /// Other places to connect to; the first that fits is used.
    public var redirections: [Redirection]
    /// The path of a Unix domain socket to connect to instead of host and port.
    public var unixSocket: String?
    /// The local interface name, address or host name to connect from, as libcurl's `CURLOPT_INTERFACE` has it.
    public var localInterface: String?
    /// Which addresses may be used.
    public var addressFamily: AddressFamily

    /// The kinds of addresses to connect to.
    public enum AddressFamily: String, Sendable, Hashable, Codable {
        /// IPv6 and IPv4, the second started 200 ms after the first (RFC 8305).
        case any
        case ipv4
        case ipv6
    }

    public init(
        hosts: [HostOverride] = [],
        redirections: [Redirection] = [],
        unixSocket: String? = nil,
        localInterface: String? = nil,
        addressFamily: AddressFamily = .any
    ) {
        self.hosts = hosts
        self.redirections = redirections
        self.unixSocket = unixSocket
        self.localInterface = localInterface
        self.addressFamily = addressFamily
    }
}

extension ConnectionRoute {
    /// True if all is the same byte by byte: two paths of sockets that are equivalent in Unicode are two files.
    public static func == (one: ConnectionRoute, other: ConnectionRoute) -> Bool {
        one.hosts == other.hosts && one.redirections == other.redirections
            && one.unixSocket.hasSameBytes(as: other.unixSocket)
            && one.localInterface.hasSameBytes(as: other.localInterface) && one.addressFamily == other.addressFamily
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(hosts)
        hasher.combine(redirections)
        unixSocket?.hashBytes(into: &hasher)
        localInterface?.hashBytes(into: &hasher)
        hasher.combine(addressFamily)
    }
}

extension ConnectionRoute {
    /// Leads a name of this machine with a dot at its end to the same name without it, unless the route has addresses for it.
    mutating func addLocalName(_ name: String, for uri: CurlewURI) {
        let host = uri.host
        let isOverridden = hosts.contains {
            $0.port == uri.port && $0.host.lowercased().hasSameBytes(as: host.lowercased())
        }
        if isOverridden { return }
        redirections.append(Redirection(host: host, port: uri.port, toHost: name, toPort: uri.port))
    }
}
