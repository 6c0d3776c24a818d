internal import FoundationEssentials

/// A ``ProxyConfiguration`` read and ready to be asked for each request.
struct ProxyResolver: Sendable {
    private enum Kind: Sendable {
        case none
        case environment(ProxyEnvironment)
        case proxy(Proxy, exceptions: [ProxyHostPattern])
        case rules([(hosts: [ProxyHostPattern], proxy: Proxy?)])
    }

    private let kind: Kind

    init(_ configuration: ProxyConfiguration) {
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

    /// Whether every request has the usual proxy, or none.
    var isUniform: Bool {
        switch kind {
        case .none: true
        case .proxy(_, let exceptions): exceptions.isEmpty
        case .environment, .rules: false
        }
    }

    func proxy(for uri: URI) throws -> Proxy? {
        switch kind {
        case .none: nil
        case .environment(let environment): try environment.proxy(for: uri)
        case .proxy(let proxy, let exceptions): exceptions.match(uri) ? nil : proxy
        case .rules(let rules): rules.first { $0.hosts.match(uri) }?.proxy
        }
    }
}

extension [ProxyHostPattern] {
    /// Whether one of the entries is for the target.
    func match(_ uri: URI) -> Bool {
        guard !isEmpty else { return false }
        let address = IPAddress(host: uri.host)
        return contains { $0.matches(uri, address: address) }
    }
}
