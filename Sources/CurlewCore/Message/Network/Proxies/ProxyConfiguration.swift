internal import FoundationEssentials

extension Proxy {
    /// The choice of a proxy for each request.
    ///
    /// A request with a Unix socket in its ``ConnectionRoute`` uses no proxy. The article <doc:Proxies> has the rules.
    public struct Configuration: Sendable, Hashable, Codable {
        enum Kind: Sendable, Hashable, Codable {
            case none
            case processEnvironment
            case environment([String: String])
            case proxy(Proxy, exceptions: String)
            case rules([Proxy.Rule])
        }

        let kind: Kind

        /// No proxy: the default. The environment is not read.
        public static let none = Proxy.Configuration(kind: .none)

        /// The proxies in the environment of the process, read when the session, or the request with this option, is
        /// made.
        ///
        /// The variables are those of curl: `http_proxy` for `http`, `https_proxy` for `https`, `all_proxy` for both
        /// where they are missing, and `no_proxy` for the hosts that are connected to directly. Lower case is preferred
        /// to upper case. `HTTP_PROXY` is never read, because the client of a CGI program could set it. An empty
        /// variable counts as missing.
        public static let environment = Proxy.Configuration(kind: .processEnvironment)

        /// The proxies in the given variables, in place of those of the process.
        public static func environment(_ variables: [String: String]) -> Proxy.Configuration {
            Proxy.Configuration(kind: .environment(ProxyEnvironment.relevant(variables)))
        }

        /// A single proxy for all requests.
        /// - Parameters:
        ///   - proxy: The proxy.
        ///   - exceptions: Hosts that are connected to directly, in the form of `no_proxy`:
        ///     `.example.com, 10.0.0.0/8, [::1]:80`.
        public static func proxy(_ proxy: Proxy, except exceptions: String = "") -> Proxy.Configuration {
            Proxy.Configuration(kind: .proxy(proxy, exceptions: exceptions))
        }

        /// A proxy for each host: the first matching rule is used. A host without a matching rule is connected to
        /// directly.
        public static func rules(_ rules: [Proxy.Rule]) -> Proxy.Configuration {
            Proxy.Configuration(kind: .rules(rules))
        }

        /// The proxy for a request to a URI; nil means none.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme`` if the required
        ///   environment variable is invalid.
        public func proxy(for uri: CurlewURI) throws -> Proxy? { try ProxyResolver(self).proxy(for: uri) }
    }
}

extension Proxy {
    /// A list of hosts and their proxy.
    public struct Rule: Sendable, Hashable, Codable {
        /// The hosts, in the form of `no_proxy`: names with their subdomains, addresses and blocks of addresses, each
        /// with or without a port, separated by commas or spaces. `*` is every host.
        public var hosts: String
        /// The proxy of the hosts; nil connects to them directly.
        public var proxy: Proxy?

        public init(_ hosts: String, proxy: Proxy?) {
            self.hosts = hosts
            self.proxy = proxy
        }
    }
}

extension Proxy.Configuration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A short text without credentials.
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

/// A ``Proxy/Configuration`` in parsed form, ready for use by each request.
package struct ProxyResolver: Sendable {
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

    /// The proxy of requests without an exception or a rule.
    var usual: Proxy? {
        if case .proxy(let proxy, _) = kind { proxy } else { nil }
    }

    /// True if all requests have the same proxy, or none has one.
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
    /// True if an entry matches the target.
    func match(_ uri: CurlewURI) -> Bool {
        guard !isEmpty else { return false }
        let address = IPAddress(host: uri.host)
        return contains { $0.matches(uri, address: address) }
    }
}

/// The proxies from environment variables, read once.
private struct ProxyEnvironment: Sendable {
    /// An error is kept for the request that needs the variable.
    private typealias Reading = Result<Proxy, CurlewError>

    private let http: Reading?
    private let https: Reading?
    private let exceptions: [ProxyHostPattern]

    /// The variables that are read. `HTTP_PROXY` is excluded: a web server passes its client's field `Proxy` to CGI
    /// programs under that name.
    private static let names: Set<String> = [
        "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    ]

    fileprivate static func relevant(_ variables: [String: String]) -> [String: String] {
        variables.filter { names.contains($0.key) }
    }

    init(_ variables: [String: String]) {
        /// The first variable that exists and is not empty.
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
