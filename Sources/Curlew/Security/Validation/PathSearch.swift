internal import COpenSSL

/// Finds the paths from a peer's certificate to the anchors, one after another, each held together by signatures.
///
/// OpenSSL builds one path: of the issuers that fit by name it takes one, and does not come back for another. An authority
/// that two others vouch for has two certificates; if the one that is taken leads nowhere, or below a constraint, the peer
/// would be refused although the other one is good (RFC 4158 §2).
///
/// A peer may send hundreds of certificates that vouch for each other in every way, which makes more paths than anybody can
/// try; so all that is done for it is counted, and the search ends without a path when too much was.
final class PathSearch {
    /// The most signatures that are verified, those of the paths that were found included.
    static let signatureLimit = 64
    /// The most times that a path is made longer.
    static let stepLimit = 256
    /// The most certificates of those sent that are looked at.
    private static let certificateLimit = 64
    /// The most bits of a key that a signature is verified with. Larger ones are of RSA, whose cost grows with the square: 64
    /// signatures of 16,384 bits would stop the event loop for a fifth of a second.
    private static let keyBitsLimit: Int32 = 8192

    /// The subject that is vouched for: two certificates of one authority never are on one path, so no path is a circle.
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
    /// Looks certificates up in the store, and owns a reference to neither: both are kept here.
    private let context: OpaquePointer
    private let store: TrustStore

    private var issuers: [OpaquePointer: Issuers] = [:]
    private var verdicts: [Signature: Bool] = [:]
    /// Signatures verified.
    private(set) var signatures = 0
    private(set) var steps = 0

    /// - Parameters:
    ///   - leaf: The peer's certificate.
    ///   - sent: Everything that the peer sent, or nil.
    /// - Returns: nil if there is no memory.
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

    /// The certificates that were sent, each once, in order, without those whose key is too weak to be on a path, or too large.
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

    /// The first thing that is made of a path.
    /// - Parameter make: Gets a path, the peer's certificate first and the anchor last; nil asks for the next.
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
            // To validate the path takes as many once more.
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

    // MARK: What leads on from a certificate

    private func issuers(of certificate: CertificateHandle) -> Issuers {
        if let known = issuers[certificate.raw] { return known }
        let named = anchors(named: X509_get_issuer_name(certificate.raw))
        var found = Issuers()
        found.anchors = named.filter { X509_check_issued($0.raw, certificate.raw) == X509_V_OK }
        // A path ends at the first anchor, which the store may have further words about: that it is not for servers.
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
