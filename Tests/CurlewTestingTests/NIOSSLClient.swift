import NIOSSL

enum NIOSSLClient {
    /// A client that accepts any certificate.
    static var untrusting: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        return configuration
    }
}
