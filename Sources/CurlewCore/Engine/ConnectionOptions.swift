internal import CLibcurl

/// The options of an easy handle that change rarely. One value serves a session; a request with its own options gets
/// another. Handles record their current value, so that no option is set twice.
///
/// `@unchecked Sendable`: the lists are built once and then only read.
final class ConnectionOptions: @unchecked Sendable {
    struct Values: Equatable {
        var connectTimeout = 0
        var readBufferSize = 0
        /// The lifetime of looked-up names, in seconds.
        var nameLifetime = 60
        var route = ConnectionRoute()
        var security = SecurityPolicy.system
        var addressPolicy = AddressPolicy.any
        var proxy: Proxy?
        /// The User-Agent of requests without one.
        var userAgent: String?

        /// The timeout in libcurl's form. libcurl treats 0 as its own default, and truncates the value to 32 bits.
        var engineConnectTimeout: Int {
            connectTimeout == 0 ? Int(Int32.max) : min(connectTimeout, Int(Int32.max))
        }

        /// The bounds of libcurl's read buffer.
        private static let smallestReadBuffer = 1024
        private static let largestReadBuffer = 10 << 20

        /// The size within libcurl's bounds.
        var clampedReadBufferSize: Int { min(max(readBufferSize, Self.smallestReadBuffer), Self.largestReadBuffer) }
    }

    let values: Values
    /// The compiled security policy.
    let trust: CompiledPolicy
    /// True if the address policy forbids any address, and no proxy connects in place of this process.
    private let judgesAddresses: Bool
    /// True if there is a proxy, and a policy that judges the target before the proxy is used.
    let judgesTargets: Bool
    /// True if there is a policy that judges ports or schemes.
    private let judgesURLs: Bool
    /// True if there is a proxy.
    let hasProxy: Bool
    /// The credentials for the proxy, if they are a field.
    let proxyFields: FieldList?
    /// The redirections of the route, for libcurl to apply with a proxy. Without a proxy Curlew applies them.
    private let connectTo: FieldList?
    /// The addresses of the hosts that the route overrides.
    private let overrides: [(host: String, port: Int, addresses: [HostAddress])]
    /// The hash of the values that ``connectsLike(_:)`` compares.
    let connectionHash: Int
    private let proxies: ProxyResolver
    /// The rotations of the policy, and the versions of the material in ``trust``.
    private let rotations: [SecurityPolicy.Rotation]
    private let versions: [UInt64]
    /// The same options with newer material. It exists only for the options of a session whose policy rotates.
    private let renewed: Guarded<ConnectionOptions?>?
    /// The options made for requests with their own route. Handles need not be set up again when routes repeat.
    private let routed = Guarded<[ConnectionRoute: ConnectionOptions]>([:])
    /// The greatest number of remembered routes; beyond it all are removed.
    private static let routeLimit = 256

    /// The options of a session.
    /// - Parameter values: The values without a proxy.
    convenience init(_ values: Values, proxies: ProxyResolver) throws {
        var values = values
        values.proxy = values.route.unixSocket == nil ? proxies.usual : nil
        try self.init(complete: values, proxies: proxies, isRenewed: true)
    }

    /// - Parameter isRenewed: True if the value keeps the options with newer material.
    private init(complete values: Values, proxies: ProxyResolver, isRenewed: Bool = false) throws {
        self.values = values
        self.proxies = proxies
        let settled = values.security.settled
        rotations = settled.rotations
        versions = settled.versions
        renewed = isRenewed && !rotations.isEmpty ? Guarded(nil) : nil
        trust = try CompiledPolicy.of(settled.policy)
        hasProxy = values.proxy != nil
        judgesURLs = values.addressPolicy.judgesURLs
        judgesAddresses = !hasProxy && !values.addressPolicy.isUnrestricted
        judgesTargets = hasProxy && !values.addressPolicy.isUnrestricted
        proxyFields = try Self.proxyFields(of: values.proxy)
        try Self.check(values.route)
        connectTo = values.proxy == nil ? nil : try Self.redirections(of: values.route)
        overrides = try values.route.hosts.map { override in
            (override.host, override.port, try Self.addresses(of: override))
        }
        var hasher = Hasher()
        hasher.combine(trust.number)
        hasher.combine(values.route)
        hasher.combine(values.proxy?.host)
        connectionHash = hasher.finalize()
    }

    /// True if a connection that was made with the other options may also carry requests with these.
    func connectsLike(_ other: ConnectionOptions) -> Bool {
        if self === other { return true }
        return trust === other.trust && values.route == other.values.route && values.proxy == other.values.proxy
            && values.addressPolicy == other.values.addressPolicy
    }

    private static func proxyFields(of proxy: Proxy?) throws -> FieldList? {
        guard let proxy, proxy.sendsBasicItself else { return nil }
        let fields = FieldList()
        try fields.append(line: proxy.basicField)
        return fields
    }

    /// These options; if their policy rotates, the same with the present material.
    private var current: ConnectionOptions {
        get throws {
            guard let renewed else { return self }
            if isUpToDate { return self }
            if let known = renewed.withLock({ $0 }), known.isUpToDate { return known }
            let made = try ConnectionOptions(complete: values, proxies: proxies)
            // Another thread may store an older value at the same time; the next request detects that.
            renewed.withLock { $0 = made }
            return made
        }
    }

    private var isUpToDate: Bool { zip(rotations, versions).allSatisfy { $0.version == $1 } }

    /// These options, or another value if the request has its own options.
    func overridden(by options: RequestOptions, timeouts: Timeouts, uri: CurlewURI) throws -> ConnectionOptions {
        // The usual case is tested first, because a proxy look-up and the comparison have a cost.
        let isPlain = options.connectTimeout == nil && options.readBufferSize == nil
        if isPlain, proxies.isUniform, !options.concernConnecting, values.proxy?.resolvesHere != true {
            return try current
        }
        let hasSocket = (options.route ?? values.route).unixSocket != nil
        let resolver = options.proxy.map(ProxyResolver.init) ?? proxies
        let proxy = hasSocket ? nil : try resolver.proxy(for: uri)
        // libcurl looks the host up for such a proxy, and would ask DNS for a name of this machine with a final dot.
        let localName = proxy?.resolvesHere == true ? uri.dottedLocalName : nil
        guard
            options.connectTimeout != nil || options.readBufferSize != nil || options.route != nil
                || options.addressPolicy != nil || options.security != nil || proxy != values.proxy || localName != nil
        else { return try current }
        var changed = values
        changed.proxy = proxy
        if let policy = options.addressPolicy { changed.addressPolicy = policy }
        changed.connectTimeout = timeouts.connect.millisecondsRoundedUp
        if let size = options.readBufferSize { changed.readBufferSize = size.bytes }
        if let route = options.route { changed.route = route }
        if let localName { changed.route.addLocalName(localName, for: uri) }
        if let security = options.security { changed.security = security }
        guard changed != values else { return try current }
        return options.route == nil && localName == nil
            ? try ConnectionOptions(complete: changed, proxies: proxies) : try routed(changed)
    }

    private func routed(_ values: Values) throws -> ConnectionOptions {
        if let known = routed.withLock({ $0[values.route] }), known.values == values, known.isUpToDate {
            return known
        }
        let made = try ConnectionOptions(complete: values, proxies: proxies)
        routed.withLock { routed in
            if routed.count >= Self.routeLimit { routed = [:] }
            routed[values.route] = made
        }
        return made
    }

    private static func redirections(of route: ConnectionRoute) throws -> FieldList? {
        guard !route.redirections.isEmpty else { return nil }
        let list = FieldList()
        for redirection in route.redirections {
            let from = "\(redirection.host ?? ""):\(redirection.port.map(String.init) ?? "")"
            try list.append(line: "\(from):\(redirection.toHost):\(redirection.toPort)")
        }
        return list
    }

    private static func addresses(of override: ConnectionRoute.HostOverride) throws -> [HostAddress] {
        guard !override.addresses.isEmpty else {
            throw CurlewError(.invalidRequest, "a host override has no address")
        }
        return try override.addresses.map { text in
            guard case .success(let address) = HostAddress.literal(text) else {
                throw CurlewError(
                    .invalidRequest, "the host override of \(override.host) has an address that is not valid: \(text)")
            }
            return address
        }
    }

    private static func check(_ route: ConnectionRoute) throws {
        for override in route.hosts { try check([override.host] + override.addresses, ports: [override.port]) }
        for redirection in route.redirections {
            try check([redirection.host ?? "", redirection.toHost], ports: [redirection.port, redirection.toPort])
        }
    }

    private static func check(_ names: [String], ports: [Int?]) throws {
        guard ports.allSatisfy({ $0.map(PortNumber.valid.contains) ?? true }) else {
            throw CurlewError(.invalidRequest, "a port of a route is not a number from 1 to 65535")
        }
        let allowed = { (byte: UInt8) in byte > 0x20 && byte != 0x7F && byte != .slash && byte != .at }
        guard names.allSatisfy({ $0.utf8.allSatisfy(allowed) }) else {
            throw CurlewError(.invalidRequest, "a route holds a character that no host has")
        }
    }

    /// Sets every option on a handle that had other options.
    func apply(to easy: EasyHandle) throws {
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, values.engineConnectTimeout)
        try easy.setReadBufferSize(values.clampedReadBufferSize)
        // libcurl looks up names only for SOCKS proxies, and needs their addresses only briefly. With a longer lifetime
        // it would also cache the addresses of connections, and search all of them after each exchange.
        let isSOCKS = values.proxy?.isSOCKS == true
        try easy.set(CURLOPT_DNS_CACHE_TIMEOUT, isSOCKS ? max(1, values.nameLifetime) : 0)
        try easy.set(CURLOPT_IPRESOLVE, isSOCKS ? values.route.addressFamily.engineValue : Int(CURL_IPRESOLVE_WHATEVER))
        try easy.set(CURLOPT_USERAGENT, values.userAgent)
        try easy.set(CURLOPT_CONNECT_TO, connectTo?.head)
        try trust.apply(to: easy)
        try easy.apply(values.proxy)
    }
}

extension ConnectionRoute.AddressFamily {
    fileprivate var engineValue: Int {
        switch self {
        case .any: Int(CURL_IPRESOLVE_WHATEVER)
        case .ipv4: Int(CURL_IPRESOLVE_V4)
        case .ipv6: Int(CURL_IPRESOLVE_V6)
        }
    }
}

// MARK: Destinations of connections

extension ConnectionOptions {
    /// The destination of a connection for a request.
    func dialTarget(for uri: CurlewURI) -> Dial.Target {
        if let proxy = values.proxy { return .host(proxy.host, port: UInt16(clamping: proxy.port)) }
        let (host, port) = redirected(uri)
        let override = overrides.first { $0.port == port && Self.isSame($0.host, host) }
        if let override { return .addresses(override.addresses, port: UInt16(clamping: port)) }
        return .host(host, port: UInt16(clamping: port))
    }

    /// The host whose addresses are looked up for a request, without a proxy.
    func dialHost(for uri: CurlewURI) -> String { redirected(uri).host }

    /// The host and port after redirections. Overrides apply to the redirected host. Only the first matching
    /// redirection is applied.
    private func redirected(_ uri: CurlewURI) -> (host: String, port: Int) {
        let redirection = values.route.redirections.first { redirection in
            (redirection.host.map { $0.isEmpty || Self.isSame($0, uri.host) } ?? true)
                && (redirection.port == nil || redirection.port == uri.port)
        }
        return redirection.map { ($0.toHost, $0.toPort) } ?? (uri.host, uri.port)
    }

    private static func isSame(_ one: String, _ other: String) -> Bool {
        one.utf8.lazy.map(\.lowercasedASCII).elementsEqual(other.utf8.lazy.map(\.lowercasedASCII))
    }

    /// True if a connection carries cleartext requests for every host: the proxy gets the complete URL.
    var sharesProxyConnections: Bool {
        values.proxy.map { !$0.isSOCKS } ?? false && values.route.redirections.isEmpty
    }

    /// True if a socket may be made to an address. The addresses of a proxy are configured and therefore permitted;
    /// ``checkTarget(_:)`` judges the targets behind it.
    func permits(_ address: SocketAddress) -> Bool {
        guard judgesAddresses else { return true }
        return address.ip.map { values.addressPolicy.permits($0) } ?? values.addressPolicy.permitsUnixSockets
    }
}

extension OriginPool {
    /// The plan of a further connection.
    func plan(hygiene: ConnectionHygiene, deadline: Instant) -> Dial.Plan {
        let route = options.values.route
        let lifetime = options.values.nameLifetime
        return Dial.Plan(
            target: options.dialTarget(for: uri), family: route.addressFamily, localInterface: route.localInterface,
            deadline: deadline, hygiene: hygiene,
            nameLifetime: lifetime >= Int(Int32.max) ? .max : Int64(lifetime) * 1_000_000_000,
            isDatagram: key.use == .quic)
    }
}

extension RequestOptions {
    /// True if one of the options concerns connecting. Usually the first test suffices, because no option is set.
    fileprivate var concernConnecting: Bool {
        isAnySet && (security != nil || route != nil || addressPolicy != nil || proxy != nil)
    }
}

extension CompiledPolicy {
    /// Sets the options of libcurl. The handshake itself is set up for each connection
    /// (``EasyHandle/beginHandshake(_:)``), and peers are verified there. libcurl accepts no peer without that
    /// verification, and loads no authorities.
    fileprivate func apply(to easy: EasyHandle) throws {
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        try easy.set(CURLOPT_SSL_VERIFYHOST, validatesEveryName ? 2 : 0)
        try easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try easy.set(CURLOPT_CAINFO, nil as String?)
        // This option marks the context of a server, in contrast to a proxy's: ``TLSContext`` looks for it. It is safe,
        // because the attack that it would permit (BEAST) is impossible from TLS 1.1 on.
        try easy.set(CURLOPT_SSL_OPTIONS, Int(CURLSSLOPT_ALLOW_BEAST))
        // libcurl reuses a connection only if this value is equal.
        try easy.set(CURLOPT_CAPATH, identifier)
    }
}

// MARK: Targets behind a proxy

extension ConnectionOptions {
    /// Judges a target before a connection is made: its scheme and port. With a proxy, which connects unseen, it also
    /// judges the host.
    ///
    /// A host that is written as an address, in any spelling, and `localhost` are judged. The proxy resolves other
    /// names. If libcurl resolves them for a SOCKS proxy, it does not reveal the address.
    /// - Throws: ``CurlewError`` with ``ErrorCode/addressForbidden`` or ``ErrorCode/unsupported``.
    func checkTarget(_ uri: CurlewURI) throws {
        try values.proxy?.checkSupport()
        if judgesURLs { try values.addressPolicy.checkScheme(uri.scheme, port: uri.port, host: uri.host) }
        guard judgesTargets, let proxy = values.proxy else { return }
        for host in targets(of: uri) {
            if let address = Self.address(of: host) {
                guard values.addressPolicy.permits(address) else {
                    throw CurlewError(
                        .addressForbidden, "the address policy forbids \(address) for \(host), through a proxy as well")
                }
            } else if proxy.resolvesHere {
                throw CurlewError(
                    .unsupported,
                    "with an address policy, a \(proxy.scheme.rawValue) proxy is used for addresses only: "
                        + "the addresses of \(host) cannot be checked")
            }
        }
    }

    /// The host, and the hosts to which redirections of the route may lead.
    private func targets(of uri: CurlewURI) -> [String] {
        let redirected = values.route.redirections.filter { redirection in
            let isHost = redirection.host.map { $0.isEmpty || $0.lowercased() == uri.host.lowercased() } ?? true
            return isHost && (redirection.port == nil || redirection.port == uri.port)
        }
        return [uri.host] + redirected.map(\.toHost)
    }

    private static func address(of host: String) -> IPAddress? {
        let name = folded(host)
        return IPAddress(host: name) ?? (LocalName.contains(name) ? IPAddress(ipv4: 0x7F00_0001) : nil)
    }

    /// The host in lower case, without a final dot, and with ASCII in place of the full-width digits, letters and dots
    /// of internationalised names (UTS #46).
    private static func folded(_ host: String) -> String {
        var name = String(
            String.UnicodeScalarView(
                host.unicodeScalars.compactMap { scalar in
                    switch scalar.value {
                    case 0x3002, 0xFF0E, 0xFF61: "."
                    case 0xFF01...0xFF5E: Unicode.Scalar(scalar.value - 0xFEE0)
                    case 0x00AD, 0x200B, 0x2060, 0xFEFF: nil
                    default: scalar
                    }
                })
        ).lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        return name
    }
}
