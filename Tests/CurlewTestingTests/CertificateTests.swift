import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
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
    }

    @Test("invalid certificates of each kind are refused")
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
        "each kind of key works",
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

    @Test("a client certificate is requested and recorded")
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
    }

    @Test("PEM files work, an Ed25519 key included, and a client that trusts the root accepts them")
    func files() async throws {
        let root = try HeldCertificate.root()
        let intermediate = try HeldCertificate(.authority("Between", pathLength: 0), issuer: root)
        let options = HeldCertificate.Options(alternativeNames: HeldCertificate.loopbackNames, key: .ed25519)
        let leaf = try HeldCertificate(options, issuer: intermediate)
        let folder = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let chainFile = folder.appending(path: "chain.pem").path
        let keyFile = folder.appending(path: "key.pem").path
        try Data(HeldCertificate.bundlePEM([leaf, intermediate]).utf8).write(to: URL(filePath: chainFile))
        try Data(leaf.privateKeyPEM.utf8).write(to: URL(filePath: keyFile))

        let server = try await MockServer.start(.init(tls: ServerTLS(chainFile: chainFile, keyFile: keyFile)))
        server.enqueue(MockResponse(body: "hello"))
        #expect(try await self.fetch(server.url(), trusting: root) == Array("hello".utf8))
    }

    @Test("name constraints are enforced by a client that checks them", arguments: ["localhost", "elsewhere.test"])
    func nameConstraints(permitted: String) async throws {
        let root = try HeldCertificate.root()
        var options = HeldCertificate.Options.authority("Between")
        options.nameConstraints = ["permitted;DNS:\(permitted)"]
        let intermediate = try HeldCertificate(options, issuer: root)
        let leaf = try HeldCertificate(.server("localhost"), issuer: intermediate)
        try await self.expect(isTaken: permitted == "localhost", [leaf, intermediate], trusting: root)
    }

    @Test("a chain longer than its authority allows is refused", arguments: [0, 1])
    func pathLength(_ length: Int) async throws {
        let root = try HeldCertificate(.authority("Root", pathLength: length))
        let intermediate = try HeldCertificate(.authority("Between"), issuer: root)
        let leaf = try HeldCertificate(.server("localhost"), issuer: intermediate)
        try await self.expect(isTaken: length == 1, [leaf, intermediate], trusting: root)
    }

    @Test("a signature by SHA-1, a weak key and a client's certificate are refused")
    func unfit() async throws {
        let root = try HeldCertificate.root()
        var options = HeldCertificate.Options.server("localhost")
        try await self.expect(isTaken: true, [try HeldCertificate(options, issuer: root)], trusting: root)
        options.signatureHash = .sha1
        try await self.expect(isTaken: false, [try HeldCertificate(options, issuer: root)], trusting: root)
        options.signatureHash = .sha256
        options.key = .rsa1024
        try await self.expect(isTaken: false, [try HeldCertificate(options, issuer: root)], trusting: root)
        options.key = .ecP384
        options.extendedKeyUsage = ["clientAuth"]
        try await self.expect(isTaken: false, [try HeldCertificate(options, issuer: root)], trusting: root)
    }

    /// Checks if a session that trusts `root` accepts a server's certificate for `localhost`.
    private func expect(
        isTaken: Bool, _ chain: [HeldCertificate], trusting root: HeldCertificate,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let server = try await MockServer.start(.init(tls: ServerTLS(chain))) { _ in MockResponse(body: "x") }
        do {
            _ = try await self.fetch("https://localhost:\(server.port)/", trusting: root)
            #expect(isTaken, sourceLocation: sourceLocation)
        } catch let error as CurlewError {
            #expect(!isTaken, "\(error)", sourceLocation: sourceLocation)
            #expect(error.serverTrust != nil, sourceLocation: sourceLocation)
        }
        await server.shutdown()
    }

    private func fetch(_ url: String, trusting root: HeldCertificate) async throws -> [UInt8] {
        var configuration = SessionConfiguration()
        configuration.security = .anchors(pem: root.certificatePEM)
        configuration.route.addressFamily = .ipv4
        return try await HTTPSession(configuration: configuration, chain: .bare).get(.raw(url)).body.collect(
            upTo: .kibibytes(1))
    }

    private func trust(_ root: HeldCertificate) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = ["http/1.1"]
        configuration.trustRoots = .certificates([try .init(bytes: root.certificateDER, format: .der)])
        return configuration
    }
}
