internal import COpenSSL
internal import CurlewPlatform

/// Applies a policy to the `SSL_CTX` of a new connection.
enum TLSContext {
    /// The limit on the size of the server's certificates: OpenSSL's own default, which a distribution may have
    /// changed.
    private static let certificateBytesLimit = 100 << 10

    /// True if libcurl has created the context for a server, and false for a proxy's.
    static func isServers(_ context: OpaquePointer) -> Bool { curlew_context_allows_beast(context) == 1 }

    /// - Returns: True if all settings are applied; otherwise the connection must not be opened.
    static func configure(_ context: OpaquePointer, for handshake: Handshake) -> Bool {
        ERR_clear_error()
        guard HandshakeData.keep(handshake, in: context), apply(handshake.rules, to: context) else { return false }
        // The context owns the handshake, and only calls back while it exists itself.
        let object = Unmanaged.passUnretained(handshake).toOpaque()
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(context, HandshakeCallbacks.verify, object)
        SSL_CTX_set_cert_cb(context, HandshakeCallbacks.certificateRequested, object)
        SSL_CTX_set_info_callback(context, HandshakeCallbacks.progress)
        curlew_context_keep_sessions(context)
        SSL_CTX_sess_set_new_cb(context, HandshakeCallbacks.newSession)
        SSL_CTX_set_keylog_callback(context, handshake.rules.keyLog == nil ? nil : HandshakeCallbacks.keyLog)
        guard handshake.rules.policy.stapling != .off else { return true }
        return curlew_context_ask_for_status(context, HandshakeCallbacks.stapled, object) == 1
    }

    /// Keeps the secrets of a proxy's connection out of the file that the environment variable `SSLKEYLOGFILE` names.
    static func forbidKeyLog(_ context: OpaquePointer) { SSL_CTX_set_keylog_callback(context, nil) }

    /// Checks that OpenSSL supports the settings of the rules.
    static func check(_ rules: TrustRules) throws {
        OpenSSLLibrary.start()
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw CurlewError(.resourcesExhausted, "no memory for TLS")
        }
        defer { SSL_CTX_free(context) }
        guard apply(rules, to: context) else {
            throw OpenSSLFailure.error("versions, ciphers, groups or identity of TLS cannot be used")
        }
    }

    private static func apply(_ rules: TrustRules, to context: OpaquePointer) -> Bool {
        let policy = rules.policy
        // At least 112 bits of security, whatever the distribution's default; a policy's own ciphers may select another
        // level.
        SSL_CTX_set_security_level(context, 2)
        curlew_context_refuse_renegotiation(context)
        // The frames of an upgraded connection wait in an array that grows.
        curlew_context_accept_moving_buffers(context)
        curlew_context_set_certificate_limit(context, certificateBytesLimit)
        guard
            curlew_context_set_versions(context, number(policy.minimumTLSVersion), number(policy.maximumTLSVersion))
                == 1
        else { return false }
        if let ciphers = policy.ciphers, SSL_CTX_set_cipher_list(context, ciphers) != 1 { return false }
        if let suites = policy.cipherSuites, SSL_CTX_set_ciphersuites(context, suites) != 1 { return false }
        if let groups = policy.groups, curlew_context_set_groups(context, groups) != 1 { return false }
        return rules.identity.map { apply($0.chain, $0.key, to: context) } ?? true
    }

    private static func apply(_ chain: [CertificateHandle], _ key: KeyHandle, to context: OpaquePointer) -> Bool {
        guard let leaf = chain.first, SSL_CTX_use_certificate(context, leaf.raw) == 1,
            SSL_CTX_use_PrivateKey(context, key.raw) == 1, SSL_CTX_check_private_key(context) == 1
        else { return false }
        return chain.dropFirst().allSatisfy { curlew_context_add_chain(context, $0.raw) == 1 }
    }

    private static func number(_ version: SecurityPolicy.TLSVersion) -> Int32 {
        version == .tls13 ? TLS1_3_VERSION : TLS1_2_VERSION
    }
}

/// The C functions that OpenSSL calls during a handshake, on the loop's thread. Functions with an argument receive
/// their ``Handshake``, unretained: the calling context owns it.
private enum HandshakeCallbacks {
    private static func handshake(_ object: UnsafeMutableRawPointer) -> Handshake {
        Unmanaged<Handshake>.fromOpaque(object).takeUnretainedValue()
    }

    /// Replaces OpenSSL's verification.
    static let verify: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { context, object in
        guard let context, let object,
            let connection = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx())
        else { return 0 }
        let isAccepted = handshake(object).verify(
            leaf: X509_STORE_CTX_get0_cert(context), sent: X509_STORE_CTX_get0_untrusted(context),
            connection: OpaquePointer(connection))
        // libcurl reads this error again after the handshake.
        X509_STORE_CTX_set_error(context, isAccepted ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION)
        return isAccepted ? 1 : 0
    }

    static let stapled: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { connection, object in
        guard let connection, let object else { return 0 }
        return handshake(object).acceptsStapledResponse(of: connection) ? 1 : 0
    }

    fileprivate static let certificateRequested: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = {
        _, object in
        guard let object else { return 0 }
        handshake(object).noteCertificateRequest()
        return 1
    }

    static let progress: @convention(c) (OpaquePointer?, Int32, Int32) -> Void = { connection, place, value in
        guard let connection, let handshake = HandshakeData.handshake(of: connection) else { return }
        if place & SSL_CB_HANDSHAKE_START != 0 { handshake.begins(connection) }
        guard place & SSL_CB_ALERT != 0 else { return }
        handshake.noteAlert(value, isReceived: place & SSL_CB_READ != 0)
    }

    fileprivate static let newSession: @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32 = {
        connection, session in
        guard let connection, let session else { return 0 }
        return HandshakeData.handshake(of: connection)?.takeSession(session) ?? 0
    }

    static let keyLog: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> Void = { connection, line in
        guard let connection, let line else { return }
        HandshakeData.handshake(of: connection)?.rules.keyLog?.append(line)
    }
}

/// A file to which the secrets of connections are appended, one per line (`SSLKEYLOGFILE` of NSS).
final class KeyLog: Sendable {
    private let descriptor: Int32

    /// Opens the file, or creates it with access for its owner only.
    init(path: String) throws {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CurlewError(.invalidTLSSetting, "the key log \(path) cannot be written") }
    }

    deinit { close(descriptor) }

    func append(_ line: UnsafePointer<CChar>) {
        // A single write keeps lines of other threads apart. If the disk is full, only the log is incomplete; the
        // request continues.
        var bytes = Array(UnsafeBufferPointer(start: line, count: strlen(line)))
        bytes.append(0x0A)
        _ = write(descriptor, bytes, bytes.count)
    }
}
