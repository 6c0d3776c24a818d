/// What the first link of an ``Endpoint`` takes in, if it turns an argument of its own into a request.
public protocol EndpointInput: Sendable {
    /// What the endpoint is called with.
    associatedtype Argument: Sendable

    /// Puts the endpoint's request and the argument of a call together.
    init(_ request: CurlewRequest, argument: Argument) throws
}
