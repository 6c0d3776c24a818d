/// A link that puts parameters into a request: it takes a ``ParameterizedRequest`` and passes a ``Request`` on.
///
/// A conforming type says in ``serialize(_:)`` what becomes of the parameters. It is a value, given to a session as its
/// default or to one call, and shared by any number of tasks. One that has to wait for something implements
/// ``Middleware/intercept(_:next:)`` as well, which ``HTTPSession`` calls.
///
/// ```swift
/// let serializer = JSONRequestSerializer()
/// let request = try serializer.serialize(["name": "Curlew"], into: Request(.post, "https://example.com/birds"))
/// ```
public protocol RequestSerializer: Middleware
where Input == ParameterizedRequest, NextInput == Request, Output == Response, NextOutput == Response {
    /// The request with its parameters in it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` if the parameters cannot be written, or whatever the
    ///   serializer's own closures throw. Nothing is sent then.
    func serialize(_ call: ParameterizedRequest) throws -> Request
}

extension RequestSerializer {
    /// Serializes, then calls on.
    public func intercept(_ call: ParameterizedRequest, next: Next<Request, Response>) async throws -> Response {
        try await next(serialize(call))
    }

    /// The request with a tree of parameters in it; nil stands for no parameters.
    public func serialize(
        _ parameters: ParameterValue?, into request: Request, placement: ParameterPlacement = .automatic
    ) throws -> Request {
        try serialize(ParameterizedRequest(request, parameters: Parameters(parameters), placement: placement))
    }

    /// The request with a value's parameters in it; nil stands for no parameters.
    public func serialize(
        _ parameters: (some Encodable & Sendable)?, into request: Request, placement: ParameterPlacement = .automatic
    ) throws -> Request {
        try serialize(ParameterizedRequest(request, parameters: Parameters(parameters), placement: placement))
    }

    /// The serializer as a link of a chain that brings something else than a ``Response``.
    public func bringing<Value: Sendable>(_ type: Value.Type) -> RequestSerialization<Self, Value> {
        RequestSerialization(serializer: self)
    }
}

/// A request serializer in a chain that brings any kind of value; see ``RequestSerializer/bringing(_:)``.
public struct RequestSerialization<Serializer: RequestSerializer, Value: Sendable>: Middleware {
    let serializer: Serializer

    public func intercept(_ call: ParameterizedRequest, next: Next<Request, Value>) async throws -> Value {
        try await next(serializer.serialize(call))
    }
}

/// A request whose parameters are still to be put into it: what a ``RequestSerializer`` takes.
public struct ParameterizedRequest: Sendable {
    /// The request. Fields that it has are not replaced by a serializer.
    public var request: Request
    /// The parameters.
    public var parameters: Parameters
    /// The place that they go to.
    public var placement: ParameterPlacement

    public init(_ request: Request, parameters: Parameters, placement: ParameterPlacement = .automatic) {
        self.request = request
        self.parameters = parameters
        self.placement = placement
    }
}

/// The place that the parameters of a call go to.
public struct ParameterPlacement: Sendable, Hashable {
    enum Kind { case automatic, query, body }

    let kind: Kind

    /// The place by the method: ``HTTPRequestSerializer/methodsWithQuery`` have them in the query, others in the body.
    public static let automatic = ParameterPlacement(kind: .automatic)
    /// In the query of the URI, whatever the method.
    public static let query = ParameterPlacement(kind: .query)
    /// In the body, whatever the method: a `DELETE` with a body, for instance.
    public static let body = ParameterPlacement(kind: .body)
}
