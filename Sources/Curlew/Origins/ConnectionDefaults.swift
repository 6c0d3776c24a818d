internal import HTTPTypes

/// The settings of a session for route, proxy, addresses and trust, for links that choose where to connect, and for what requests share.
final class ConnectionDefaults: SourceDefaults {
    let route: ConnectionRoute
    let proxies: ProxyResolver
    let addressPolicy: AddressPolicy
    let security: SecurityPolicy
    private let securityName = Guarded<String?>(nil)

    /// Made at the first use: the policy may have many certificates.
    var securityText: String {
        securityName.withLock { name in
            if let name { return name }
            let made = security.sessionSourceText
            name = made
            return made
        }
    }

    /// Nil for the usual settings, which costs a request nothing.
    init?(
        route: ConnectionRoute, proxy: Proxy.Configuration, addressPolicy: AddressPolicy = .any,
        security: SecurityPolicy
    ) {
        guard route != ConnectionRoute() || proxy != .none || addressPolicy != .any || security != .system else {
            return nil
        }
        self.route = route
        self.addressPolicy = addressPolicy
        self.security = security
        proxies = ProxyResolver(proxy)
    }
}

extension CurlewRequest {
    /// The route to which a link may add where to connect; nil if the caller, or the session, has said so, by a route, a Unix
    /// socket or a proxy.
    var openRoute: ConnectionRoute? {
        let defaults = connectionDefaults as? ConnectionDefaults
        let route = options.route ?? defaults?.route ?? ConnectionRoute()
        guard route.hosts.isEmpty, route.redirections.isEmpty, route.unixSocket == nil else { return nil }
        guard let proxies = options.proxy.map(ProxyResolver.init) ?? defaults?.proxies else { return route }
        // Settings that cannot be read fail the request, and not here.
        do { return try proxies.proxy(for: uri) == nil ? route : nil } catch { return nil }
    }

    /// True if the request goes over TLS, to nobody whose certificate was not verified for its host.
    var isToBeVerified: Bool {
        guard uri.layout.isSecure else { return false }
        let security = options.security ?? (connectionDefaults as? ConnectionDefaults)?.security
        return security?.verifies(uri.host) ?? true
    }
}

/// The name of a host as the stores of origins know it.
enum OriginHost {
    /// In lower case, without the dot at its end; nil for an address, and for what is no name. Names of other scripts have
    /// their ASCII form in every URI.
    static func name(_ host: some StringProtocol) -> String? {
        var name = host.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        guard (1...253).contains(name.utf8.count), IPAddress(host: name) == nil else { return nil }
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isPlain) }) else { return nil }
        return name
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
