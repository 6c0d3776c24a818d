/// A link that writes parameters into a request: its input is a ``ParameterizedRequest``, and it passes a
/// ``CurlewRequest`` on.
///
/// A conforming type implements ``serialize(_:)``. It is a value, given to a session as its default or to a single
/// call, and shared by any number of tasks. A serializer that has to wait also implements
/// ``CurlewMiddleware/intercept(_:next:)``, which ``HTTPSession`` calls.
///
/// ```swift
/// let serializer = JSONRequestSerializer()
/// let request = try serializer.serialize(["name": "Curlew"], into: CurlewRequest(.post, "https://example.com/birds"))
/// ```
public protocol RequestSerializer: CurlewMiddleware
where Input == ParameterizedRequest, NextInput == CurlewRequest, Output == CurlewResponse, NextOutput == CurlewResponse
{
    /// The request with the parameters.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` if the parameters cannot be written, or an error of
    ///   the serializer's own closures. Then no request is sent.
    func serialize(_ call: ParameterizedRequest) throws -> CurlewRequest
}

extension RequestSerializer {
    /// Serializes the parameters, then calls the rest of the chain.
    public func intercept(_ call: ParameterizedRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await next(serialize(call))
    }

    /// The request with a tree of parameters; nil means no parameters.
    public func serialize(
        _ parameters: ParameterValue?, into request: CurlewRequest, placement: RequestParameters.Placement = .automatic
    ) throws -> CurlewRequest {
        try serialize(ParameterizedRequest(request, parameters: RequestParameters(parameters), placement: placement))
    }

    /// The request with the parameters of a value; nil means no parameters.
    public func serialize(
        _ parameters: (some Encodable & Sendable)?, into request: CurlewRequest,
        placement: RequestParameters.Placement = .automatic
    ) throws -> CurlewRequest {
        try serialize(ParameterizedRequest(request, parameters: RequestParameters(parameters), placement: placement))
    }

    /// The serializer as a link, for a chain whose result is not a ``CurlewResponse``.
    public func asLink<Value: Sendable>(returning type: Value.Type) -> RequestSerialization<Self, Value> {
        RequestSerialization(serializer: self)
    }
}

/// A request serializer in a chain with any type of result; see ``RequestSerializer/asLink(returning:)``.
public struct RequestSerialization<Serializer: RequestSerializer, Value: Sendable>: CurlewMiddleware {
    let serializer: Serializer

    public func intercept(_ call: ParameterizedRequest, next: Next<CurlewRequest, Value>) async throws -> Value {
        try await next(serializer.serialize(call))
    }
}

/// A request with separate parameters: the input of a ``RequestSerializer``.
public struct ParameterizedRequest: Sendable {
    /// The request. A serializer does not replace its fields.
    public var request: CurlewRequest
    /// The parameters.
    public var parameters: RequestParameters
    /// The place of the parameters in the request.
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
    /// The place of a call's parameters in the request.
    public struct Placement: Sendable, Hashable {
        enum Kind { case automatic, query, body }

        let kind: Kind

        /// The place by the method: the query for ``HTTPRequestSerializer/methodsWithQuery``, the body for others.
        public static let automatic = RequestParameters.Placement(kind: .automatic)
        /// The query of the URI, whatever the method.
        public static let query = RequestParameters.Placement(kind: .query)
        /// The body, whatever the method: for example a `DELETE` with a body.
        public static let body = RequestParameters.Placement(kind: .body)
    }
}
