internal import HTTPTypes

/// The source that a request gets its response from, apart from its URI: the connection that its options ask for.
///
/// A response is stored and shared by URI and source. This is the one place that says which options make another source:
///
/// | option | ``HTTPCache`` | ``Coalescing`` |
/// | --- | --- | --- |
/// | `route`, `proxy`, `addressPolicy`, `security`, of the request or else of its session | entries of their own | the request goes alone |
/// | the field Host | entries of their own | joins requests with the same one |
/// | the content of a QUERY, and the fields that speak of it | entries of their own | the request goes alone |
/// | `cachePartition` | entries of their own | joins requests of the partition |
/// | a ``RequestOptions/Key`` of another module that affects the response | bypass; with a `cachePartition`, entries of the partition | the request goes alone |
/// | a security policy that cannot be encoded, a proxy that cannot be read | bypass | the request goes alone |
/// | `engineCredential` | a credential, as ``HTTPCache/Mode-swift.struct`` has it | the request goes alone |
/// | user information of the URI | a credential | joins requests with the same one |
/// | `secretFields` | credentials | no difference |
/// | `connectTimeout`, `headTimeout`, `idleTimeout`, `totalTimeout`, `connectionWaitTimeout` | no difference | joins requests with the same ones |
/// | `versionPolicy`, `readBufferSize`, `bodyBufferSize`, `rateLimit`, `expectContinue`, `tag` | no difference | the request goes alone |
/// | a ``SourceKey`` without words, such as that of `onTask` | no difference | the request goes alone |
/// | `isIdempotent`, and each key whose ``RequestOptions/Key/affectsResponse`` is false | no difference | no difference |
struct ResponseSource: Sendable {
    /// The knowledge of what answers.
    enum Knowledge: Sendable {
        case complete
        /// A link of another module may choose by its option. The caller's partition says for whom.
        case withPartition
        case none
    }

    /// SHA-256 of the options in words; nil for the usual source, as of most requests.
    private let name: String?
    let knowledge: Knowledge

    private static let usual = ResponseSource(name: nil, knowledge: .complete)

    /// - Parameter content: The content of a QUERY in words; empty for other requests.
    static func of(_ request: CurlewRequest, _ content: [(name: String, value: String)] = []) -> ResponseSource {
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
        // A Unix socket is connected to without a proxy.
        if route.unixSocket == nil, let proxies = options.proxy.map(ProxyResolver.init) ?? defaults?.proxies {
            if let proxy = try proxies.proxy(for: request.uri) { words.add(proxy) }
        }
        let policy = options.addressPolicy ?? defaults?.addressPolicy ?? .any
        if policy != .any { words.add(policy) }
        if let text = try options.sourceText() ?? defaults?.securityText, !text.isEmpty { words.add("security", text) }
        return words
    }

    private static let host = HTTPField.Name("Host")!

    /// The partition of a store for the caller's partition: that itself for the usual source, else one behind the name of the source.
    func partition(_ own: String?) -> String? {
        let mark = "via:"
        guard name != nil || own?.utf8.starts(with: mark.utf8) == true else { return own }
        // No two pairs of a source and a partition have one text: the name has no semicolon.
        return mark + (name ?? "") + (own.map { ";" + $0 } ?? "")
    }
}

/// The settings of a session that choose the source of a response, where the request has none of its own.
protocol SourceDefaults: AnyObject, Sendable {
    var route: ConnectionRoute { get }
    var proxies: ProxyResolver { get }
    var addressPolicy: AddressPolicy { get }
    /// A name of the security policy; empty for the usual one.
    var securityText: String { get }
}

/// Words with their lengths, so that no two lists of them make one text.
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

/// The key of an option of Curlew's own that affects the response, or how it is carried.
protocol SourceKey: RequestOptions.Key, SendableMetatype {
    /// The option in words, if it makes another source; nil for one that only changes how a request is carried.
    /// - Throws: What keeps it from being put into words.
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

    /// Sets a route that leads to the same origin by another way, so that its responses count as those of the route before.
    mutating func substituteRoute(_ route: ConnectionRoute) {
        self[SubstituteKey.self] = Substitute(route: route, original: self.route)
        self.route = route
    }

    /// The route as the caller chose it.
    fileprivate var chosenRoute: ConnectionRoute? {
        guard let substitute = self[SubstituteKey.self], substitute.route == route else { return route }
        return substitute.original
    }
}
