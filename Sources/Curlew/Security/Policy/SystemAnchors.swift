internal import COpenSSL
internal import Glibc

/// The certificate authorities of the system, read once in a process.
///
/// The bundle is `SSL_CERT_FILE`, or the first of the places where distributions keep it; else the directory of hashed
/// names, `SSL_CERT_DIR` or OpenSSL's own, is asked at each look-up.
enum SystemAnchors {
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// nil if there is nothing to read; then nobody is trusted.
    static let store: TrustStore? = load()

    private static let preloading: Void = {
        Task.detached(priority: .utility) { _ = store }
        return
    }()

    /// Begins to read them, off the loop; a connection that is quicker waits for the end.
    static func preload() { _ = preloading }

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
