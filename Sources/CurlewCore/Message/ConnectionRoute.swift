/// The destination and the local end of a connection, where they differ from those that the URI determines.
public struct ConnectionRoute: Sendable, Hashable, Codable {
    /// Addresses that replace the resolver's answer for a host, as `curl --resolve`.
    public struct HostOverride: Sendable, Hashable, Codable {
        public var host: String
        /// The port of the connections that use the addresses.
        public var port: Int
        /// IPv4 and IPv6 addresses without brackets, tried in the manner of a resolver's answer.
        public var addresses: [String]

        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }

    /// Another host and port to connect to, as `curl --connect-to`. The Host field, SNI and the certificate check keep
    /// the URI's host.
    public struct Redirection: Sendable, Hashable, Codable {
        /// The host and port that are redirected; nil matches any.
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

    /// Addresses for hosts. A host that is the target of a redirection uses them too.
    public var hosts: [HostOverride]
    /// Other hosts and ports to connect to; the first match is used.
    public var redirections: [Redirection]
    /// The path of a Unix domain socket to connect to instead of host and port.
    public var unixSocket: String?
    /// The local interface name, address or host name to connect from, in the form of libcurl's `CURLOPT_INTERFACE`.
    public var localInterface: String?
    /// The kind of addresses that may be used.
    public var addressFamily: AddressFamily

    /// The kinds of addresses to connect to.
    public enum AddressFamily: String, Sendable, Hashable, Codable {
        /// IPv6 and IPv4; the second is tried 200 ms after the first (RFC 8305).
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
    /// True if all parts have the same bytes: two socket paths that are equivalent in Unicode are two files.
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
    /// Redirects a local name that ends in a dot to the same name without the dot, unless the route has addresses for
    /// it.
    mutating func addLocalName(_ name: String, for uri: CurlewURI) {
        let host = uri.host
        let isOverridden = hosts.contains {
            $0.port == uri.port && $0.host.lowercased().hasSameBytes(as: host.lowercased())
        }
        if isOverridden { return }
        redirections.append(Redirection(host: host, port: uri.port, toHost: name, toPort: uri.port))
    }
}
