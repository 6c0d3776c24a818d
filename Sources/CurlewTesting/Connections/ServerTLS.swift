#if TestKit
internal import NIOCore
internal import NIOSSL

/// How a test server speaks TLS.
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

    /// What the server demands of its clients.
    public struct ClientCertificates: Sendable {
        let roots: [HeldCertificate]
        let isRequired: Bool
        let isAsked: Bool

        /// None is asked for.
        public static let none = ClientCertificates(roots: [], isRequired: false, isAsked: false)
        /// A certificate is asked for; a client without one is let in, one with a wrong one is not.
        public static func optional(trusting roots: [HeldCertificate]) -> ClientCertificates {
            ClientCertificates(roots: roots, isRequired: false, isAsked: true)
        }
        /// The handshake fails without a certificate that leads to one of `roots`.
        public static func required(trusting roots: [HeldCertificate]) -> ClientCertificates {
            ClientCertificates(roots: roots, isRequired: true, isAsked: true)
        }
    }

    enum Identity: Sendable {
        case held([HeldCertificate])
        case files(chain: String, key: String)
    }

    let identity: Identity
    /// What ALPN offers, best first. ``MockServer`` fills it from its protocols when it is `nil`; an empty array
    /// offers nothing.
    public var applicationProtocols: [String]?
    /// The ALPN protocols that the first connections are offered instead, a list a connection: as a load balancer does whose
    /// back ends differ.
    public var firstApplicationProtocols: [[String]] = []
    /// The lowest version accepted; TLS 1.2 by default.
    public var minimumVersion = Version.tls12
    /// The highest version accepted; TLS 1.3 by default.
    public var maximumVersion = Version.tls13
    /// What is demanded of clients; nothing by default.
    public var clientCertificates = ClientCertificates.none

    /// Serves `chain`, leaf first; the leaf's key signs. The root need not be in it.
    public init(_ chain: [HeldCertificate], applicationProtocols: [String]? = nil) {
        self.identity = .held(chain)
        self.applicationProtocols = applicationProtocols
    }

    /// Serves the PEM chain and the PEM key in two files.
    public init(chainFile: String, keyFile: String, applicationProtocols: [String]? = nil) {
        self.identity = .files(chain: chainFile, key: keyFile)
        self.applicationProtocols = applicationProtocols
    }

    /// The contexts of the first connections; the last one is for all others.
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
