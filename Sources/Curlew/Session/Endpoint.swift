public import HTTPTypes

/// One call of an API as a value: method, reference and chain are fixed, the argument is given when it is called.
///
/// ```swift
/// let user = api.endpoint(.get, "users/7") {
///     RequestID()
///     JSONResponseSerializer<User>()
/// }
/// print(try await user())
/// ```
///
/// The links of the session's own chain stand around each request that the endpoint's chain sends.
public struct Endpoint<Input: Sendable, Output: Sendable>: Sendable {
    let session: HTTPSession
    /// The method of its requests.
    public let method: HTTPRequest.Method
    /// Where its requests go, absolute or relative to the session's base.
    public let reference: String
    /// The fields of its requests, before the chain sees them.
    public var fields: HTTPFields
    /// The options of its requests, before the chain sees them.
    public var options: RequestOptions
    private let chain: @Sendable (CurlewRequest, Input, Next<CurlewRequest, CurlewResponse>) async throws -> Output

    /// - Parameters:
    ///   - session: What carries the requests.
    ///   - method: The method.
    ///   - reference: The URL, absolute or relative to the session's base. It is resolved at each call.
    ///   - fields: The fields.
    ///   - options: The options.
    ///   - links: The chain.
    ///   - input: Makes what the chain takes in from the request and the argument of a call.
    public init<Links: CurlewMiddleware>(
        _ session: HTTPSession, _ method: HTTPRequest.Method, _ reference: String, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), links: Links,
        input: @escaping @Sendable (CurlewRequest, Input) throws -> Links.Input
    ) where Links.Output == Output, Links.NextInput == CurlewRequest, Links.NextOutput == CurlewResponse {
        self.session = session
        self.method = method
        self.reference = reference
        self.fields = fields
        self.options = options
        chain = { request, argument, next in try await links.intercept(input(request, argument), next: next) }
    }

    /// Makes the call.
    /// - Throws: ``CurlewError``, or what a link throws.
    public func callAsFunction(_ input: Input) async throws -> Output {
        let request = CurlewRequest(method, try session.resolve(reference), fields: fields, options: options)
        return try await chain(request, input) { try await session.send($0) }
    }
}

extension Endpoint where Input == Void {
    /// Makes the call.
    public func callAsFunction() async throws -> Output { try await callAsFunction(()) }
}

extension HTTPSession {
    /// A call without an argument, as a value.
    public func endpoint<Links: CurlewMiddleware>(
        _ method: HTTPRequest.Method, _ reference: String, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), @ChainBuilder _ links: () -> Links
    ) -> Endpoint<Void, Links.Output>
    where Links.Input == CurlewRequest, Links.NextInput == CurlewRequest, Links.NextOutput == CurlewResponse {
        Endpoint(self, method, reference, fields: fields, options: options, links: links()) { request, _ in request }
    }

    /// A call with the argument that the chain's first link takes, as a value.
    ///
    /// ```swift
    /// let create = api.endpoint(.post, "users") {
    ///     NewUserSerializer()
    ///     JSONResponseSerializer<User>()
    /// }
    /// let user = try await create(newUser)
    /// ```
    public func endpoint<Links: CurlewMiddleware>(
        _ method: HTTPRequest.Method, _ reference: String, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), @ChainBuilder _ links: () -> Links
    ) -> Endpoint<Links.Input.Argument, Links.Output>
    where Links.Input: EndpointInput, Links.NextInput == CurlewRequest, Links.NextOutput == CurlewResponse {
        Endpoint(self, method, reference, fields: fields, options: options, links: links()) { request, argument in
            try Links.Input(request, argument: argument)
        }
    }

    /// A call whose argument becomes the parameters of a request serializer, as a value.
    ///
    /// ```swift
    /// let create = api.endpoint(.post, "users", taking: NewUser.self) {
    ///     JSONRequestSerializer()
    ///     JSONResponseSerializer<User>()
    /// }
    /// let user = try await create(NewUser(name: "Numenius"))
    /// ```
    /// - Parameters:
    ///   - method: The method.
    ///   - reference: The URL, absolute or relative to the session's base. It is resolved at each call.
    ///   - type: The argument's type.
    ///   - placement: Where the parameters go.
    ///   - fields: The fields, before the chain sees them.
    ///   - options: The options, before the chain sees them.
    ///   - links: The chain; a request serializer stands first.
    public func endpoint<Argument: Encodable & Sendable, Links: CurlewMiddleware>(
        _ method: HTTPRequest.Method, _ reference: String, taking type: Argument.Type,
        placement: RequestParameters.Placement = .automatic, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), @ChainBuilder _ links: () -> Links
    ) -> Endpoint<Argument, Links.Output>
    where Links.Input == ParameterizedRequest, Links.NextInput == CurlewRequest, Links.NextOutput == CurlewResponse {
        Endpoint(self, method, reference, fields: fields, options: options, links: links()) { request, argument in
            ParameterizedRequest(request, parameters: RequestParameters(argument), placement: placement)
        }
    }
}
