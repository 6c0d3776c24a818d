/// The version, cipher, chain and pin of a TLS connection.
public struct ConnectionSecurity: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    // One reference: every response carries it.
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
    /// The cipher, as OpenSSL names it: `TLS_AES_256_GCM_SHA384`.
    public var cipher: String { storage.cipher }
    /// The protocol that ALPN agreed on (RFC 7301): `h2`, `http/1.1`; nil if none.
    public var applicationProtocol: String? { storage.applicationProtocol }
    /// The server's chain, its own certificate first: the path to the anchor that was verified. Where the policy verifies
    /// none, how far the signatures lead.
    public var chain: [CurlewCertificate] { storage.peer.chain }
    /// The pin that matched, if keys or certificates are pinned.
    public var matchedPin: SecurityPolicy.Pin? { storage.peer.matchedPin }
    /// True if the handshake resumed an earlier one, whose certificates were verified then under the same policy.
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

/// A peer that was accepted: what a later handshake may resume.
final class VerifiedPeer: Sendable {
    let host: HostName
    /// The number of the policy under which it was.
    let policy: UInt64
    let chain: [CurlewCertificate]
    let matchedPin: SecurityPolicy.Pin?
    /// The last second at which all of the chain is valid.
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

    /// The TLS connection that brought the response; nil without TLS.
    public internal(set) var security: ConnectionSecurity? {
        get { self[SecurityKey.self] }
        set { self[SecurityKey.self] = newValue }
    }
}

extension CurlewError.Context {
    private enum HandshakeKey: CurlewError.Key { typealias Value = ConnectionSecurity }

    /// The outcome of the handshake, where no more was wanted.
    var handshake: ConnectionSecurity? {
        get { self[HandshakeKey.self] }
        set { self[HandshakeKey.self] = newValue }
    }
}

extension CurlewError {
    /// The outcome of the handshake, where no more was wanted.
    var handshake: ConnectionSecurity? { context.handshake }
}
