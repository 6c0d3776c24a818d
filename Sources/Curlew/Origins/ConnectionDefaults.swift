internal import HTTPTypes

/// The settings of a session for route, proxy, addresses and trust. They serve links that choose where to connect, or
/// that share responses.
final class ConnectionDefaults: SourceDefaults {
    let route: ConnectionRoute
    let proxies: ProxyResolver
    let addressPolicy: AddressPolicy
    let security: SecurityPolicy
    private let securityName = Guarded<String?>(nil)

    /// The name of the security policy. It is made at the first use, because the policy may have many certificates.
    var securityText: String {
        securityName.withLock { name in
            if let name { return name }
            let made = security.sessionSourceText
            name = made
            return made
        }
    }

    /// Nil for the default settings, which then cost a request nothing.
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
    /// The route that a link may complete with a destination. nil if the caller or the session has chosen one by a
    /// route, a Unix socket or a proxy.
    var openRoute: ConnectionRoute? {
        let defaults = connectionDefaults as? ConnectionDefaults
        let route = options.route ?? defaults?.route ?? ConnectionRoute()
        guard route.hosts.isEmpty, route.redirections.isEmpty, route.unixSocket == nil else { return nil }
        guard let proxies = options.proxy.map(ProxyResolver.init) ?? defaults?.proxies else { return route }
        // Invalid proxy settings make the request fail later, not here.
        do { return try proxies.proxy(for: uri) == nil ? route : nil } catch { return nil }
    }

    /// True if the request uses TLS and requires a verified certificate for its host.
    var isToBeVerified: Bool {
        guard uri.layout.isSecure else { return false }
        let security = options.security ?? (connectionDefaults as? ConnectionDefaults)?.security
        return security?.verifies(uri.host) ?? true
    }
}

/// The form of host names in the stores of origins.
enum OriginHost {
    /// The name in lower case, without a final dot; nil for an address and for an invalid name. In a URI, names outside
    /// ASCII already have their ASCII form.
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
