public import HTTPTypes

/// The client: a base URL, fields for every request, a chain of links, and the session that carries it.
///
/// It is a value; a copy shares connections and tasks with the original.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/v1/") { RequestID() }
/// let user = try await api.get("users/7", as: User.self)
/// ```
public struct HTTPSession: Sendable {
    typealias Call = @Sendable (CurlewRequest, Next<CurlewRequest, CurlewResponse>) async throws -> CurlewResponse

    /// What relative references are read against; its path ends in a slash.
    public let baseURL: CurlewURI?
    /// Fields for every request that does not have them itself.
    public var defaultFields: HTTPFields
    /// What puts parameters into requests, unless a call brings its own: queries and forms as AFNetworking writes them.
    public var requestSerializer: any RequestSerializer = HTTPRequestSerializer()
    /// What carries the requests.
    public let transport: any Transport
    private let chain: Call?
    private let limits: CurlewResponse.Limits
    /// What waits for the network over a transport that is no session; a session waits by itself.
    let connectivity: SessionConnectivity?

    /// Makes a client with a session of its own and no links.
    /// - Parameters:
    ///   - baseURL: What relative references are read against. A slash is added to its path if it lacks one.
    ///   - configuration: How the session works.
    ///   - defaultFields: Fields for every request that does not have them itself.
    ///   - eventLoops: The loops to run on; none means ``CurlewEventLoop/shared``.
    /// - Throws: ``CurlewError`` for a URL that cannot be read or a configuration that cannot be used, such as a policy with
    ///   pins and a base URL that is not https.
    public init(
        baseURL: String? = nil,
        configuration: SessionConfiguration = SessionConfiguration(),
        defaultFields: HTTPFields = HTTPFields(),
        eventLoops: [CurlewEventLoop] = []
    ) throws {
        self.baseURL = try baseURL.map { try CurlewURI($0).asBase() }
        try configuration.security.checkBase(self.baseURL)
        self.defaultFields = defaultFields
        transport = try SessionActor(configuration: configuration, eventLoops: eventLoops)
        limits = configuration.limits
        connectivity = nil
        chain = nil
    }

    /// Makes a client with a session of its own and a chain of links.
    public init<Links: CurlewMiddleware>(
        baseURL: String? = nil,
        configuration: SessionConfiguration = SessionConfiguration(),
        defaultFields: HTTPFields = HTTPFields(),
        eventLoops: [CurlewEventLoop] = [],
        @ChainBuilder _ links: () throws -> Links
    ) throws
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        let actor = try SessionActor(configuration: configuration, eventLoops: eventLoops)
        try self.init(
            baseURL: baseURL, transport: actor, defaultFields: defaultFields, limits: configuration.limits, links)
    }

    /// Makes a client over any transport: a session shared with others, or a stub.
    public init<Links: CurlewMiddleware>(
        baseURL: String? = nil,
        transport: any Transport,
        defaultFields: HTTPFields = HTTPFields(),
        limits: CurlewResponse.Limits = CurlewResponse.Limits(),
        @ChainBuilder _ links: () throws -> Links
    ) throws
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        self.baseURL = try baseURL.map { try CurlewURI($0).asBase() }
        try (transport as? SessionActor)?.configuration.security.checkBase(self.baseURL)
        self.defaultFields = defaultFields
        self.transport = transport
        self.limits = limits
        connectivity = transport is SessionActor ? nil : SessionConnectivity()
        let links = try links()
        chain = { request, next in try await links.intercept(request, next: next) }
    }

    /// The session beneath, if it is one and not a stub.
    public var session: SessionActor? { transport as? SessionActor }

    /// The absolute URI that `reference` stands for: relative to the base as RFC 3986 §5.2 has it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL``; also for a relative reference without a base.
    public func resolve(_ reference: String) throws -> CurlewURI {
        guard let baseURL else { return try CurlewURI(reference).removingDotSegments() }
        return try baseURL.resolving(reference)
    }

    /// Sends a request through the chain and waits for the head of its response.
    public func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        guard defaultFields.isEmpty, request.options.onResponse == nil, !request.body.isFile else {
            return try await sendCompleted(request)
        }
        return try await pass(request)
    }

    /// Sends a request that has to be changed before.
    private func sendCompleted(_ request: CurlewRequest) async throws -> CurlewResponse {
        var request = request
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
        var response: CurlewResponse
        do {
            if let chain {
                response = try await chain(request) { try await carry($0) }
            } else if connectivity == nil {
                response = try await transport.send(request)
            } else {
                response = try await carry(request)
            }
        } catch let error as CancellationError {
            // From a link, a closure or a transport of the user's.
            throw CurlewError(error, context: CurlewError.Context(method: request.method, uri: request.uri))
        }
        response.collectLimit = limits.collectedBody
        return response
    }

    /// Sends a request that has come through the chain.
    private func carry(_ request: CurlewRequest) async throws -> CurlewResponse {
        guard let connectivity, let limit = request.options.connectivityTimeout else {
            return try await transport.send(request)
        }
        return try await connectivity.send(request, waitingFor: limit, defaults: (ConnectionRoute(), .none)) {
            request in
            try await transport.send(request)
        }
    }

    /// Sends a request made from its parts.
    /// - Parameters:
    ///   - method: The method.
    ///   - reference: The URL, absolute or relative to ``baseURL``.
    ///   - body: The body.
    ///   - fields: Fields of this call; they replace defaults of the same name.
    ///   - options: Options of this call; what is nil is the session's.
    public func send(
        _ method: HTTPRequest.Method,
        _ reference: String,
        body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(CurlewRequest(method, try resolve(reference), fields: fields, body: body, options: options))
    }

    /// Looks at the file once for the whole call, so that every sending of it is of the same file.
    private func watchFile(of request: inout CurlewRequest) throws {
        do {
            request.body = try request.body.watchingFile()
        } catch let error as CurlewError {
            throw error.adding(CurlewError.Context(method: request.method, uri: request.uri))
        }
    }

    func addDefaultFields(to request: inout CurlewRequest) {
        let own = request.fields
        for field in defaultFields where own[fields: field.name].isEmpty { request.fields.append(field) }
    }

    /// Takes no more tasks, waits for those under way, and closes every connection.
    /// - Parameter deadline: After so long, what is left is cancelled. nil waits as long as it takes.
    public func shutdown(deadline: Duration? = nil) async {
        connectivity?.endWaits()
        await session?.shutdown(deadline: deadline)
    }
}
