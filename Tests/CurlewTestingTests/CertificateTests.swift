import CurlewTesting
import CurlewTestingTraits
import NIOSSL
import Testing

@Suite("HeldCertificate", .noLeaks, .timeLimit(.minutes(1)))
struct CertificateTests {
    @Test("a chain of three is trusted by its root, and the handshake is recorded")
    func chain() async throws {
        let root = try HeldCertificate.root()
        let intermediate = try HeldCertificate(.authority("Between", pathLength: 0), issuer: root)
        let leaf = try HeldCertificate.localhost(issuedBy: intermediate)
        let server = try await MockServer.start(.init(tls: ServerTLS([leaf, intermediate])))
        let client = try await WireClient.connect(port: server.port, tls: self.trust(root))
        try await client.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 404"))
        let request = try #require(await server.takeRequest())
        #expect(request.tls?.serverName == "localhost")
        #expect(request.tls?.version == "TLSv1.3")
        #expect(request.tls?.applicationProtocol == "http/1.1")
        await server.shutdown()
    }

    @Test("certificates that are wrong on purpose are refused")
    func wrong() async throws {
        let root = try HeldCertificate.root()
        let wrong = [
            try HeldCertificate.expired(issuedBy: root), try .notYetValid(issuedBy: root),
            try .wrongName(issuedBy: root), try .selfSigned(), try .brokenSignature(issuedBy: root),
        ]
        for certificate in wrong {
            let server = try await RawServer.start(tls: ServerTLS([certificate])) { try await $0.closed }
            let client = try await WireClient.connect(port: server.port, tls: self.trust(root))
            await #expect(throws: (any Error).self) { _ = try await client.receive(count: 1) }
            try await server.waitForConnections { $0.failedHandshakes == 1 || $0.open == 0 }
            await server.shutdown()
        }
    }

    @Test(
        "every kind of key serves",
        arguments: [HeldCertificate.KeyKind.ecP256, .ecP384, .rsa2048, .rsa1024]
    )
    func keys(_ key: HeldCertificate.KeyKind) async throws {
        let root = try HeldCertificate.root()
        let options = HeldCertificate.Options(alternativeNames: HeldCertificate.loopbackNames, key: key)
        let certificate = try HeldCertificate(options, issuer: root)
        let server = try await RawServer.start(tls: ServerTLS([certificate])) { try await $0.write("x") }
        let client = try await WireClient.connect(port: server.port, tls: self.trust(root))
        #expect(try await client.receive(count: 1) == Array("x".utf8))
        await server.shutdown()
    }

    @Test("a client certificate is demanded and recorded")
    func clientCertificate() async throws {
        let root = try HeldCertificate.root()
        let own = try HeldCertificate(.init(commonName: "client"), issuer: root)
        var tls = ServerTLS([try .localhost(issuedBy: root)])
        tls.clientCertificates = .required(trusting: [root])
        let server = try await RawServer.start(tls: tls) { connection in
            #expect(connection.tls?.clientCertificateDER == own.certificateDER)
            try await connection.write("x")
        }
        var configuration = try self.trust(root)
        configuration.certificateChain = [.certificate(try .init(bytes: own.certificateDER, format: .der))]
        configuration.privateKey = .privateKey(try .init(bytes: Array(own.privateKeyPEM.utf8), format: .pem))
        let client = try await WireClient.connect(port: server.port, tls: configuration)
        #expect(try await client.receive(count: 1) == Array("x".utf8))
        await server.shutdown()
    }

    private func trust(_ root: HeldCertificate) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        configuration.trustRoots = .certificates([try .init(bytes: root.certificateDER, format: .der)])
        return configuration
    }
}
