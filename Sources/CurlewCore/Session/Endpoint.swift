public import HTTPTypes

/// A call of an API as a value: its argument, its request, and its result. An endpoint is independent of any session.
///
/// ```swift
/// let getUser = Endpoint(.get, as: User.self) { (id: Int) in "users/\(id)" }
/// let create = Endpoint(.post, as: Order.self) { (order: NewOrder) in .init("orders", .json(order)) }
/// let user = try await api.call(getUser, 7)
/// ```
///
/// With links of its own, an endpoint is a chain. Its links run inside those of the session.
///
/// ```swift
/// let birds = Endpoint(.get) { (family: String) in .init("birds", parameters: ["family": family]) } through: {
///     HTTPRequestSerializer().asLink(returning: [Bird].self)
///     JSONResponseSerializer<[Bird]>()
/// }
/// ```
public struct Endpoint<Input: Sendable, Output: Sendable>: Sendable {
    /// The method of the requests.
    public let method: HTTPRequest.Method
    /// The fields of the requests. Fields of a call's own ``HTTPSession/EndpointRequest`` take precedence.
    public var fields: HTTPFields
    /// The options of the requests.
    public var options: RequestOptions
    private let request: @Sendable (Input) throws -> HTTPSession.EndpointRequest
    private let run: @Sendable (HTTPSession, CurlewRequest, CallContent) async throws -> Output

    private init(
        _ method: HTTPRequest.Method, _ fields: HTTPFields, _ options: RequestOptions,
        _ request: @escaping @Sendable (Input) throws -> HTTPSession.EndpointRequest,
        run: @escaping @Sendable (HTTPSession, CurlewRequest, CallContent) async throws -> Output
    ) {
        self.method = method
        self.fields = fields
        self.options = options
        self.request = request
        self.run = run
    }

    /// A call whose response is decoded from JSON, as by `as:` with a type on a verb.
    /// - Parameters:
    ///   - method: The method.
    ///   - type: The type of the decoded response.
    ///   - fields: The fields.
    ///   - options: The options.
    ///   - request: Makes the reference and the content of the request from the argument.
    public init(
        _ method: HTTPRequest.Method, as type: Output.Type, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(),
        _ request: @escaping @Sendable (Input) throws -> HTTPSession.EndpointRequest
    ) where Output: Decodable {
        self.init(method, as: JSONResponseSerializer<Output>.model(type), fields: fields, options: options, request)
    }

    /// A call whose response a serializer turns into a value.
    public init<Serializer: ResponseSerializer>(
        _ method: HTTPRequest.Method, as serializer: Serializer, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(),
        _ request: @escaping @Sendable (Input) throws -> HTTPSession.EndpointRequest
    ) where Serializer.Output == Output {
        self.init(method, fields, options, request) { session, request, content in
            try await serializer.intercept(request) { try await session.send($0, content) }
        }
    }

    /// A call through links that accept a request, the first outermost.
    public init<Links: CurlewMiddleware>(
        _ method: HTTPRequest.Method, fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(),
        _ request: @escaping @Sendable (Input) throws -> HTTPSession.EndpointRequest,
        @ChainBuilder through links: () -> Links
    )
    where
        Links.Input == CurlewRequest, Links.Output == Output, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        let links = links()
        self.init(method, fields, options, request) { session, request, content in
            try await links.intercept(request) { try await session.send($0, content) }
        }
    }

    /// A call through links, the first of which puts the parameters into the request.
    public init<Links: CurlewMiddleware>(
        _ method: HTTPRequest.Method, fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(),
        _ request: @escaping @Sendable (Input) throws -> HTTPSession.EndpointRequest,
        @ChainBuilder through links: () -> Links
    )
    where
        Links.Input == ParameterizedRequest, Links.Output == Output, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        let links = links()
        self.init(method, fields, options, request) { session, request, content in
            try await links.intercept(session.parameterized(request, content)) { try await session.send($0) }
        }
    }

    fileprivate func call(_ session: HTTPSession, _ input: Input) async throws -> Output {
        let made = try request(input)
        var request = CurlewRequest(method, try session.resolve(made.reference), fields: made.fields, options: options)
        for field in fields where made.fields[fields: field.name].isEmpty { request.fields.append(field) }
        session.noteOwnSecrets(of: &request)
        return try await run(session, request, made.content)
    }
}

extension Endpoint where Input == Void {
    /// A call without an argument whose response is decoded from JSON.
    public init(
        _ method: HTTPRequest.Method, as type: Output.Type, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(),
        _ request: @escaping @Sendable () throws -> HTTPSession.EndpointRequest
    ) where Output: Decodable {
        self.init(method, as: type, fields: fields, options: options) { (_: Void) in try request() }
    }
}

extension HTTPSession {
    /// The reference and the content of a request that an ``Endpoint`` makes of its argument. Without content, a string
    /// literal suffices: `"users/\(id)"`.
    public struct EndpointRequest: Sendable, ExpressibleByStringInterpolation {
        let reference: URIReference
        let fields: HTTPFields
        let content: CallContent

        /// Makes the request of an endpoint. The parameters are those of the verbs.
        public init(
            _ reference: URIReference, _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
            fields: HTTPFields = HTTPFields()
        ) {
            self.reference = reference
            self.fields = fields
            self.content = CallContent(content, query: query)
        }

        /// Makes the request of an endpoint with parameters. The parameters are those of the verbs.
        public init(
            _ reference: URIReference, parameters: RequestParameters,
            encoding: RequestParameters.Encoding = .automatic, query: RequestParameters = .none,
            fields: HTTPFields = HTTPFields()
        ) {
            self.reference = reference
            self.fields = fields
            content = CallContent(parameters, encoding, query: query)
        }

        public init(stringLiteral value: String) { self.init(URIReference(stringLiteral: value)) }

        public init(stringInterpolation: URIReference.StringInterpolation) {
            self.init(URIReference(stringInterpolation: stringInterpolation))
        }
    }

    /// Makes the call of an endpoint.
    /// - Throws: ``CurlewError``. An error of the closure that makes the request, or of a link of the endpoint, is the
    ///   ``CurlewError/underlying`` of an ``ErrorCode/foreignFailure``.
    public func call<Input, Output>(_ endpoint: Endpoint<Input, Output>, _ input: Input) async throws -> Output {
        do {
            return try await endpoint.call(self, input)
        } catch {
            throw CurlewError(wrapping: error)
        }
    }

    /// Makes the call of an endpoint with two arguments.
    public func call<First, Second, Output>(
        _ endpoint: Endpoint<(First, Second), Output>, _ first: First, _ second: Second
    ) async throws -> Output { try await call(endpoint, (first, second)) }

    /// Makes the call of an endpoint with three arguments.
    public func call<First, Second, Third, Output>(
        _ endpoint: Endpoint<(First, Second, Third), Output>, _ first: First, _ second: Second, _ third: Third
    ) async throws -> Output { try await call(endpoint, (first, second, third)) }

    /// Makes the call of an endpoint without an argument.
    public func call<Output>(_ endpoint: Endpoint<Void, Output>) async throws -> Output {
        do {
            return try await endpoint.call(self, ())
        } catch {
            throw CurlewError(wrapping: error)
        }
    }
}
