/// The version, cipher, chain and pin of a TLS connection.
public struct ConnectionSecurity: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    // The values are stored behind one reference, because every response contains this type.
    private final class Storage: Sendable {
        let tlsVersion: SecurityPolicy.TLSVersion
        let cipher: String
        let applicationProtocol: String?
        let peer: VerifiedPeer
        let isResumed: Bool

        init(
            tlsVersion: SecurityPolicy.TLSVersion, cipher: String, applicationProtocol: String?, peer: VerifiedPeer,
            isResumed: Bool
        ) {
            self.tlsVersion = tlsVersion
            self.cipher = cipher
            self.applicationProtocol = applicationProtocol
            self.peer = peer
            self.isResumed = isResumed
        }
    }

    private let storage: Storage

    init(
        tlsVersion: SecurityPolicy.TLSVersion, cipher: String, applicationProtocol: String?, peer: VerifiedPeer,
        isResumed: Bool
    ) {
        storage = Storage(
            tlsVersion: tlsVersion, cipher: cipher, applicationProtocol: applicationProtocol, peer: peer,
            isResumed: isResumed)
    }

    /// The version of TLS.
    public var tlsVersion: SecurityPolicy.TLSVersion { storage.tlsVersion }
    /// The cipher, by OpenSSL's name: `TLS_AES_256_GCM_SHA384`.
    public var cipher: String { storage.cipher }
    /// The protocol that ALPN agreed on (RFC 7301): `h2`, `http/1.1`; nil if none.
    public var applicationProtocol: String? { storage.applicationProtocol }
    /// The server's chain, its own certificate first: the verified path to the anchor. If the policy does not verify
    /// certificates, it is the part of the chain that is linked by signatures.
    public var chain: [CurlewCertificate] { storage.peer.chain }
    /// The pin that matched, if keys or certificates are pinned.
    public var matchedPin: SecurityPolicy.Pin? { storage.peer.matchedPin }
    /// True if the handshake resumed an earlier session, whose certificates were verified under the same policy.
    public var isResumed: Bool { storage.isResumed }

    /// Version, cipher, protocol and certificate: `TLS 1.3, TLS_AES_256_GCM_SHA384, h2, CN=api.example.com`.
    public var description: String {
        let parts = [
            "\(tlsVersion)", cipher, applicationProtocol, chain.first.map { "\($0)" },
            isResumed ? "resumed" : nil,
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
    public var debugDescription: String { description }

    public static func == (first: ConnectionSecurity, second: ConnectionSecurity) -> Bool {
        first.storage === second.storage
            || (first.tlsVersion == second.tlsVersion && first.cipher == second.cipher
                && first.applicationProtocol == second.applicationProtocol && first.chain == second.chain
                && first.matchedPin == second.matchedPin && first.isResumed == second.isResumed)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(cipher)
        hasher.combine(chain.first)
    }
}

/// An accepted peer, as sessions store it for later resumption.
final class VerifiedPeer: Sendable {
    let host: HostName
    /// The number of the policy that accepted it.
    let policy: UInt64
    let chain: [CurlewCertificate]
    let matchedPin: SecurityPolicy.Pin?
    /// The last second at which each certificate of the chain is valid.
    let validUntil: Int64

    init(host: HostName, policy: UInt64, chain: [CurlewCertificate], matchedPin: SecurityPolicy.Pin?, validUntil: Int64)
    {
        self.host = host
        self.policy = policy
        self.chain = chain
        self.matchedPin = matchedPin
        self.validUntil = validUntil
    }
}

extension CurlewResponse {
    private enum SecurityKey: Key { static let defaultValue: ConnectionSecurity? = nil }

    /// The TLS connection of the response; nil without TLS.
    public internal(set) var security: ConnectionSecurity? {
        get { self[SecurityKey.self] }
        set { self[SecurityKey.self] = newValue }
    }
}

extension CurlewError.Context {
    private enum HandshakeKey: CurlewError.Key { typealias Value = ConnectionSecurity }

    /// The properties of the TLS connection, if the request was only to perform the handshake.
    var handshake: ConnectionSecurity? {
        get { self[HandshakeKey.self] }
        set { self[HandshakeKey.self] = newValue }
    }
}

extension CurlewError {
    /// The properties of the TLS connection, if the request was only to perform the handshake.
    var handshake: ConnectionSecurity? { context.handshake }
}
