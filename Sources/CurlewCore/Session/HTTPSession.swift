public import HTTPTypes

/// The client: a base URL, fields for every request, a chain of middleware (*links*), and the session that sends the
/// requests.
///
/// `HTTPSession` is a value; a copy shares connections and tasks with the original.
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
/// Secrets in the default fields, and secrets that links add, are for the origin of ``baseURL``. They are removed from
/// a request that goes to another origin, by an absolute URL or by a redirect (``secretScope``). Fields that the caller
/// set on the request itself stay. Cookies of a jar and answers to challenges stay too, because they know their own
/// origin.
public struct HTTPSession: Sendable {
    typealias Call = @Sendable (CurlewRequest, Next<CurlewRequest, CurlewResponse>) async throws -> CurlewResponse

    /// The base of relative references. Its path ends in a slash.
    public let baseURL: CurlewURI?
    /// Fields for every request that does not set them itself.
    public var defaultFields: HTTPFields
    /// The serializer that puts parameters into requests, unless a call has its own. The default writes queries and
    /// forms as AFNetworking does.
    public var requestSerializer: any RequestSerializer = HTTPRequestSerializer()
    /// The origins besides that of the base URL to which secrets of the session are sent.
    public var secretScope = SecretScope.baseOrigin {
        didSet { end = End(end.link.with(SecretHome(base: baseURL, scope: secretScope))) }
    }
    /// The dialect of JSON: of contents by `.json`, of values by `as:`, of error bodies, events and lines.
    public var json: JSONCoding {
        didSet { responseDefaults = ResponseDefaults(collectLimit: limits.collectedBody, json: json) }
    }
    private let chain: Chain
    private let limits: CurlewResponse.Limits
    private var responseDefaults: ResponseDefaults
    private var end: End

    /// The end of the chain, and the closure by which links call it. Both are made once, not for each call.
    private struct End {
        let link: ChainEnd
        let next: Next<CurlewRequest, CurlewResponse>

        init(_ link: ChainEnd) {
            self.link = link
            next = { try await link.send($0) }
        }
    }

    /// The links before the end of the chain.
    private enum Chain {
        case none
        /// The standard chain alone. A closure around it would keep a frame for each call that waits.
        case standard(StandardChain)
        case links(Call)
    }

    /// Makes a client with a new session.
    /// - Parameters:
    ///   - baseURL: The base of relative references. A slash is added to its path if it lacks one.
    ///   - configuration: The configuration of the session.
    ///   - defaultFields: Fields for every request that does not set them itself.
    ///   - credential: The credential of every request to the origin of the base URL that has no Authorization of its
    ///     own: Bearer for a token, Basic for a password. It needs a base URL. It is sent before a server asks:
    ///     ``ChallengeAuthentication`` and ``CredentialRenewal`` do not act on requests with it.
    ///   - json: The dialect of JSON.
    ///   - eventLoops: The loops to run on; an empty array means ``CurlewEventLoop/shared``.
    ///   - chain: The options of the ``StandardChain``. `.bare` omits it, for gateways that pass messages on unchanged:
    ///     no content decoding, no redirects, no retry.
    ///   - links: The links around the standard chain, the first outermost. Some links belong inside it, such as
    ///     ``CredentialRenewal`` and ``Hedging``; for them, write ``StandardChain`` among the links. `chain` is then
    ///     ignored.
    /// - Throws: ``CurlewError`` for a URL that cannot be parsed or a configuration that cannot be used, such as a
    ///   policy with pins and a base URL that is not https.
    public init<Links: CurlewMiddleware>(
        baseURL: String? = nil,
        configuration: SessionConfiguration = SessionConfiguration(),
        defaultFields: HTTPFields = HTTPFields(),
        credential: Credential? = nil,
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
            baseURL: baseURL, transport: actor, defaultFields: defaultFields, credential: credential, json: json,
            limits: configuration.limits, chain: chain, links)
    }

    /// Makes a client over any transport: a session shared with others, or a stub.
    /// - Parameters:
    ///   - baseURL: The base of relative references. A slash is added to its path if it lacks one.
    ///   - transport: The transport of the requests.
    ///   - defaultFields: Fields for every request that does not set them itself.
    ///   - credential: The credential of every request to the origin of the base URL that has no Authorization of its
    ///     own: Bearer for a token, Basic for a password. It needs a base URL. It is sent before a server asks:
    ///     ``ChallengeAuthentication`` and ``CredentialRenewal`` do not act on requests with it.
    ///   - json: The dialect of JSON.
    ///   - limits: Bounds on the collected body of a response.
    ///   - chain: The options of the ``StandardChain``; `.bare` omits it.
    ///   - links: The links around the standard chain, the first outermost.
    public init<Links: CurlewMiddleware>(
        baseURL: String? = nil,
        transport: any Transport,
        defaultFields: HTTPFields = HTTPFields(),
        credential: Credential? = nil,
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
        if let credential {
            guard self.baseURL != nil else {
                throw CurlewError(.invalidRequest, "a credential of a session needs a base URL, whose origin it is for")
            }
            self.defaultFields[.authorization] = try credential.preemptiveValue
        }
        self.json = json
        self.limits = limits
        responseDefaults = ResponseDefaults(collectLimit: limits.collectedBody, json: json)
        end = End(ChainEnd(transport, home: SecretHome(base: self.baseURL)))
        let links = try links()
        (transport as? SessionActor)?.publishTransitions(of: links)
        self.chain = Self.chain(of: links, around: chain.map { StandardChain($0) })
    }

    private static func chain<Links: CurlewMiddleware>(of links: Links, around standard: StandardChain?) -> Chain
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        // A standard chain among the links replaces the default one.
        let standard = links.contains(StandardChain.self) ? nil : standard
        let hasLinks = !(links is ChainBuilder.Empty<CurlewRequest, CurlewResponse>)
        switch (hasLinks, standard) {
        case (false, nil): return .none
        case (false, .some(let standard)): return .standard(standard)
        case (true, nil): return .links { try await links.intercept($0, next: $1) }
        case (true, .some(let standard)):
            return .links { request, next in
                try await links.intercept(request) { try await standard.intercept($0, next: next) }
            }
        }
    }

    /// The transport that carries the requests.
    public var transport: any Transport { end.link.transport }
    /// The session of the transport; nil if the transport is a stub or another transport.
    public var session: SessionActor? { end.link.session }
    var connectivity: SessionConnectivity { end.link.connectivity }

    /// The absolute URI of a reference, resolved against the base by RFC 3986 §5.2.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL``; also for a relative reference without a base.
    public func resolve(_ reference: URIReference) throws -> CurlewURI { try reference.resolved(against: baseURL) }

    /// Sends a request through the chain and waits for the head of its response.
    /// - Throws: ``CurlewError``. An error of a link or of another transport is the ``CurlewError/underlying`` of an
    ///   ``ErrorCode/foreignFailure``; a `CancellationError` becomes ``ErrorCode/cancelled``.
    public func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        var request = request
        // `onResponse` is called once, here, with the response of the chain; the transport does not call it.
        let decide = request.options.onResponse
        try complete(&request)
        var response: CurlewResponse
        do {
            switch chain {
            case .none: response = try await end.link.send(request)
            case .standard(let standard): response = try await standard.send(&request, next: end.next)
            case .links(let call): response = try await call(request, end.next)
            }
        } catch {
            throw CurlewError(wrapping: error, request)
        }
        response.defaults = responseDefaults
        guard let decide else { return response }
        do { return try await response.disposed(by: decide) } catch { throw CurlewError(wrapping: error, request) }
    }

    /// Adds the defaults of the session, and records the settings of the call. Most requests need no change.
    private func complete(_ request: inout CurlewRequest) throws {
        if let defaults = end.link.connectionDefaults { request.connectionDefaults = defaults }
        noteOwnSecrets(of: &request)
        addDefaultFields(to: &request)
        if request.options.isAnySet {
            if request.options.onResponse != nil { request.options.onResponse = nil }
            request.addIdempotencyKey()
            request.options.dropDeadline()
        }
        if let scope = CallScope.current { try scope.limit(&request) }
        if request.body.isFile { try watchFile(of: &request) }
    }

    /// Records the secrets that the caller set on a request to an origin outside the secret scope. It must run before
    /// anything else adds a field.
    func noteOwnSecrets(of request: inout CurlewRequest) {
        if !end.link.home.contains(request) { request.grantOwnSecrets() }
    }

    /// Records the state of the file once for the call, so that every attempt sends the same file.
    private func watchFile(of request: inout CurlewRequest) throws {
        do {
            request.body = try request.body.watchingFile()
        } catch {
            throw CurlewError(wrapping: error).adding(request)
        }
    }

    func addDefaultFields(to request: inout CurlewRequest) {
        guard !defaultFields.isEmpty else { return }
        let own = request.fields
        let isAtHome = end.link.home.contains(request)
        for field in defaultFields where own[fields: field.name].isEmpty && (isAtHome || !request.isSecret(field.name))
        {
            request.fields.append(field)
        }
    }

    /// Rejects new tasks, waits for the running ones, and closes every connection. With a transport that is not a
    /// session it only ends the waits for the network.
    /// - Parameter deadline: The time after which the remaining tasks are cancelled. nil waits without a limit.
    public func shutdown(deadline: Duration? = nil) async {
        if session == nil { connectivity.endWaits() }
        await session?.shutdown(deadline: deadline)
    }
}

extension HTTPSession: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The origin of the base: `HTTPSession(https://api.example.com:443)`. Fields and user information are omitted,
    /// because they may be secret.
    public var description: String { "HTTPSession(\(baseURL?.origin ?? "any origin"))" }
    public var debugDescription: String { description }
    /// The origin alone, so that `dump` shows no secret of a client or of a value that contains a client.
    public var customMirror: Mirror { Mirror(self, children: ["origin": baseURL?.origin as Any]) }
}

extension Optional where Wrapped == StandardChain.Options {
    /// No standard chain: contents are not decoded, redirects not followed, requests not retried. For gateways that
    /// pass messages on unchanged.
    public static var bare: StandardChain.Options? { nil }
}

extension HTTPSession {
    /// The origins that receive the secrets of a session: its default fields and fields that its links add, such as a
    /// bearer token.
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
        /// Every origin, including targets of redirects. Only ``Redirects`` removes secrets then.
        public static let anyOrigin = SecretScope(kind: .any)

        func contains(_ uri: CurlewURI, base: CurlewURI) -> Bool {
            if kind == .any || uri.begins(like: base) || uri.hasSameOrigin(as: base) { return true }
            guard case .origins(let origins) = kind else { return false }
            return origins.contains(uri.origin)
        }
    }
}
