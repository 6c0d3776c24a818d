internal import CLibcurl

/// The options of an easy handle that change rarely. One value serves a session; a request with options of its own gets
/// another. Handles remember which one they carry, so that nothing is set twice.
///
/// `@unchecked Sendable`: the lists are built once and then only read.
final class ConnectionOptions: @unchecked Sendable {
    struct Values: Equatable {
        var connectTimeout = 0
        var readBufferSize = 0
        /// In seconds.
        var nameLifetime = 60
        var route = ConnectionRoute()
        var security = SecurityPolicy.system
        var addressPolicy = AddressPolicy.any
        var proxy: Proxy?
        /// The User-Agent of requests that have none.
        var userAgent: String?

        /// libcurl takes 0 for its own default, and keeps 32 bits of what it is given.
        var engineConnectTimeout: Int {
            connectTimeout == 0 ? Int(Int32.max) : min(connectTimeout, Int(Int32.max))
        }

        /// The bounds that libcurl has for its read buffer.
        private static let smallestReadBuffer = 1024
        private static let largestReadBuffer = 10 << 20

        /// Within what libcurl takes.
        var clampedReadBufferSize: Int { min(max(readBufferSize, Self.smallestReadBuffer), Self.largestReadBuffer) }
    }

    let values: Values
    /// The security policy, read.
    let trust: CompiledPolicy
    /// True if there is a policy that says no to some address, and no proxy that connects in our place.
    private let judgesAddresses: Bool
    /// True if there is a proxy, and a policy that has something to say before it is asked.
    let judgesTargets: Bool
    /// True if there is a policy that judges ports or schemes.
    private let judgesURLs: Bool
    /// True if there is a proxy.
    let hasProxy: Bool
    /// The credentials for the proxy, if they are a field.
    let proxyFields: FieldList?
    /// Redirections for a proxy to follow. Without a proxy we follow them.
    private let connectTo: FieldList?
    /// The addresses of the hosts that the route overrides.
    private let overrides: [(host: String, port: Int, addresses: [HostAddress])]
    /// The hash of what ``connectsLike(_:)`` compares.
    let connectionHash: Int
    private let proxies: ProxyResolver
    /// The rotations of the policy, and the versions of their material that ``trust`` was read with.
    private let rotations: [SecurityPolicy.Rotation]
    private let versions: [UInt64]
    /// The same options with newer material. Only those of a session have it, and only if their policy rotates.
    private let renewed: Guarded<ConnectionOptions?>?
    /// Those that requests with a route of their own have had made of these: handles set nothing anew where routes repeat.
    private let routed = Guarded<[ConnectionRoute: ConnectionOptions]>([:])
    /// The most routes that are remembered; then it begins anew.
    private static let routeLimit = 256

    /// The options of a session.
    /// - Parameter values: Those without a proxy.
    convenience init(_ values: Values, proxies: ProxyResolver) throws {
        var values = values
        values.proxy = values.route.unixSocket == nil ? proxies.usual : nil
        try self.init(complete: values, proxies: proxies, isRenewed: true)
    }

    /// - Parameter isRenewed: True if it keeps the options with newer material.
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

    /// True if a connection that was made with the other options may carry requests with these.
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

    /// These options, or, if their policy rotates, the same with the material of this moment.
    private var current: ConnectionOptions {
        get throws {
            guard let renewed else { return self }
            if isUpToDate { return self }
            if let known = renewed.withLock({ $0 }), known.isUpToDate { return known }
            let made = try ConnectionOptions(complete: values, proxies: proxies)
            // Another thread may be quicker or slower: what is not up to date is found out by the next request.
            renewed.withLock { $0 = made }
            return made
        }
    }

    private var isUpToDate: Bool { zip(rotations, versions).allSatisfy { $0.version == $1 } }

    /// These options, or another value where the request has its own.
    func overridden(by options: RequestOptions, timeouts: Timeouts, uri: CurlewURI) throws -> ConnectionOptions {
        // What goes for almost every request is found out first: looking a proxy up and comparing is not free.
        let isPlain = options.connectTimeout == nil && options.readBufferSize == nil
        if isPlain, proxies.isUniform, !options.concernConnecting, values.proxy?.resolvesHere != true {
            return try current
        }
        let hasSocket = (options.route ?? values.route).unixSocket != nil
        let resolver = options.proxy.map(ProxyResolver.init) ?? proxies
        let proxy = hasSocket ? nil : try resolver.proxy(for: uri)
        // libcurl looks the host up for such a proxy, and asks DNS for a name of this machine that has a dot at its end.
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
                    .invalidRequest, "the host override of \(override.host) has an address that is none: \(text)")
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

    /// Sets every option on a handle that carried other ones.
    func apply(to easy: EasyHandle) throws {
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, values.engineConnectTimeout)
        try easy.setReadBufferSize(values.clampedReadBufferSize)
        // libcurl looks up names for SOCKS proxies alone, and needs their addresses for a moment. It would keep the numbers of
        // connections among them as well, and look through all of them after each exchange.
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

// MARK: Where connections lead

extension ConnectionOptions {
    /// The place that a connection for a request is made to.
    func dialTarget(for uri: CurlewURI) -> Dial.Target {
        if let proxy = values.proxy { return .host(proxy.host, port: UInt16(clamping: proxy.port)) }
        let (host, port) = redirected(uri)
        let override = overrides.first { $0.port == port && Self.isSame($0.host, host) }
        if let override { return .addresses(override.addresses, port: UInt16(clamping: port)) }
        return .host(host, port: UInt16(clamping: port))
    }

    /// The host whose addresses are looked up for a request, without a proxy.
    func dialHost(for uri: CurlewURI) -> String { redirected(uri).host }

    /// Redirections stand first: an override is of the host that is then connected to. The first that fits is followed, and no
    /// second.
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

    /// True if a connection carries requests in clear text for every host: the proxy is asked with the whole URL.
    var sharesProxyConnections: Bool {
        values.proxy.map { !$0.isSOCKS } ?? false && values.route.redirections.isEmpty
    }

    /// True if a socket may be made towards an address. The addresses of a proxy are the configuration's own choice; what the
    /// proxy is asked for is judged by ``checkTarget(_:)``.
    func permits(_ address: SocketAddress) -> Bool {
        guard judgesAddresses else { return true }
        return address.ip.map { values.addressPolicy.permits($0) } ?? values.addressPolicy.permitsUnixSockets
    }
}

extension OriginPool {
    /// The way to one more connection.
    func plan(hygiene: ConnectionHygiene, deadline: Instant) -> Dial.Plan {
        let route = options.values.route
        let lifetime = options.values.nameLifetime
        return Dial.Plan(
            target: options.dialTarget(for: uri), family: route.addressFamily, localInterface: route.localInterface,
            deadline: deadline, hygiene: hygiene,
            nameLifetime: lifetime >= Int(Int32.max) ? .max : Int64(lifetime) * 1_000_000_000)
    }
}

extension RequestOptions {
    /// True if one of them is about where and how to connect. Almost always it is enough to see that there are none.
    fileprivate var concernConnecting: Bool {
        isAnySet && (security != nil || route != nil || addressPolicy != nil || proxy != nil)
    }
}

extension CompiledPolicy {
    /// Sets what libcurl has to know. The handshake itself is set up for each connection (``EasyHandle/beginHandshake(_:)``),
    /// and peers are verified there; libcurl verifies none without asking us, and loads no authorities.
    fileprivate func apply(to easy: EasyHandle) throws {
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        try easy.set(CURLOPT_SSL_VERIFYHOST, validatesEveryName ? 2 : 0)
        try easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try easy.set(CURLOPT_CAINFO, nil as String?)
        // Marks the context of a server, as opposed to a proxy's: ``TLSContext`` looks for the option that this sets.
        // It is safe, as the attack that it would allow (BEAST) is impossible from TLS 1.1 on.
        try easy.set(CURLOPT_SSL_OPTIONS, Int(CURLSSLOPT_ALLOW_BEAST))
        // Connections are only used again where this is the same.
        try easy.set(CURLOPT_CAPATH, identifier)
    }
}

// MARK: Targets behind a proxy

extension ConnectionOptions {
    /// Judges what is known of a target before anything is connected to: its scheme and port, and if a proxy is asked for it,
    /// which then connects unseen, its host.
    ///
    /// A host that is written as an address, in whatever spelling, and `localhost` are judged. Other names are the proxy's to
    /// resolve; where libcurl resolves them for a SOCKS proxy, it shows nobody the address.
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
                    "with an address policy a \(proxy.scheme.rawValue) proxy is asked for addresses alone, as nobody would "
                        + "see what \(host) resolves to")
            }
        }
    }

    /// The host, and where redirections of the route may lead from it.
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

    /// In lower case, without a dot at the end, and with the wide digits, letters and dots in place of which
    /// internationalised names have the usual ones (UTS #46).
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
