internal import COpenSSL
internal import FoundationEssentials

/// A policy read: what a handshake needs, in OpenSSL's form. Its ``SecurityPolicy/hosts`` are not in it.
final class TrustRules: Sendable {
    /// What is pinned, as far as it holds at a moment.
    enum Pins: Sendable {
        /// There is none: nobody has one of them.
        case none
        /// Their time is over: they are not asked for.
        case expired
        case active(Set<PublicKeyPin>)
    }

    let policy: SecurityPolicy
    let path: PathValidation.Rules
    let certificates: Set<[UInt8]>
    let identity: (chain: [CertificateHandle], key: KeyHandle)?
    let keyLog: KeyLog?
    /// The anchors of the policy; nil are the system's.
    private let ownAnchors: TrustStore?
    /// The pinned certificates as anchors.
    let pinnedAnchors: TrustStore?
    private let keysOfCertificates: Set<PublicKeyPin>

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for what cannot be used.
    init(_ policy: SecurityPolicy) throws {
        self.policy = policy
        try Self.check(policy)
        ownAnchors = try Self.anchors(policy.anchors)
        let pinned = try policy.pinnedCertificates.map { try $0.handle() }
        pinnedAnchors = policy.pinningMode == .certificate ? try TrustStore(pinned) : nil
        certificates = Set(policy.pinnedCertificates.map(\.der))
        keysOfCertificates = Set(pinned.compactMap(\.pin))
        path = PathValidation.Rules(
            isStrict: policy.isStrict, allowsAuthorityAsServer: policy.allowsAuthorityAsServer,
            intermediateLimit: policy.intermediateLimit,
            lists: try policy.revocationLists?.lists.map { try RevocationListHandle(der: $0) } ?? [],
            scope: policy.revocationLists?.scope ?? .leaf)
        identity = try policy.identity.map { identity in
            (try identity.chain.map { try $0.handle() }, try KeyReading.der(identity.key, passphrase: nil))
        }
        keyLog = try policy.keyLogPath.map { try KeyLog(path: $0) }
        try TLSContext.check(self)
        if ownAnchors == nil { SystemAnchors.preload() }
    }

    /// Where paths may end; nil if the system has none.
    var anchors: TrustStore? { ownAnchors ?? SystemAnchors.store }

    var isPinning: Bool { policy.pinningMode != .none }

    func pins(at moment: Int64) -> Pins {
        var pins = keysOfCertificates
        let isExpired = policy.pinnedKeys?.expires.map { $0.timeIntervalSince1970 <= Double(moment) } ?? false
        if !isExpired { pins.formUnion(policy.pinnedKeys?.all ?? []) }
        if !pins.isEmpty { return .active(pins) }
        return isExpired && policy.pinnedKeys?.all.isEmpty == false ? .expired : .none
    }

    private static func anchors(_ anchors: SecurityPolicy.Anchors) throws -> TrustStore? {
        let certificates: [Certificate]
        switch anchors {
        case .system: return nil
        case .pem(let text): certificates = try Certificate.all(inPEM: text)
        case .certificates(let given): certificates = given
        }
        guard !certificates.isEmpty else { throw CurlewError(.invalidTLSSetting, "there is no certificate to trust") }
        return try TrustStore(certificates.map { try $0.handle() })
    }

    private static func check(_ policy: SecurityPolicy) throws {
        guard [.none, .publicKey, .certificate].contains(policy.pinningMode) else {
            throw CurlewError(.invalidTLSSetting, "there is no pinning mode \"\(policy.pinningMode)\"")
        }
        guard [.off, .ifPresent, .required].contains(policy.stapling) else {
            throw CurlewError(.invalidTLSSetting, "there is no stapling \"\(policy.stapling)\"")
        }
        if let scope = policy.revocationLists?.scope, scope != .leaf, scope != .chain {
            throw CurlewError(.invalidTLSSetting, "revocation lists have no scope \"\(scope.rawValue)\"")
        }
        // Without a list none would be asked for, and that is not what was meant.
        if policy.revocationLists?.lists.isEmpty == true {
            throw CurlewError(.invalidTLSSetting, "there is no revocation list")
        }
        let lowest = policy.minimumTLSVersion
        let highest = policy.maximumTLSVersion
        guard lowest.isKnown, highest.isKnown, lowest == highest || lowest == .tls12 else {
            throw CurlewError(.invalidTLSSetting, "there is no TLS version from \(lowest) to \(highest)")
        }
        guard policy.intermediateLimit >= 0 else {
            throw CurlewError(.invalidTLSSetting, "the limit of intermediates is negative")
        }
        if case .name(let name) = policy.serverName,
            HostName.plainName(Array(name.utf8), allowsWildcard: false) == nil
        {
            throw CurlewError(.invalidTLSSetting, "the name for the server is no host name")
        }
    }
}
