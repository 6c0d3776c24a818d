internal import FoundationEssentials

extension Proxy {
    /// The choice of a proxy for each request.
    ///
    /// A request with a Unix socket in its ``ConnectionRoute`` goes through none. The article <doc:Proxies> has the rules.
    public struct Configuration: Sendable, Hashable, Codable {
        enum Kind: Sendable, Hashable, Codable {
            case none
            case processEnvironment
            case environment([String: String])
            case proxy(Proxy, exceptions: String)
            case rules([Proxy.Rule])
        }

        let kind: Kind

        /// No proxy: the default. The environment is not looked at.
        public static let none = Proxy.Configuration(kind: .none)

        /// The proxies of the process's environment, as it is when the session, or the request that has this option, is made.
        ///
        /// As with curl: `http_proxy` for `http`, `https_proxy` for `https`, `all_proxy` for both where they are missing, and
        /// `no_proxy` for the hosts that are asked directly; each in lower case, else in upper case, except that `HTTP_PROXY` is
        /// never read, as a CGI's client could set it. An empty variable is a missing one.
        public static let environment = Proxy.Configuration(kind: .processEnvironment)

        /// The same from other variables than those of the process.
        public static func environment(_ variables: [String: String]) -> Proxy.Configuration {
            Proxy.Configuration(kind: .environment(ProxyEnvironment.relevant(variables)))
        }

        /// One proxy for all requests.
        /// - Parameters:
        ///   - proxy: The proxy.
        ///   - exceptions: Hosts that are asked directly, written as in `no_proxy`: `.example.com, 10.0.0.0/8, [::1]:80`.
        public static func proxy(_ proxy: Proxy, except exceptions: String = "") -> Proxy.Configuration {
            Proxy.Configuration(kind: .proxy(proxy, exceptions: exceptions))
        }

        /// A proxy by host: the first rule that fits is used, and where none does the host is asked directly.
        public static func rules(_ rules: [Proxy.Rule]) -> Proxy.Configuration {
            Proxy.Configuration(kind: .rules(rules))
        }

        /// The proxy that a request to a URI goes through; nil means none.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme`` if a variable of the
        ///   environment that is to be used cannot be.
        public func proxy(for uri: CurlewURI) throws -> Proxy? { try ProxyResolver(self).proxy(for: uri) }
    }
}

extension Proxy {
    /// Hosts, and the proxy for them.
    public struct Rule: Sendable, Hashable, Codable {
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
}

extension Proxy.Configuration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
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

/// A ``Proxy/Configuration`` read and ready to be asked for each request.
struct ProxyResolver: Sendable {
    private enum Kind: Sendable {
        case none
        case environment(ProxyEnvironment)
        case proxy(Proxy, exceptions: [ProxyHostPattern])
        case rules([(hosts: [ProxyHostPattern], proxy: Proxy?)])
    }

    private let kind: Kind

    init(_ configuration: Proxy.Configuration) {
        kind =
            switch configuration.kind {
            case .none: .none
            case .processEnvironment: .environment(ProxyEnvironment(ProcessInfo.processInfo.environment))
            case .environment(let variables): .environment(ProxyEnvironment(variables))
            case .proxy(let proxy, let exceptions): .proxy(proxy, exceptions: ProxyHostPattern.list(exceptions))
            case .rules(let rules): .rules(rules.map { (ProxyHostPattern.list($0.hosts), $0.proxy) })
            }
    }

    /// The proxy of requests that no exception and no rule speaks of.
    var usual: Proxy? {
        if case .proxy(let proxy, _) = kind { proxy } else { nil }
    }

    /// True if every request has the same proxy, or none has one.
    var isUniform: Bool {
        switch kind {
        case .none: true
        case .proxy(_, let exceptions): exceptions.isEmpty
        case .environment, .rules: false
        }
    }

    func proxy(for uri: CurlewURI) throws -> Proxy? {
        switch kind {
        case .none: nil
        case .environment(let environment): try environment.proxy(for: uri)
        case .proxy(let proxy, let exceptions): exceptions.match(uri) ? nil : proxy
        case .rules(let rules): rules.first { $0.hosts.match(uri) }?.proxy
        }
    }
}

extension [ProxyHostPattern] {
    /// True if one of the entries is for the target.
    func match(_ uri: CurlewURI) -> Bool {
        guard !isEmpty else { return false }
        let address = IPAddress(host: uri.host)
        return contains { $0.matches(uri, address: address) }
    }
}

/// The proxies that environment variables name, read once.
private struct ProxyEnvironment: Sendable {
    /// An error waits for the request that would need the variable.
    private typealias Reading = Result<Proxy, CurlewError>

    private let http: Reading?
    private let https: Reading?
    private let exceptions: [ProxyHostPattern]

    /// The variables that are read. `HTTP_PROXY` is not among them: a web server hands the field `Proxy` of its client to
    /// CGI programs under that name.
    private static let names: Set<String> = [
        "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    ]

    fileprivate static func relevant(_ variables: [String: String]) -> [String: String] {
        variables.filter { names.contains($0.key) }
    }

    init(_ variables: [String: String]) {
        /// The first of the variables that is there and not empty.
        func value(_ names: String...) -> (name: String, text: String)? {
            for name in names {
                if let text = variables[name], !text.isEmpty { return (name, text) }
            }
            return nil
        }
        let all = value("all_proxy", "ALL_PROXY")
        http = (value("http_proxy") ?? all).map(Self.read)
        https = (value("https_proxy", "HTTPS_PROXY") ?? all).map(Self.read)
        exceptions = ProxyHostPattern.list(value("no_proxy", "NO_PROXY")?.text ?? "")
    }

    private static func read(_ variable: (name: String, text: String)) -> Reading {
        do {
            return .success(try Proxy(variable.text))
        } catch let error as CurlewError {
            return .failure(CurlewError(error.code, "\(variable.name) cannot be used: \(error.message)"))
        } catch {
            return .failure(CurlewError(.invalidURL, "\(variable.name) cannot be used"))
        }
    }

    func proxy(for uri: CurlewURI) throws -> Proxy? {
        guard let reading = uri.layout.isSecure ? https : http, !exceptions.match(uri) else { return nil }
        return try reading.get()
    }
}
