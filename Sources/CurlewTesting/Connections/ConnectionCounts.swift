#if TestKit
/// The numbers of connections of a server.
public struct ConnectionCounts: Sendable, Hashable {
    /// Connections accepted since the start.
    public var accepted = 0
    /// Connections that are open now.
    public var open = 0
    /// TLS handshakes that failed or that the client aborted.
    public var failedHandshakes = 0

    /// Makes counts of zero.
    public init() {}
}
#endif
