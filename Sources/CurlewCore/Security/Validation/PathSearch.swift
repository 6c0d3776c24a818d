internal import COpenSSL

/// Finds the paths from a peer's certificate to the anchors, one by one, each linked by signatures.
///
/// OpenSSL builds only one path: it picks one of the issuers with a matching name, and never tries another. An
/// authority that two others have signed has two certificates. If the picked one leads to no anchor, or violates a
/// constraint, OpenSSL refuses the peer although the other one is valid (RFC 4158 §2).
///
/// A peer may send hundreds of certificates that sign each other in every combination, with too many paths to try. So
/// the work is counted, and the search ends without a path beyond the limits.
final class PathSearch {
    /// The largest number of verified signatures, including those of found paths.
    static let signatureLimit = 64
    /// The largest number of path extensions in a search.
    static let stepLimit = 256
    /// The largest number of sent certificates that are considered.
    private static let certificateLimit = 64
    /// The largest size in bits of a key that verifies a signature. Larger keys are RSA keys, whose cost grows with the
    /// square: 64 signatures of 16,384 bits would block the event loop for a fifth of a second.
    private static let keyBitsLimit: Int32 = 8192

    /// The subject of a certificate. A path contains at most one certificate of each authority, so it is never a
    /// circle.
    private struct Authority: Hashable {
        let name: UInt
        let key: [UInt8]
    }

    private struct Intermediate {
        let certificate: CertificateHandle
        let authority: Authority
    }

    private struct Issuers {
        var anchors: [CertificateHandle] = []
        var intermediates: [Intermediate] = []
    }

    private struct Signature: Hashable {
        let certificate: OpaquePointer
        let issuer: OpaquePointer
    }

    private let leaf: CertificateHandle
    private let intermediates: [Intermediate]
    private let intermediateLimit: Int
    /// The context for look-ups in the store. It retains neither the leaf nor the store, so both are stored here.
    private let context: OpaquePointer
    private let store: TrustStore

    private var issuers: [OpaquePointer: Issuers] = [:]
    private var verdicts: [Signature: Bool] = [:]
    /// The number of verified signatures.
    private(set) var signatures = 0
    private(set) var steps = 0

    /// - Parameters:
    ///   - leaf: The peer's certificate.
    ///   - sent: All certificates that the peer sent, or nil.
    /// - Returns: nil without memory.
    init?(leaf: OpaquePointer, sent: OpaquePointer?, store: TrustStore, intermediateLimit: Int) {
        guard let leaf = CertificateHandle(sharing: leaf), let context = X509_STORE_CTX_new() else { return nil }
        self.leaf = leaf
        self.store = store
        self.context = context
        self.intermediateLimit = intermediateLimit
        intermediates = Self.intermediates(among: sent, besides: leaf)
        guard X509_STORE_CTX_init(context, store.raw, leaf.raw, nil) == 1 else { return nil }
    }

    deinit { X509_STORE_CTX_free(context) }

    /// The sent certificates, each once, in order, except those whose key is too weak for a path, or too large.
    private static func intermediates(among sent: OpaquePointer?, besides leaf: CertificateHandle) -> [Intermediate] {
        var found: [Intermediate] = []
        for index in 0..<min(curlew_certificate_count(sent), Int32(certificateLimit)) {
            guard let sent, let certificate = CertificateHandle(sharing: curlew_certificate_at(sent, index)),
                X509_cmp(certificate.raw, leaf.raw) != 0,
                !found.contains(where: { X509_cmp($0.certificate.raw, certificate.raw) == 0 }),
                let key = X509_get0_pubkey(certificate.raw), KeyStrength.weakness(ofKey: key) == nil,
                EVP_PKEY_get_bits(key) <= keyBitsLimit, let hash = certificate.publicKeyHash
            else { continue }
            let authority = Authority(name: X509_subject_name_hash(certificate.raw), key: hash)
            found.append(Intermediate(certificate: certificate, authority: authority))
        }
        return found
    }

    /// The first result of a closure for a path.
    /// - Parameter make: Receives a path, the peer's certificate first and the anchor last; nil selects the next path.
    func first<Thing>(_ make: ([CertificateHandle]) -> Thing?) -> Thing? {
        let itself = anchors(named: X509_get_subject_name(leaf.raw)).first { X509_cmp($0.raw, leaf.raw) == 0 }
        // A certificate that is an anchor needs no issuer.
        return if let itself { make([itself]) } else { extend([leaf], beyond: [], make) }
    }

    private func extend<Thing>(
        _ path: [CertificateHandle], beyond passed: Set<Authority>, _ make: ([CertificateHandle]) -> Thing?
    ) -> Thing? {
        guard steps < Self.stepLimit, let last = path.last else { return nil }
        steps += 1
        let issuers = issuers(of: last)
        for anchor in issuers.anchors where isSigned(last, by: anchor) {
            // The validation of the path verifies each signature of the path again, so the path's length is spent.
            guard spend(path.count) else { return nil }
            if let made = make(path + [anchor]) { return made }
        }
        guard path.count <= intermediateLimit else { return nil }
        for next in issuers.intermediates where !passed.contains(next.authority) {
            guard isSigned(last, by: next.certificate) else { continue }
            let made = extend(path + [next.certificate], beyond: passed.union([next.authority]), make)
            if let made { return made }
        }
        return nil
    }

    // MARK: Issuers

    private func issuers(of certificate: CertificateHandle) -> Issuers {
        if let known = issuers[certificate.raw] { return known }
        let named = anchors(named: X509_get_issuer_name(certificate.raw))
        var found = Issuers()
        found.anchors = named.filter { X509_check_issued($0.raw, certificate.raw) == X509_V_OK }
        // A path ends at the first anchor: the store may restrict it, for example exclude it for servers.
        found.intermediates = intermediates.filter { candidate in
            X509_check_issued(candidate.certificate.raw, certificate.raw) == X509_V_OK
                && !named.contains { X509_cmp($0.raw, candidate.certificate.raw) == 0 }
        }
        issuers[certificate.raw] = found
        return found
    }

    private func anchors(named name: OpaquePointer?) -> [CertificateHandle] {
        guard let name, let found = X509_STORE_CTX_get1_certs(context, name) else { return [] }
        defer { curlew_certificates_free(found) }
        return (0..<curlew_certificate_count(found)).compactMap {
            CertificateHandle(sharing: curlew_certificate_at(found, $0))
        }
    }

    private func isSigned(_ certificate: CertificateHandle, by issuer: CertificateHandle) -> Bool {
        let signature = Signature(certificate: certificate.raw, issuer: issuer.raw)
        if let known = verdicts[signature] { return known }
        guard spend(1) else { return false }
        let isGood = certificate.isSigned(by: issuer)
        verdicts[signature] = isGood
        return isGood
    }

    private func spend(_ count: Int) -> Bool {
        guard count <= Self.signatureLimit - signatures else { return false }
        signatures += count
        return true
    }
}
