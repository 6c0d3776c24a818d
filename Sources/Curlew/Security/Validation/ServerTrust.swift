/// What a server showed in its handshake, and what the policy makes of it.
public struct ServerTrust: Sendable, Hashable {
    /// What a policy says of a server.
    public enum Verdict: Sendable, Hashable {
        /// It is who it has to be; the pin that matched, if keys or certificates are pinned.
        case accepted(matchedPin: PublicKeyPin?)
        /// It is not, for this reason.
        case refused(ErrorCode, reason: String)
    }

    /// The host that the request is for, as certificates name it: lower case, without brackets.
    public let host: String
    /// The path that was found from the server's certificate, which comes first, towards an anchor. If the verdict is no
    /// acceptance it may end anywhere, and no more is known of it than that the names fit together.
    public let chain: [Certificate]
    /// What the policy says without an evaluator.
    public let verdict: Verdict
}

extension CurlewError.Context {
    private enum ServerTrustKey: CurlewError.Key { typealias Value = ServerTrust }

    /// What the server showed that was not trusted.
    var serverTrust: ServerTrust? {
        get { self[ServerTrustKey.self] }
        set { self[ServerTrustKey.self] = newValue }
    }
}

extension CurlewError {
    /// What the server showed in its handshake, if that is why the request failed: host, chain and verdict.
    public var serverTrust: ServerTrust? { context.serverTrust }
}
