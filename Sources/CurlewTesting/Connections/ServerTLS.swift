#if TestKit
internal import NIOCore
internal import NIOSSL

/// The TLS configuration of a test server.
public struct ServerTLS: Sendable {
    /// A TLS protocol version.
    public struct Version: Sendable, Hashable {
        let isLatest: Bool
        /// TLS 1.2 (RFC 5246).
        public static let tls12 = Version(isLatest: false)
        /// TLS 1.3 (RFC 8446).
        public static let tls13 = Version(isLatest: true)

        var nio: TLSVersion { self.isLatest ? .tlsv13 : .tlsv12 }
    }

    /// The server's demand for client certificates.
    public struct ClientCertificates: Sendable {
        let roots: [HeldCertificate]
        let isRequired: Bool
        let isAsked: Bool

        /// The server requests no certificate.
        public static let none = ClientCertificates(roots: [], isRequired: false, isAsked: false)
        /// The server requests a certificate. It accepts clients without one and rejects an invalid one.
        public static func optional(trusting roots: [HeldCertificate]) -> ClientCertificates {
            ClientCertificates(roots: roots, isRequired: false, isAsked: true)
        }
        /// The handshake fails unless the client has a certificate that chains to one of `roots`.
        public static func required(trusting roots: [HeldCertificate]) -> ClientCertificates {
            ClientCertificates(roots: roots, isRequired: true, isAsked: true)
        }
    }

    enum Identity: Sendable {
        case held([HeldCertificate])
        case files(chain: String, key: String)
    }

    let identity: Identity
    /// The protocols that ALPN offers, best first. ``MockServer`` fills in its own protocols when this is `nil`; an
    /// empty array offers none.
    public var applicationProtocols: [String]?
    /// Lists of ALPN protocols for the first connections, one list for each. They simulate a load balancer with
    /// different back ends.
    public var firstApplicationProtocols: [[String]] = []
    /// The lowest version accepted; TLS 1.2 by default.
    public var minimumVersion = Version.tls12
    /// The highest version accepted; TLS 1.3 by default.
    public var maximumVersion = Version.tls13
    /// The demand for client certificates; none by default.
    public var clientCertificates = ClientCertificates.none

    /// Serves `chain`, leaf first; the leaf's key signs. The root may be omitted.
    public init(_ chain: [HeldCertificate], applicationProtocols: [String]? = nil) {
        self.identity = .held(chain)
        self.applicationProtocols = applicationProtocols
    }

    /// Serves the PEM chain and the PEM key in two files.
    public init(chainFile: String, keyFile: String, applicationProtocols: [String]? = nil) {
        self.identity = .files(chain: chainFile, key: keyFile)
        self.applicationProtocols = applicationProtocols
    }

    /// The contexts of the first connections; the last context serves all others.
    func contexts() throws -> [NIOSSLContext] {
        try self.firstApplicationProtocols.map { try self.context($0) } + [
            self.context(self.applicationProtocols ?? [])
        ]
    }

    private func context(_ applicationProtocols: [String]) throws -> NIOSSLContext {
        let chain: [NIOSSLCertificateSource]
        let key: NIOSSLPrivateKeySource
        switch self.identity {
        case .held(let certificates):
            guard let leaf = certificates.first else { throw TestKitError("a TLS server needs a certificate") }
            chain = try certificates.map {
                .certificate(try NIOSSLCertificate(bytes: $0.certificateDER, format: .der))
            }
            key = .privateKey(try NIOSSLPrivateKey(bytes: Array(leaf.privateKeyPEM.utf8), format: .pem))
        case .files(let chainFile, let keyFile):
            chain = try NIOSSLCertificate.fromPEMFile(chainFile).map { .certificate($0) }
            key = .privateKey(try NIOSSLPrivateKey(file: keyFile, format: .pem))
        }
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: key)
        configuration.applicationProtocols = applicationProtocols
        configuration.minimumTLSVersion = self.minimumVersion.nio
        configuration.maximumTLSVersion = self.maximumVersion.nio
        configuration.shutdownTimeout = .seconds(1)
        if self.clientCertificates.isAsked {
            configuration.certificateVerification =
                self.clientCertificates.isRequired ? .noHostnameVerification : .optionalVerification
            configuration.trustRoots = .certificates(
                try self.clientCertificates.roots.map {
                    try NIOSSLCertificate(bytes: $0.certificateDER, format: .der)
                }
            )
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
#endif
