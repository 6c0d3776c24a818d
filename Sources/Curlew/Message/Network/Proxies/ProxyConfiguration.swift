internal import FoundationEssentials

/// Which requests go through which proxy.
///
/// A request with a Unix socket in its ``Route`` goes through none. The article <doc:Proxies> has the rules.
public struct ProxyConfiguration: Sendable, Hashable, Codable {
    enum Kind: Sendable, Hashable, Codable {
        case none
        case processEnvironment
        case environment([String: String])
        case proxy(Proxy, exceptions: String)
        case rules([ProxyRule])
    }

    let kind: Kind

    /// No proxy: the default. The environment is not looked at.
    public static let none = ProxyConfiguration(kind: .none)

    /// What the environment of the process says when the session, or the request that has this option, is made.
    ///
    /// As with curl: `http_proxy` for `http`, `https_proxy` for `https`, `all_proxy` for both where they are missing, and
    /// `no_proxy` for the hosts that are asked directly; each in lower case, else in upper case, except that `HTTP_PROXY` is
    /// never read, as a CGI's client could set it. An empty variable is a missing one.
    public static let environment = ProxyConfiguration(kind: .processEnvironment)

    /// The same from other variables than those of the process.
    public static func environment(_ variables: [String: String]) -> ProxyConfiguration {
        ProxyConfiguration(kind: .environment(ProxyEnvironment.relevant(variables)))
    }

    /// One proxy for all requests.
    /// - Parameters:
    ///   - proxy: The proxy.
    ///   - exceptions: Hosts that are asked directly, written as in `no_proxy`: `.example.com, 10.0.0.0/8, [::1]:80`.
    public static func proxy(_ proxy: Proxy, except exceptions: String = "") -> ProxyConfiguration {
        ProxyConfiguration(kind: .proxy(proxy, exceptions: exceptions))
    }

    /// A proxy by host: the first rule that fits is used, and where none does the host is asked directly.
    public static func rules(_ rules: [ProxyRule]) -> ProxyConfiguration { ProxyConfiguration(kind: .rules(rules)) }

    /// The proxy that a request to a URI goes through; nil means none.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme`` if a variable of the
    ///   environment that is to be used cannot be.
    public func proxy(for uri: URI) throws -> Proxy? { try ProxyResolver(self).proxy(for: uri) }
}

/// Hosts, and the proxy for them.
public struct ProxyRule: Sendable, Hashable, Codable {
    /// The hosts, written as in `no_proxy`: names and what is below them, addresses and blocks of them, each with a port or
    /// without, with commas or spaces between them; `*` is every host.
    public var hosts: String
    /// Their proxy; nil asks them directly.
    public var proxy: Proxy?

    public init(_ hosts: String, proxy: Proxy?) {
        self.hosts = hosts
        self.proxy = proxy
    }
}

extension ProxyConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// In short, and without credentials.
    public var description: String {
        switch kind {
        case .none: "none"
        case .processEnvironment, .environment: "environment"
        case .proxy(let proxy, _): "\(proxy)"
        case .rules(let rules): "\(rules.count) rules"
        }
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}
