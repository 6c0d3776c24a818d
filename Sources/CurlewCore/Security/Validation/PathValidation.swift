internal import COpenSSL

/// Path validation (RFC 5280 §6) by OpenSSL, with the stricter checks of ``ChainChecks``. If OpenSSL's path is refused,
/// the other paths of ``PathSearch`` are tried.
struct PathValidation {
    /// The requirements of a path besides its anchor.
    struct Rules: Sendable {
        var isStrict = false
        var allowsAuthorityAsServer = false
        var intermediateLimit = 10
        var lists: [RevocationListHandle] = []
        var scope: SecurityPolicy.RevocationLists.Scope = .leaf
    }

    /// A path with its verdict.
    struct Outcome {
        /// The path, leaf first, as far as one was found. Its validity depends on `refusal`.
        var chain: [CertificateHandle]
        /// The reason to refuse the path; nil if it is valid and ends at an anchor.
        var refusal: TrustFailure?
        /// True if the failure is local, not the peer's: then no evaluator may accept the peer.
        var isInternalFailure = false

        static let noMemory = Outcome(
            chain: [], refusal: TrustFailure(.resourcesExhausted, "no memory to verify a certificate"),
            isInternalFailure: true)
    }

    let store: TrustStore
    let rules: Rules
    /// The time at which the path must be valid, in seconds since 1970.
    let moment: Int64

    /// - Parameters:
    ///   - leaf: The peer's certificate.
    ///   - sent: All certificates that the peer sent, or nil.
    func validate(leaf: OpaquePointer, sent: OpaquePointer?) -> Outcome {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let first = validate(leaf: leaf, sent: sent, in: store)
        guard first.refusal != nil, !first.isInternalFailure,
            let search = PathSearch(
                leaf: leaf, sent: sent, store: store, intermediateLimit: rules.intermediateLimit)
        else { return first }
        // Report the first path's failure: other verifiers build the same path.
        return search.first { path in
            guard !Self.isSame(path, first.chain) else { return nil }
            let other = validate(leaf: leaf, along: path)
            return other.refusal == nil || other.isInternalFailure ? other : nil
        } ?? first
    }

    /// Validates one path: its last certificate is the only anchor, and only the certificates between may be used.
    private func validate(leaf: OpaquePointer, along path: [CertificateHandle]) -> Outcome {
        guard let anchor = path.last, let anchors = try? TrustStore([anchor]),
            let between = curlew_certificates_new()
        else { return .noMemory }
        defer { curlew_certificates_free(between) }
        guard path.dropFirst().dropLast().allSatisfy({ curlew_certificates_push(between, $0.raw) == 1 }) else {
            return .noMemory
        }
        return validate(leaf: leaf, sent: between, in: anchors)
    }

    private static func isSame(_ path: [CertificateHandle], _ other: [CertificateHandle]) -> Bool {
        path.count == other.count && zip(path, other).allSatisfy { X509_cmp($0.raw, $1.raw) == 0 }
    }

    /// Builds and validates a path with OpenSSL.
    private func validate(leaf: OpaquePointer, sent: OpaquePointer?, in store: TrustStore) -> Outcome {
        guard let context = X509_STORE_CTX_new() else { return .noMemory }
        defer { X509_STORE_CTX_free(context) }
        let lists = curlew_lists_new()
        defer { curlew_lists_free(lists) }
        guard let lists, rules.lists.allSatisfy({ curlew_lists_push(lists, $0.raw) == 1 }),
            X509_STORE_CTX_init(context, store.raw, leaf, sent) == 1,
            let parameters = X509_STORE_CTX_get0_param(context),
            configure(parameters)
        else { return .noMemory }
        if !rules.lists.isEmpty { X509_STORE_CTX_set0_crls(context, lists) }
        X509_STORE_CTX_set_verify_cb(context, Self.takesLastSecond)
        let isValid = X509_verify_cert(context) == 1
        return outcome(of: context, isValid: isValid, leaf: leaf)
    }

    private func configure(_ parameters: OpaquePointer) -> Bool {
        var flags = UInt(X509_V_FLAG_TRUSTED_FIRST) | UInt(X509_V_FLAG_PARTIAL_CHAIN)
        if rules.isStrict { flags |= UInt(X509_V_FLAG_X509_STRICT) }
        if !rules.lists.isEmpty {
            flags |= UInt(X509_V_FLAG_CRL_CHECK) | UInt(X509_V_FLAG_EXTENDED_CRL_SUPPORT)
            if rules.scope == .chain { flags |= UInt(X509_V_FLAG_CRL_CHECK_ALL) }
        }
        X509_VERIFY_PARAM_set_time(parameters, Int(moment))
        X509_VERIFY_PARAM_set_depth(parameters, Int32(clamping: max(0, rules.intermediateLimit)))
        // ``ChainChecks`` judges the strength, the same on every distribution.
        X509_VERIFY_PARAM_set_auth_level(parameters, 0)
        return X509_VERIFY_PARAM_set_flags(parameters, flags) == 1
            && X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER) == 1
            && X509_VERIFY_PARAM_set_trust(parameters, X509_TRUST_SSL_SERVER) == 1
    }

    /// Accepts the last second of `notAfter`: OpenSSL treats it as expired, RFC 5280 §4.1.2.5 as valid.
    private static let takesLastSecond: @convention(c) (Int32, OpaquePointer?) -> Int32 = { isGood, context in
        guard isGood == 0, let context, X509_STORE_CTX_get_error(context) == X509_V_ERR_CERT_HAS_EXPIRED,
            let certificate = X509_STORE_CTX_get_current_cert(context),
            let parameters = X509_STORE_CTX_get0_param(context),
            let end = CertificateTime.seconds(X509_get0_notAfter(certificate)),
            end == Int64(X509_VERIFY_PARAM_get_time(parameters))
        else { return isGood }
        X509_STORE_CTX_set_error(context, X509_V_OK)
        return 1
    }

    private func outcome(of context: OpaquePointer, isValid: Bool, leaf: OpaquePointer) -> Outcome {
        guard let chain = Self.chain(of: context, leaf: leaf) else { return .noMemory }
        let error = X509_STORE_CTX_get_error(context)
        guard !isValid || error != X509_V_OK else {
            return Outcome(chain: chain, refusal: ChainChecks.refusal(of: chain, by: rules))
        }
        // A failure without a reason has a local cause: no memory.
        guard error != X509_V_OK, error != X509_V_ERR_OUT_OF_MEM else { return .noMemory }
        let culprit = CertificateHandle(sharing: X509_STORE_CTX_get_current_cert(context)) ?? chain[0]
        let subject = (try? CurlewCertificate.Details(culprit).subject) ?? "the peer"
        let validity = (
            CertificateTime.seconds(X509_get0_notBefore(culprit.raw)),
            CertificateTime.seconds(X509_get0_notAfter(culprit.raw))
        )
        let refusal = TrustFailure(
            verifyError: error, subject: subject, notBefore: validity.0, notAfter: validity.1)
        return Outcome(chain: chain, refusal: refusal)
    }

    private static func chain(of context: OpaquePointer, leaf: OpaquePointer) -> [CertificateHandle]? {
        let found = X509_STORE_CTX_get0_chain(context)
        var chain: [CertificateHandle] = []
        for index in 0..<curlew_certificate_count(found) {
            guard let found, let handle = CertificateHandle(sharing: curlew_certificate_at(found, index)) else {
                return nil
            }
            chain.append(handle)
        }
        if chain.isEmpty { chain = [CertificateHandle(sharing: leaf)].compactMap { $0 } }
        return chain.isEmpty ? nil : chain
    }
}
