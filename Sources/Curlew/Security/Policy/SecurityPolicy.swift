public import FoundationEssentials

/// Whom to trust at the other end of a TLS connection, and how to speak TLS: a value, evaluated inside the handshake.
///
/// ```swift
/// var policy = try SecurityPolicy.pinned(PinSet([PublicKeyPin(inUse)], backups: [PublicKeyPin(reserve)]))
/// policy.minimumTLSVersion = .tls13
/// ```
///
/// Connections, TLS sessions and HTTP/2 streams of one policy are never used under another; two that are equal share them.
/// A session reads its policy when it is made, so a policy that cannot be used is an error there.
public struct SecurityPolicy: Sendable, Hashable, Codable {
    enum Anchors: Sendable, Hashable, Codable {
        case system
        case pem(String)
        case certificates([Certificate])
    }

    let anchors: Anchors

    /// What of the server's chain has to be pinned. `none` by default.
    public var pinningMode = PinningMode.none
    /// The pinned certificates. In the mode `certificate` they are the only anchors; in `publicKey` their keys are pinned.
    public var pinnedCertificates: [Certificate] = []
    /// Public keys that are pinned in the mode `publicKey` besides those of ``pinnedCertificates``.
    public var pinnedKeys: PinSet?
    /// Whether certificates are taken that cannot be verified. The table in <doc:Security> says what is left then: with
    /// pinned keys neither name nor dates nor issuers are looked at. Off by default.
    public var allowsInvalidCertificates = false
    /// Whether the certificate has to be for the request's host. On by default.
    public var validatesDomainName = true

    /// Whether paths have to keep what RFC 5280 and the CA/Browser Forum ask beyond what browsers do
    /// (`X509_V_FLAG_X509_STRICT` and more). Off by default.
    public var isStrict = false
    /// Whether a server's own certificate may be an authority's (basic constraints, RFC 5280 §4.2.1.9), as appliances have
    /// them that issue their own. It has to say `serverAuth` then. Off by default, as the CA/Browser Forum has it: who holds
    /// such a certificate's key can make one for any name. An anchor may be a server's certificate in any case.
    public var allowsAuthorityAsServer = false
    /// How many certificates may stand between the server's and the anchor. 10 by default.
    public var intermediateLimit = 10
    /// As of when certificates have to be valid; nil, the default, is now.
    public var validationDate: Date?
    /// Lists of revoked certificates; nil, the default, asks none.
    public var revocationLists: RevocationLists?
    /// What is made of stapled responses about revocation.
    public var stapling = OCSPStapling.ifPresent
    /// Code of your own that has the last word; a policy with one cannot be encoded.
    public var evaluator: TrustEvaluator?

    /// Who the client is, for servers that ask; a policy with one cannot be encoded.
    public var identity: ClientIdentity?
    /// The lowest TLS version to agree to.
    public var minimumTLSVersion: TLSVersion = .tls12
    /// The highest TLS version to agree to.
    public var maximumTLSVersion: TLSVersion = .tls13
    /// Ciphers for TLS 1.2 in OpenSSL's notation (`ECDHE+AESGCM`); nil is OpenSSL's own choice.
    public var ciphers: String?
    /// Cipher suites for TLS 1.3, joined by colons (`TLS_AES_256_GCM_SHA384`); nil is OpenSSL's own choice.
    public var cipherSuites: String?
    /// Groups for the exchange of keys, joined by colons (`X25519:P-256`); nil is OpenSSL's own choice.
    public var groups: String?
    /// The name that the server is told.
    public var serverName = ServerNameIndication.host
    /// A file to which the secrets of each connection are appended, for Wireshark. Whoever reads it can read all that went
    /// over the wire. nil, the default, writes none; the environment's `SSLKEYLOGFILE` is not heeded.
    public var keyLogPath: String?

    /// Other policies for some hosts; the first that fits holds.
    public var hosts: [HostSecurityPolicy] = []

    init(anchors: Anchors) { self.anchors = anchors }
}

extension RequestOptions {
    private enum SecurityKey: Key { static let defaultValue: SecurityPolicy? = nil }

    /// Whom to trust at the other end, and how to speak TLS. A policy that differs from the session's takes connections of
    /// its own; keep and reuse the value, as a policy that nobody else has is read anew for each request.
    public var security: SecurityPolicy? {
        get { self[SecurityKey.self] }
        set { self[SecurityKey.self] = newValue }
    }
}
