/// The addresses that may be connected to, for a service that fetches URLs chosen by others.
///
/// The policy is applied to the address that the kernel is about to connect to: for every new connection, and for every
/// request over a kept connection. A name that later resolves to another address, an unusual spelling of an address,
/// and a redirect therefore cannot bypass it. Forbidden addresses of a host are skipped. If none is left, the request
/// fails with ``ErrorCode/addressForbidden`` before anything is sent.
///
/// ``ports(_:)`` and ``httpsOnly()`` are applied to the URL of each request before any connection, with a proxy and
/// after a redirect too. A refusal is ``ErrorCode/addressForbidden`` as well.
///
/// The lists are consulted in this order: ``denied``, ``allowed``, then the policy's basis. With a proxy, the proxy
/// makes the connection; the article <doc:AddressPolicies> describes the checks in that case.
///
/// ```swift
/// configuration.addressPolicy = .publicOnly.allowing([try IPNetwork("10.20.30.0/24")]).ports(443, 8443).httpsOnly()
/// ```
public struct AddressPolicy: Sendable, Hashable, Codable {
    enum Base: String, Sendable, Hashable, Codable {
        case any
        case publicOnly
        case nothing
    }

    let base: Base
    /// Networks that may be connected to, whatever the policy's basis.
    public private(set) var allowed: [IPNetwork] = []
    /// Networks that must not be connected to, even if another rule allows them. This includes IPv6 addresses that
    /// embed a denied IPv4 address: NAT64, 6to4, Teredo, ISATAP and IPv4-compatible ones.
    public private(set) var denied: [IPNetwork] = []
    /// True if Unix sockets may be connected to. Without it, only the policy ``any`` permits them.
    public private(set) var allowsUnixSockets = false

    /// The ports that a URL may have, explicitly or by its scheme; nil, the default, permits all.
    public private(set) var allowedPorts: Set<Int>?
    /// True if URLs with the scheme `http` are refused. False by default.
    public private(set) var requiresHTTPS = false

    private init(_ base: Base) { self.base = base }

    /// All addresses: the default.
    public static let any = AddressPolicy(.any)

    /// Addresses of the public Internet only.
    ///
    /// The policy refuses loopback, private, link-local, carrier-grade NAT, documentation, benchmark, multicast,
    /// broadcast and reserved addresses. For IPv6 it refuses all addresses that are not global unicast, 6to4 and
    /// Teredo. An IPv4-mapped, NAT64 or ISATAP address is judged by its IPv4 address.
    public static let publicOnly = AddressPolicy(.publicOnly)

    /// Only the given networks.
    public static func only(_ networks: [IPNetwork]) -> AddressPolicy { AddressPolicy(.nothing).allowing(networks) }

    /// The same policy with further permitted networks.
    public func allowing(_ networks: [IPNetwork]) -> AddressPolicy {
        var copy = self
        copy.allowed += networks
        return copy
    }

    /// The same policy with further denied networks.
    public func denying(_ networks: [IPNetwork]) -> AddressPolicy {
        var copy = self
        copy.denied += networks
        return copy
    }

    /// The same policy with Unix sockets permitted (``ConnectionRoute/unixSocket``).
    public func allowingUnixSockets() -> AddressPolicy {
        var copy = self
        copy.allowsUnixSockets = true
        return copy
    }

    /// The same policy, limited to URLs with one of these ports. The URL decides, whatever a proxy or the
    /// ``ConnectionRoute`` makes of it.
    public func ports(_ ports: Int...) -> AddressPolicy { allowing(ports: Set(ports)) }

    /// The same policy, limited to ports that are known only at run time.
    package func allowing(ports: Set<Int>) -> AddressPolicy {
        var copy = self
        copy.allowedPorts = ports
        return copy
    }

    /// The same policy, limited to URLs with the scheme `https`.
    public func httpsOnly() -> AddressPolicy {
        var copy = self
        copy.requiresHTTPS = true
        return copy
    }

    /// True if the policy permits a connection to an address.
    /// - Parameter address: An IPv4 or IPv6 address without brackets. Any other text is not permitted.
    public func permits(_ address: String) -> Bool { IPAddress(address).map(permits) ?? false }
}

extension AddressPolicy {
    /// True if the policy checks URLs.
    var judgesURLs: Bool { requiresHTTPS || allowedPorts != nil }

    /// - Throws: ``CurlewError`` with ``ErrorCode/addressForbidden`` for a URL with a forbidden scheme or port.
    func checkScheme(_ scheme: String, port: Int, host: String) throws {
        if requiresHTTPS, scheme != "https" {
            throw CurlewError(.addressForbidden, "the address policy forbids \(scheme) for \(host)")
        }
        if let allowedPorts, !allowedPorts.contains(port) {
            throw CurlewError(.addressForbidden, "the address policy forbids port \(port) for \(host)")
        }
    }

    /// True if the policy does not check addresses.
    var isUnrestricted: Bool { base == .any && denied.isEmpty }

    var permitsUnixSockets: Bool { isUnrestricted || allowsUnixSockets }

    func permits(_ address: IPAddress) -> Bool {
        let forms = [address] + address.embedded
        if denied.contains(where: { network in forms.contains { network.contains($0) } }) { return false }
        if allowed.contains(where: { $0.contains(address) }) { return true }
        switch base {
        case .any: return true
        case .nothing: return false
        case .publicOnly:
            guard address.isTranslated || SpecialNetworks.isPublic(address) else { return false }
            return address.embedded.allSatisfy(permits)
        }
    }
}

/// The blocks that IANA's registries reserve for special purposes (RFC 6890 and its successors). The public Internet
/// has no hosts in them.
private enum SpecialNetworks {
    /// True if the address can belong to a host of the public Internet.
    static func isPublic(_ address: IPAddress) -> Bool {
        guard address.isIPv6 else { return !ipv4.contains { $0.contains(address) } }
        return globalUnicast.contains(address) && !ipv6.contains { $0.contains(address) }
    }

    private static let ipv4: [IPNetwork] = [
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

    /// The block from which IANA has assigned addresses so far. All other addresses, such as `::1`, `fc00::/7`,
    /// `fe80::/10`, `fec0::/10` and `ff00::/8`, are not public.
    private static let globalUnicast = block(0x2000, 0, 0, 3)

    private static let ipv6: [IPNetwork] = [
        block(0x2001, 0, 0, 23),  // protocol assignments: Teredo, benchmarks, ORCHID
        block(0x2001, 0x0DB8, 0, 32),  // documentation
        block(0x2002, 0, 0, 16),  // 6to4
        block(0x3FFF, 0, 0, 20),  // documentation, RFC 9637
    ]

    private static func block(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ length: Int) -> IPNetwork {
        IPNetwork(IPAddress(ipv4: a << 24 | b << 16 | c << 8 | d), prefixLength: length)
    }

    private static func block(_ a: UInt128, _ b: UInt128, _ c: UInt128, _ length: Int) -> IPNetwork {
        IPNetwork(IPAddress(ipv6: a << 112 | b << 96 | c << 80), prefixLength: length)
    }
}
