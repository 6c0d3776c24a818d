internal import COpenSSL

/// Anchors in the form that OpenSSL looks them up in.
///
/// `@unchecked Sendable`: once made nothing is added by us, and OpenSSL's look-ups take the store's own lock.
final class TrustStore: @unchecked Sendable {
    let raw: OpaquePointer

    /// Takes over a store.
    init(owning raw: OpaquePointer) { self.raw = raw }

    /// A store of exactly these certificates.
    init(_ anchors: [CertificateHandle]) throws {
        guard let raw = X509_STORE_new() else { throw CurlewError(.resourcesExhausted, "no memory for trust anchors") }
        self.raw = raw
        for anchor in anchors where X509_STORE_add_cert(raw, anchor.raw) != 1 {
            throw OpenSSLFailure.error("a trust anchor cannot be kept")
        }
    }

    deinit { X509_STORE_free(raw) }
}
