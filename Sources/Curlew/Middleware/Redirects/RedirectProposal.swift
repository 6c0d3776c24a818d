public import HTTPTypes

/// A redirect and the request that would follow it, for a ``RedirectPolicy`` to decide on.
public struct RedirectProposal: Sendable {
    /// The head of the redirect.
    public let response: HTTPResponse
    /// The URI that answered with it.
    public let uri: URI
    /// The request that would be sent.
    public let request: Request
    /// The redirects before this one, first to last.
    public let history: [Hop]

    /// Whether the request would go to another origin: scheme, host or port differ.
    public var crossesOrigins: Bool { !uri.hasSameOrigin(as: request.uri) }
}
