internal import HTTPTypes

/// The source of a response, apart from the URI of its request: the connection that the request's options select.
///
/// Responses are stored and shared by URI and source. This table defines the options that select another source:
///
/// | Option | ``HTTPCache`` | ``Coalescing`` |
/// | --- | --- | --- |
/// | `route`, `proxy`, `addressPolicy`, `security`, of the request | own entries | sent alone |
/// | the same settings of the session | own entries | joined if equal |
/// | the field Host | own entries | joined if equal |
/// | the content of a QUERY, and the fields that describe it | own entries | sent alone |
/// | `cachePartition` | own entries | joined if equal |
/// | a foreign key that affects the response | bypass, or entries of the `cachePartition` | sent alone |
/// | a security policy that cannot be encoded, a proxy that cannot be read | bypass | sent alone |
/// | `engineCredential` | a credential | sent alone |
/// | user information of the URI | a credential | joined if equal |
/// | `secretFields` | credentials | no difference |
/// | all time limits, except `expectContinue` | no difference | joined if equal |
/// | `versionPolicy`, buffer sizes, `rateLimit`, `expectContinue`, `tag` | no difference | sent alone |
/// | a ``SourceKey`` without text, such as that of `onTask` | no difference | sent alone |
/// | `isIdempotent`, and each key that does not affect the response | no difference | no difference |
///
/// "Own entries" means that each value of the setting has its own stored responses. A foreign key is a
/// ``RequestOptions/Key`` of another module. It affects the response unless its ``RequestOptions/Key/affectsResponse``
/// is false. ``HTTPCache/Mode-swift.struct`` defines the treatment of credentials.
///
/// The time limits are `connectTimeout`, `headTimeout`, `idleTimeout`, `totalTimeout`, `attemptTimeout` and
/// `connectionWaitTimeout`; the buffer sizes are `readBufferSize` and `bodyBufferSize`.
package struct ResponseSource: Sendable {
    /// The certainty about the source of a response.
    package enum Knowledge: Sendable {
        case complete
        /// A link of another module may select the source by its option. The caller's partition names the owner of the
        /// response.
        case withPartition
        case none
    }

    /// SHA-256 of the options as text; nil for the usual source, which most requests have.
    private let name: String?
    package let knowledge: Knowledge

    private static let usual = ResponseSource(name: nil, knowledge: .complete)

    /// - Parameter content: The content of a QUERY as text; empty for other requests.
    package static func of(
        _ request: CurlewRequest, _ content: [(name: String, value: String)] = []
    ) -> ResponseSource {
        let hasHost = request.fields.contains(host)
        guard request.options.isAnySet || request.connectionDefaults != nil || hasHost || !content.isEmpty else {
            return usual
        }
        do {
            var words = try words(of: request)
            for (name, value) in content { words.add(name, value) }
            let name = words.text.isEmpty ? nil : try MessageDigest.hash(words.text, by: .sha256)
            return ResponseSource(name: name, knowledge: request.options.hasForeignKeys ? .withPartition : .complete)
        } catch {
            return ResponseSource(name: nil, knowledge: .none)
        }
    }

    private static func words(of request: CurlewRequest) throws -> SourceWords {
        let (options, defaults) = (request.options, request.connectionDefaults)
        var words = SourceWords()
        for field in request.fields where field.name == host { words.add("host", field.value.lowercased()) }
        let route = options.chosenRoute ?? defaults?.route ?? ConnectionRoute()
        if route != ConnectionRoute() { words.add(route) }
        // A connection to a Unix socket uses no proxy.
        if route.unixSocket == nil, let proxies = options.proxy.map(ProxyResolver.init) ?? defaults?.proxies {
            if let proxy = try proxies.proxy(for: request.uri) { words.add(proxy) }
        }
        let policy = options.addressPolicy ?? defaults?.addressPolicy ?? .any
        if policy != .any { words.add(policy) }
        if let text = try options.sourceText() ?? defaults?.securityText, !text.isEmpty { words.add("security", text) }
        return words
    }

    private static let host = HTTPField.Name("Host")!

    /// The store's partition for the caller's partition. For the usual source it is unchanged; otherwise the source's
    /// name precedes it.
    package func partition(_ own: String?) -> String? {
        let mark = "via:"
        guard name != nil || own?.utf8.starts(with: mark.utf8) == true else { return own }
        // The text is unambiguous, as the name contains no semicolon.
        return mark + (name ?? "") + (own.map { ";" + $0 } ?? "")
    }
}

/// The settings of a session that select the source of a response, used where the request has none of its own.
package protocol SourceDefaults: AnyObject, Sendable {
    var route: ConnectionRoute { get }
    var proxies: ProxyResolver { get }
    var addressPolicy: AddressPolicy { get }
    /// The name of the security policy; empty for the usual one.
    var securityText: String { get }
}

/// Words with their lengths, so that different lists have different texts.
private struct SourceWords {
    private(set) var text = ""

    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        text += "\(name)=\(value.utf8.count):\(value);"
    }

    mutating func add(_ route: ConnectionRoute) {
        for override in route.hosts {
            add("resolve", override.host)
            add("port", "\(override.port)")
            for address in override.addresses { add("address", address) }
        }
        for redirection in route.redirections {
            add("connect", redirection.toHost)
            add("port", "\(redirection.toPort)")
            add("for", redirection.host)
            add("for-port", redirection.port.map { "\($0)" })
        }
        add("socket", route.unixSocket)
        add("interface", route.localInterface)
        add("family", route.addressFamily.rawValue)
    }

    mutating func add(_ proxy: Proxy) {
        add("proxy", proxy.description)
        add("user", proxy.user)
        add("password", proxy.password)
        add("authentication", proxy.authentication.rawValue)
        add("authorities", proxy.anchorsPEM)
    }

    mutating func add(_ policy: AddressPolicy) {
        add("addresses", policy.base.rawValue)
        for network in policy.allowed { add("allowed", "\(network)") }
        for network in policy.denied { add("denied", "\(network)") }
        for port in (policy.allowedPorts ?? []).sorted() { add("port", "\(port)") }
        add("ports", "\(policy.allowedPorts != nil) \(policy.allowsUnixSockets) \(policy.requiresHTTPS)")
    }
}

/// The key of an option of Curlew's own that affects the response, or the way it is carried.
protocol SourceKey: RequestOptions.Key, SendableMetatype {
    /// The option as text, if it selects another source; nil for an option that only changes the way a request is
    /// carried.
    /// - Throws: The error of an option that cannot be written as text.
    static func sourceText(_ value: Value) throws -> String?
}

extension SourceKey {
    static func sourceText(_ value: Value) throws -> String? { nil }
}

extension RequestOptions {
    private enum SubstituteKey: Key {
        static let defaultValue: Substitute? = nil
        static let affectsResponse = false
    }

    private struct Substitute {
        let route: ConnectionRoute
        let original: ConnectionRoute?
    }

    /// Sets another route to the same origin. Its responses count as those of the previous route.
    package mutating func substituteRoute(_ route: ConnectionRoute) {
        self[SubstituteKey.self] = Substitute(route: route, original: self.route)
        self.route = route
    }

    /// The route that the caller chose.
    fileprivate var chosenRoute: ConnectionRoute? {
        guard let substitute = self[SubstituteKey.self], substitute.route == route else { return route }
        return substitute.original
    }
}
