internal import HTTPTypes

/// The settings of a session for route, proxy, addresses and trust. They serve links that choose where to connect, or
/// that share responses.
package final class ConnectionDefaults: SourceDefaults {
    package let route: ConnectionRoute
    package let proxies: ProxyResolver
    package let addressPolicy: AddressPolicy
    package let security: SecurityPolicy
    private let securityName = Guarded<String?>(nil)

    /// The name of the security policy. It is made at the first use, because the policy may have many certificates.
    package var securityText: String {
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
    package var openRoute: ConnectionRoute? {
        let defaults = connectionDefaults as? ConnectionDefaults
        let route = options.route ?? defaults?.route ?? ConnectionRoute()
        guard route.hosts.isEmpty, route.redirections.isEmpty, route.unixSocket == nil else { return nil }
        guard let proxies = options.proxy.map(ProxyResolver.init) ?? defaults?.proxies else { return route }
        // Invalid proxy settings make the request fail later, not here.
        do { return try proxies.proxy(for: uri) == nil ? route : nil } catch { return nil }
    }

    /// True if the request uses TLS and requires a verified certificate for its host.
    package var isToBeVerified: Bool {
        guard uri.layout.isSecure else { return false }
        let security = options.security ?? (connectionDefaults as? ConnectionDefaults)?.security
        return security?.verifies(uri.host) ?? true
    }
}
