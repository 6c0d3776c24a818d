public import HTTPTypes

/// The client: a base URL, fields for every request, a chain of links, and the session that carries it.
///
/// It is a value; a copy shares connections and tasks with the original.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/v1/", json: JSONCoding(keys: .snakeCase)) {
///     BearerToken(token)
/// }
/// let user = try await api.get("users/\(id)", as: User.self)
/// ```
///
/// ## Secrets
///
/// What is secret of a default field or of a link's is for the origin of ``baseURL``: where a request goes to another origin, be
/// it by an absolute URL or by a redirect, such fields are taken off before it leaves (``secretScope``). Those that the caller set
/// on the very request stay, and so do the cookies of a jar and the answers to challenges, which know their own origin.
public struct HTTPSession: Sendable {
    typealias Call = @Sendable (CurlewRequest, Next<CurlewRequest, CurlewResponse>) async throws -> CurlewResponse

    /// The URL that relative references are read against; its path ends in a slash.
    public let baseURL: CurlewURI?
    /// Fields for every request that does not have them itself.
    public var defaultFields: HTTPFields
    /// The serializer that puts parameters into requests, unless a call brings its own: queries and forms as AFNetworking writes
    /// them.
    public var requestSerializer: any RequestSerializer = HTTPRequestSerializer()
    /// The origins beside the base's that get secrets which are not theirs.
    public var secretScope = SecretScope.baseOrigin
    /// The dialect of JSON: what `json:` writes and `as:` reads, error bodies, events and lines.
    public var json: JSONCoding {
        didSet { responseDefaults = ResponseDefaults(collectLimit: limits.collectedBody, json: json) }
    }
    /// The transport that carries the requests.
    public let transport: any Transport
    private let chain: Call?
    private let limits: CurlewResponse.Limits
    private var responseDefaults: ResponseDefaults
    /// What the session says of connections, unless that is nothing.
    private let connectionDefaults: ConnectionDefaults?
    /// What waits for the network over a transport that is no session; a session waits by itself.
    let connectivity: SessionConnectivity?

    /// Makes a client with a session of its own.
    /// - Parameters:
    ///   - baseURL: What relative references are read against. A slash is added to its path if it lacks one.
    ///   - configuration: How the session works.
    ///   - defaultFields: Fields for every request that does not have them itself.
    ///   - json: The dialect of JSON.
    ///   - eventLoops: The loops to run on; none means ``CurlewEventLoop/shared``.
    ///   - chain: What the ``StandardChain`` does. `.bare` leaves it out, for gateways that hand on what comes: no content
    ///     decoding, no redirects, no retry.
    ///   - links: Links around the standard chain, the first outermost. Where some belong inside it, such as
    ///     ``CredentialRenewal`` and ``Hedging``, ``StandardChain`` is written among them, and `chain` does not count.
    /// - Throws: ``CurlewError`` for a URL that cannot be read or a configuration that cannot be used, such as a policy with
    ///   pins and a base URL that is not https.
    public init<Links: CurlewMiddleware>(
        baseURL: String? = nil,
        configuration: SessionConfiguration = SessionConfiguration(),
        defaultFields: HTTPFields = HTTPFields(),
        json: JSONCoding = JSONCoding(),
        eventLoops: [CurlewEventLoop] = [],
        chain: StandardChain.Options? = StandardChain.Options(),
        @ChainBuilder _ links: () throws -> Links = { ChainBuilder.Empty<CurlewRequest, CurlewResponse>() }
    ) throws
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        let actor = try SessionActor(configuration: configuration, eventLoops: eventLoops)
        try self.init(
            baseURL: baseURL, transport: actor, defaultFields: defaultFields, json: json,
            limits: configuration.limits, chain: chain, links)
    }

    /// Makes a client over any transport: a session shared with others, or a stub.
    /// - Parameters:
    ///   - baseURL: What relative references are read against. A slash is added to its path if it lacks one.
    ///   - transport: What carries the requests.
    ///   - defaultFields: Fields for every request that does not have them itself.
    ///   - json: The dialect of JSON.
    ///   - limits: Bounds on what is collected of a response.
    ///   - chain: What the ``StandardChain`` does; `.bare` leaves it out.
    ///   - links: Links around the standard chain, the first outermost.
    public init<Links: CurlewMiddleware>(
        baseURL: String? = nil,
        transport: any Transport,
        defaultFields: HTTPFields = HTTPFields(),
        json: JSONCoding = JSONCoding(),
        limits: CurlewResponse.Limits = CurlewResponse.Limits(),
        chain: StandardChain.Options? = StandardChain.Options(),
        @ChainBuilder _ links: () throws -> Links = { ChainBuilder.Empty<CurlewRequest, CurlewResponse>() }
    ) throws
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        self.baseURL = try baseURL.map { try CurlewURI($0).asBase() }
        try (transport as? SessionActor)?.configuration.security.checkBase(self.baseURL)
        self.defaultFields = defaultFields
        self.json = json
        self.transport = transport
        self.limits = limits
        responseDefaults = ResponseDefaults(collectLimit: limits.collectedBody, json: json)
        connectivity = transport is SessionActor ? nil : SessionConnectivity()
        connectionDefaults = (transport as? SessionActor).flatMap { session in
            let configuration = session.configuration
            return ConnectionDefaults(
                route: configuration.route, proxy: configuration.proxy, addressPolicy: configuration.addressPolicy,
                security: configuration.security)
        }
        let links = try links()
        (transport as? SessionActor)?.publishTransitions(of: links)
        self.chain = Self.call(through: links, around: chain.map { StandardChain($0) })
    }

    private static func call<Links: CurlewMiddleware>(through links: Links, around standard: StandardChain?) -> Call?
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        // Whoever writes the standard chain among the links has said where it stands.
        let standard = links.contains(StandardChain.self) ? nil : standard
        let hasLinks = !(links is ChainBuilder.Empty<CurlewRequest, CurlewResponse>)
        switch (hasLinks, standard) {
        case (false, nil): return nil
        case (false, .some(let standard)): return { try await standard.intercept($0, next: $1) }
        case (true, nil): return { try await links.intercept($0, next: $1) }
        case (true, .some(let standard)):
            return { request, next in
                try await links.intercept(request) { try await standard.intercept($0, next: next) }
            }
        }
    }

    /// The session beneath, if it is one and not a stub.
    public var session: SessionActor? { transport as? SessionActor }

    /// The absolute URI that a reference stands for: relative to the base as RFC 3986 §5.2 has it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL``; also for a relative reference without a base.
    public func resolve(_ reference: URIReference) throws -> CurlewURI { try reference.resolved(against: baseURL) }

    /// Sends a request through the chain and waits for the head of its response.
    public func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        guard defaultFields.isEmpty, request.options.onResponse == nil, !request.body.isFile, isAtHome(request) else {
            return try await sendCompleted(request)
        }
        return try await pass(request)
    }

    /// Sends a request that has to be changed before.
    private func sendCompleted(_ request: CurlewRequest) async throws -> CurlewResponse {
        var request = notingOwnSecrets(of: request)
        addDefaultFields(to: &request)
        // Asked here and not at the transport: about what the chain brings, once.
        let decide = request.options.onResponse
        request.options.onResponse = nil
        if request.body.isFile { try watchFile(of: &request) }
        let response = try await pass(request)
        guard let decide else { return response }
        return try await response.disposed(by: decide)
    }

    private func pass(_ request: CurlewRequest) async throws -> CurlewResponse {
        var request = request
        if let connectionDefaults { request.connectionDefaults = connectionDefaults }
        var response: CurlewResponse
        do {
            if let chain {
                response = try await chain(request) { try await carry($0) }
            } else {
                response = try await carry(request)
            }
        } catch let error as CancellationError {
            // From a link, a closure or a transport of the user's.
            throw CurlewError(error, of: request)
        }
        response.defaults = responseDefaults
        return response
    }

    /// Sends a request that has come through the chain.
    private func carry(_ request: CurlewRequest) async throws -> CurlewResponse {
        if request.options.isAnySet, let dispatch = request.options.dispatch {
            return try await carry(request, by: dispatch)
        }
        guard isAtHome(request) else { return try await transfer(request.withoutForeignSecrets()) }
        return try await transfer(request)
    }

    // Not inlined, as below.
    @inline(never)
    private func carry(_ request: CurlewRequest, by dispatch: any RequestDispatch) async throws -> CurlewResponse {
        var request = isAtHome(request) ? request : request.withoutForeignSecrets()
        request.options.dispatch = nil
        return try await dispatch.dispatch(request, over: session.map { ObjectIdentifier($0) }) { request in
            try await transfer(request)
        }
    }

    private func transfer(_ request: CurlewRequest) async throws -> CurlewResponse {
        guard request.observers.isEmpty else { return try await observed(request) }
        // Not by `unobserved`, which would be one more frame for each call.
        guard let connectivity else { return try await transport.send(request) }
        return try await transfer(request, by: connectivity)
    }

    // Not inlined, as below.
    @inline(never)
    private func observed(_ request: CurlewRequest) async throws -> CurlewResponse {
        var request = request
        var attempts: [any AttemptObserver] = []
        for observer in request.observers {
            if let attempt = observer.willSend(&request, over: transport) { attempts.append(attempt) }
        }
        if !attempts.isEmpty { request.attemptObservers += attempts }
        let result: Result<CurlewResponse, any Error>
        do { result = .success(try await unobserved(request)) } catch { result = .failure(error) }
        for attempt in attempts { attempt.answered(request, result) }
        return try result.get()
    }

    private func unobserved(_ request: CurlewRequest) async throws -> CurlewResponse {
        guard let connectivity else { return try await transport.send(request) }
        return try await transfer(request, by: connectivity)
    }

    /// Sends a request over a transport that is no session, and notes it in the response: nobody else knows it.
    @inline(never)
    private func transfer(_ request: CurlewRequest, by connectivity: SessionConnectivity) async throws -> CurlewResponse
    {
        var response =
            if let limit = request.options.connectivityTimeout {
                try await transfer(request, waitingFor: limit, by: connectivity)
            } else {
                try await transport.send(request)
            }
        if response.exchange == nil { response.sentRequest = request }
        return response
    }

    // Not inlined: every call would keep room for it in its frame while it waits.
    @inline(never)
    private func transfer(
        _ request: CurlewRequest, waitingFor limit: Duration, by connectivity: SessionConnectivity
    ) async throws -> CurlewResponse {
        try await connectivity.send(request, waitingFor: limit, defaults: (ConnectionRoute(), .none)) { request in
            try await transport.send(request)
        }
    }

    /// True if a request may carry the secrets of the session: it goes to the origin of the base, or one that is allowed.
    private func isAtHome(_ request: CurlewRequest) -> Bool {
        guard let baseURL else { return true }
        if secretScope.contains(request.uri, base: baseURL) { return true }
        return isAtHome(request.uriBeforeUpgrade, base: baseURL)
    }

    /// What may go to an origin of http may go to the same host by https.
    private func isAtHome(_ uriBeforeUpgrade: CurlewURI?, base: CurlewURI) -> Bool {
        uriBeforeUpgrade.map { secretScope.contains($0, base: base) } ?? false
    }

    /// The request with a note of the secrets that the caller has given it, if it goes where the session's may not: to be taken before
    /// anybody else adds a field.
    func notingOwnSecrets(of request: CurlewRequest) -> CurlewRequest {
        guard !isAtHome(request) else { return request }
        var request = request
        request.grantOwnSecrets()
        return request
    }

    /// Looks at the file once for the whole call, so that every sending of it is of the same file.
    private func watchFile(of request: inout CurlewRequest) throws {
        do {
            request.body = try request.body.watchingFile()
        } catch let error as CurlewError {
            throw error.adding(request)
        }
    }

    func addDefaultFields(to request: inout CurlewRequest) {
        let own = request.fields
        let isAtHome = isAtHome(request)
        for field in defaultFields where own[fields: field.name].isEmpty && (isAtHome || !request.isSecret(field.name))
        {
            request.fields.append(field)
        }
    }

    /// Takes no more tasks, waits for those under way, and closes every connection. Over a transport that is no session it ends
    /// the waits for the network alone.
    /// - Parameter deadline: After so long, what is left is cancelled. nil waits as long as it takes.
    public func shutdown(deadline: Duration? = nil) async {
        connectivity?.endWaits()
        await session?.shutdown(deadline: deadline)
    }
}

extension HTTPSession: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The origin of the base: `HTTPSession(https://api.example.com:443)`. Fields and user information may be secret.
    public var description: String { "HTTPSession(\(baseURL?.origin ?? "any origin"))" }
    public var debugDescription: String { description }
    /// The origin alone, so that `dump` shows no secret of a client, nor of what has one.
    public var customMirror: Mirror { Mirror(self, children: ["origin": baseURL?.origin as Any]) }
}

extension Optional where Wrapped == StandardChain.Options {
    /// No standard chain: nothing is decoded, no redirect followed, nothing sent again. For gateways that hand on what comes.
    public static var bare: StandardChain.Options? { nil }
}

extension HTTPSession {
    /// The origins that secrets of a session go to: its default fields and what its links add, such as a bearer token.
    public struct SecretScope: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case base
            case origins(Set<String>)
            case any
        }

        let kind: Kind

        /// The origin of the base URL alone. The default.
        public static let baseOrigin = SecretScope(kind: .base)
        /// The origin of the base URL and those of other URLs.
        public static func origins(_ uris: [CurlewURI]) -> SecretScope {
            SecretScope(kind: .origins(Set(uris.map(\.origin))))
        }
        /// Every origin, those that a server's redirect names among them: nothing is taken off but what ``Redirects`` does.
        public static let anyOrigin = SecretScope(kind: .any)

        func contains(_ uri: CurlewURI, base: CurlewURI) -> Bool {
            if kind == .any || uri.begins(like: base) || uri.hasSameOrigin(as: base) { return true }
            guard case .origins(let origins) = kind else { return false }
            return origins.contains(uri.origin)
        }
    }
}
