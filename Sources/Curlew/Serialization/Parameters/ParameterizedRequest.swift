/// A request whose parameters are still to be put into it: what a ``RequestSerializer`` takes.
public struct ParameterizedRequest: Sendable {
    /// The request. Fields that it has are not replaced by a serializer.
    public var request: Request
    /// The parameters.
    public var parameters: Parameters
    /// Where they go.
    public var placement: ParameterPlacement

    public init(_ request: Request, parameters: Parameters, placement: ParameterPlacement = .automatic) {
        self.request = request
        self.parameters = parameters
        self.placement = placement
    }
}

/// Where the parameters of a call go.
public struct ParameterPlacement: Sendable, Hashable {
    enum Kind { case automatic, query, body }

    let kind: Kind

    /// By the method: ``HTTPRequestSerializer/methodsWithQuery`` have them in the query, others in the body.
    public static let automatic = ParameterPlacement(kind: .automatic)
    /// In the query of the URI, whatever the method.
    public static let query = ParameterPlacement(kind: .query)
    /// In the body, whatever the method: a `DELETE` with a body, for instance.
    public static let body = ParameterPlacement(kind: .body)
}
