/// A link that puts parameters into a request: it takes a ``ParameterizedRequest`` and passes a ``CurlewRequest`` on.
///
/// A conforming type says in ``serialize(_:)`` what becomes of the parameters. It is a value, given to a session as its
/// default or to one call, and shared by any number of tasks. One that has to wait for something implements
/// ``CurlewMiddleware/intercept(_:next:)`` as well, which ``HTTPSession`` calls.
///
/// ```swift
/// let serializer = JSONRequestSerializer()
/// let request = try serializer.serialize(["name": "Curlew"], into: CurlewRequest(.post, "https://example.com/birds"))
/// ```
public protocol RequestSerializer: CurlewMiddleware
where Input == ParameterizedRequest, NextInput == CurlewRequest, Output == CurlewResponse, NextOutput == CurlewResponse
{
    /// The request with its parameters in it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` if the parameters cannot be written, or whatever the
    ///   serializer's own closures throw. Nothing is sent then.
    func serialize(_ call: ParameterizedRequest) throws -> CurlewRequest
}

extension RequestSerializer {
    /// Serializes, then calls on.
    public func intercept(_ call: ParameterizedRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await next(serialize(call))
    }

    /// The request with a tree of parameters in it; nil stands for no parameters.
    public func serialize(
        _ parameters: ParameterValue?, into request: CurlewRequest, placement: RequestParameters.Placement = .automatic
    ) throws -> CurlewRequest {
        try serialize(ParameterizedRequest(request, parameters: RequestParameters(parameters), placement: placement))
    }

    /// The request with a value's parameters in it; nil stands for no parameters.
    public func serialize(
        _ parameters: (some Encodable & Sendable)?, into request: CurlewRequest,
        placement: RequestParameters.Placement = .automatic
    ) throws -> CurlewRequest {
        try serialize(ParameterizedRequest(request, parameters: RequestParameters(parameters), placement: placement))
    }

    /// The serializer as a link of a chain that brings something else than a ``CurlewResponse``.
    public func bringing<Value: Sendable>(_ type: Value.Type) -> RequestSerialization<Self, Value> {
        RequestSerialization(serializer: self)
    }
}

/// A request serializer in a chain that brings any kind of value; see ``RequestSerializer/bringing(_:)``.
public struct RequestSerialization<Serializer: RequestSerializer, Value: Sendable>: CurlewMiddleware {
    let serializer: Serializer

    public func intercept(_ call: ParameterizedRequest, next: Next<CurlewRequest, Value>) async throws -> Value {
        try await next(serializer.serialize(call))
    }
}

/// A request whose parameters are still to be put into it: what a ``RequestSerializer`` takes.
public struct ParameterizedRequest: Sendable {
    /// The request. Fields that it has are not replaced by a serializer.
    public var request: CurlewRequest
    /// The parameters.
    public var parameters: RequestParameters
    /// The place that they go to.
    public var placement: RequestParameters.Placement

    public init(
        _ request: CurlewRequest, parameters: RequestParameters, placement: RequestParameters.Placement = .automatic
    ) {
        self.request = request
        self.parameters = parameters
        self.placement = placement
    }
}

extension RequestParameters {
    /// The place that the parameters of a call go to.
    public struct Placement: Sendable, Hashable {
        enum Kind { case automatic, query, body }

        let kind: Kind

        /// The place by the method: ``HTTPRequestSerializer/methodsWithQuery`` have them in the query, others in the body.
        public static let automatic = RequestParameters.Placement(kind: .automatic)
        /// In the query of the URI, whatever the method.
        public static let query = RequestParameters.Placement(kind: .query)
        /// In the body, whatever the method: a `DELETE` with a body, for instance.
        public static let body = RequestParameters.Placement(kind: .body)
    }
}
