internal import COpenSSL
internal import CurlewPlatform
internal import FoundationEssentials

/// The parsed form of a policy in OpenSSL's types, as a handshake needs it. It does not include
/// ``SecurityPolicy/hosts``.
final class TrustRules: Sendable {
    /// The pins that apply at a given time.
    enum Pins: Sendable {
        /// No key is pinned, so no server matches.
        case none
        /// The pins have expired, and are not required.
        case expired
        case active(Set<SecurityPolicy.Pin>)
    }

    let policy: SecurityPolicy
    let path: PathValidation.Rules
    let certificates: Set<[UInt8]>
    let identity: (chain: [CertificateHandle], key: KeyHandle)?
    let keyLog: KeyLog?
    /// The policy's own anchors; nil selects the system's.
    private let ownAnchors: TrustStore?
    /// The pinned certificates as anchors.
    let pinnedAnchors: TrustStore?
    private let keysOfCertificates: Set<SecurityPolicy.Pin>

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for invalid settings.
    init(_ policy: SecurityPolicy) throws {
        self.policy = policy
        try Self.check(policy)
        ownAnchors = try Self.anchors(policy.anchors)
        let pinned = try policy.pinning.certificates.map { try $0.handle() }
        if case .certificates = policy.pinning.kind {
            pinnedAnchors = try TrustStore(pinned)
        } else {
            pinnedAnchors = nil
        }
        certificates = Set(policy.pinning.certificates.map(\.der))
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
    }

    /// The anchors of paths; nil if the system has none.
    var anchors: TrustStore? { ownAnchors ?? SystemAnchors.store }

    /// Starts to read the system's authorities on another thread, if these rules need them and they have not been read.
    func preloadAnchors() { if ownAnchors == nil { SystemAnchors.preload() } }

    var isPinning: Bool { policy.pinning != .none }

    func pins(at moment: Int64) -> Pins {
        var pins = keysOfCertificates
        let isExpired = policy.pinning.pins?.expires.map { $0.timeIntervalSince1970 <= Double(moment) } ?? false
        if !isExpired { pins.formUnion(policy.pinning.pins?.all ?? []) }
        if !pins.isEmpty { return .active(pins) }
        return isExpired && policy.pinning.pins?.all.isEmpty == false ? .expired : .none
    }

    private static func anchors(_ anchors: SecurityPolicy.Anchors) throws -> TrustStore? {
        let certificates: [CurlewCertificate]
        switch anchors {
        case .system: return nil
        case .pem(let text): certificates = try CurlewCertificate.all(inPEM: text)
        case .certificates(let given): certificates = given
        }
        guard !certificates.isEmpty else { throw CurlewError(.invalidTLSSetting, "there is no certificate to trust") }
        return try TrustStore(certificates.map { try $0.handle() })
    }

    /// Refuses settings that have no effect if certificates are not verified.
    private static func checkLeniency(_ policy: SecurityPolicy) throws {
        guard policy.allowsInvalidCertificates else { return }
        if case .certificates = policy.pinning.kind { return }
        if policy.revocationLists != nil {
            throw CurlewError(
                .invalidTLSSetting, "revocation lists have no effect where invalid certificates are allowed")
        }
        if policy.isStrict {
            throw CurlewError(.invalidTLSSetting, "strict mode has no effect where invalid certificates are allowed")
        }
    }

    private static func check(_ policy: SecurityPolicy) throws {
        try checkLeniency(policy)
        guard [.off, .ifPresent, .required].contains(policy.stapling) else {
            throw CurlewError(.invalidTLSSetting, "there is no stapling \"\(policy.stapling)\"")
        }
        if let scope = policy.revocationLists?.scope, scope != .leaf, scope != .chain {
            throw CurlewError(.invalidTLSSetting, "revocation lists have no scope \"\(scope.rawValue)\"")
        }
        // An empty set of lists would disable the check, which the user did not intend.
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

/// Anchors in OpenSSL's form for look-ups.
///
/// `@unchecked Sendable`: no certificate is added after creation, and OpenSSL's look-ups take the store's own lock.
final class TrustStore: @unchecked Sendable {
    let raw: OpaquePointer

    /// Takes ownership of a store.
    init(owning raw: OpaquePointer) { self.raw = raw }

    /// Creates a store of exactly these certificates.
    init(_ anchors: [CertificateHandle]) throws {
        guard let raw = X509_STORE_new() else { throw CurlewError(.resourcesExhausted, "no memory for trust anchors") }
        self.raw = raw
        for anchor in anchors where X509_STORE_add_cert(raw, anchor.raw) != 1 {
            throw OpenSSLFailure.error("a trust anchor cannot be kept")
        }
    }

    deinit { X509_STORE_free(raw) }
}

/// The certificate authorities of the system, read once in a process.
///
/// They come from the first source that is set or present: the file `SSL_CERT_FILE`, the directory `SSL_CERT_DIR`, the
/// distributions' usual files, or OpenSSL's default paths. A directory of hashed names is read at each look-up.
private enum SystemAnchors {
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// The store; nil if it cannot be read: then no server is trusted.
    static let store: TrustStore? = load()

    private static let preloading: Void = {
        Task.detached(priority: .utility) { _ = store }
        return
    }()

    /// Starts to read them, off the loop. A handshake that needs them earlier waits for the end.
    fileprivate static func preload() { _ = preloading }

    private static func load() -> TrustStore? {
        OpenSSLLibrary.start()
        defer { ERR_clear_error() }
        guard let raw = X509_STORE_new() else { return nil }
        let store = TrustStore(owning: raw)
        if let file = environment("SSL_CERT_FILE") { return X509_STORE_load_file(raw, file) == 1 ? store : nil }
        if let directory = environment("SSL_CERT_DIR") {
            return X509_STORE_load_path(raw, directory) == 1 ? store : nil
        }
        for file in bundles where access(file, R_OK) == 0 && X509_STORE_load_file(raw, file) == 1 { return store }
        return X509_STORE_set_default_paths(raw) == 1 ? store : nil
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
