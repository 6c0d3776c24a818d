internal import COpenSSL

/// Puts a policy into the `SSL_CTX` of a connection that is about to be made.
enum TLSContext {
    /// Most bytes of the certificates that a server sends: OpenSSL's own bound, which a distribution might have moved.
    static let certificateBytesLimit = 100 << 10

    /// Whether libcurl has made the context for a server, and not for the proxy before it.
    static func isServers(_ context: OpaquePointer) -> Bool { curlew_context_allows_beast(context) == 1 }

    /// - Parameter remembersTickets: Whether libcurl keeps sessions as bytes, and not as OpenSSL's objects.
    /// - Returns: Whether all of it is in force; if not, the connection must not be made.
    static func configure(_ context: OpaquePointer, for handshake: Handshake, remembersTickets: Bool) -> Bool {
        ERR_clear_error()
        guard HandshakeData.keep(handshake, in: context), apply(handshake.rules, to: context) else { return false }
        // The context owns the handshake, and calls back only as long as it lives itself.
        let object = Unmanaged.passUnretained(handshake).toOpaque()
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(context, HandshakeCallbacks.verify, object)
        SSL_CTX_set_cert_cb(context, HandshakeCallbacks.certificateRequested, object)
        SSL_CTX_set_info_callback(context, HandshakeCallbacks.progress)
        if remembersTickets, let engineTakesSession = SSL_CTX_sess_get_new_cb(context) {
            handshake.engineTakesSession = engineTakesSession
            SSL_CTX_sess_set_new_cb(context, HandshakeCallbacks.newSession)
        }
        SSL_CTX_set_keylog_callback(context, handshake.rules.keyLog == nil ? nil : HandshakeCallbacks.keyLog)
        guard handshake.rules.policy.stapling != .off else { return true }
        return curlew_context_ask_for_status(context, HandshakeCallbacks.stapled, object) == 1
    }

    /// Keeps the secrets of a proxy's connection out of the file that the environment's `SSLKEYLOGFILE` names.
    static func forbidKeyLog(_ context: OpaquePointer) { SSL_CTX_set_keylog_callback(context, nil) }

    /// Finds out whether OpenSSL takes what the rules ask.
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
        // 112 bits at least, whatever the distribution says; ciphers of one's own may name another level.
        SSL_CTX_set_security_level(context, 2)
        curlew_context_refuse_renegotiation(context)
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

    private static func number(_ version: TLSVersion) -> Int32 { version == .tls13 ? TLS1_3_VERSION : TLS1_2_VERSION }
}
