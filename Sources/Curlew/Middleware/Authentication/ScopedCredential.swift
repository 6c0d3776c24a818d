/// A credential, and where it may go.
public struct ScopedCredential: Sendable, Hashable {
    /// Scheme, host and port of the servers that may get it, as ``URI/origin`` writes them.
    public let origin: String
    /// The part of the server that it is for; nil means all of it.
    public let realm: String?
    /// The credential.
    public let credential: Credential
    /// Whether it is sent before anybody asks: Basic or Bearer with the first request already.
    public let isPreemptive: Bool

    /// - Parameters:
    ///   - origin: A URL with the scheme, host and port that it is for; the rest of the URL does not matter.
    ///   - realm: The realm that it is for; any when nil. One that is preemptive is sent unasked, whatever its realm.
    ///   - credential: The credential.
    ///   - isPreemptive: Whether it is sent before anybody asks. Digest cannot be.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public init(
        _ origin: String, realm: String? = nil, _ credential: Credential, isPreemptive: Bool = false
    ) throws {
        self.init(origin: try URI(origin).origin, realm: realm, credential, isPreemptive: isPreemptive)
    }

    init(origin: String, realm: String? = nil, _ credential: Credential, isPreemptive: Bool = false) {
        self.origin = origin
        self.realm = realm
        self.credential = credential
        self.isPreemptive = isPreemptive
    }

    /// A credential for whichever proxy answers a request in absolute form with 407, and only then.
    /// ``Proxy/authenticated(user:password:by:)`` is for one proxy, for tunnels as well, and needs no 407.
    public static func proxy(realm: String? = nil, _ credential: Credential) -> ScopedCredential {
        ScopedCredential(origin: AuthenticatedExchange.proxyOrigin, realm: realm, credential)
    }
}
