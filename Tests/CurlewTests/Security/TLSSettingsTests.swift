import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@Suite("TLS settings of a policy", .endsServers, .timeLimit(.minutes(2)))
struct TLSSettingsTests {
    private func policy(_ change: (inout SecurityPolicy) -> Void = { _ in }) throws -> SecurityPolicy {
        var policy = try TestChain.root.get().anchor
        change(&policy)
        return policy
    }

    @Test("the TLS versions of policy and server are respected, and no common version is an error")
    func versions() async throws {
        let stage = try await TrustStage(TestChain.sent())
        #expect(try await stage.fetch(policy { $0.maximumTLSVersion = .tls12 }).security?.tlsVersion == .tls12)
        #expect(try await stage.fetch(policy { $0.minimumTLSVersion = .tls13 }).security?.tlsVersion == .tls13)
        await stage.end()
        let old = try await TrustStage(TestChain.sent()) { $0.maximumVersion = .tls12 }
        let tooNew = try #require(try await old.refusal(policy { $0.minimumTLSVersion = .tls13 }))
        #expect(tooNew.code == .tlsMismatch, "\(tooNew)")
        await old.end()
        let new = try await TrustStage(TestChain.sent()) { $0.minimumVersion = .tls13 }
        let tooOld = try #require(try await new.refusal(policy { $0.maximumTLSVersion = .tls12 }))
        #expect(tooOld.code == .tlsMismatch, "\(tooOld)")
    }

    @Test("cipher suites and groups are those of the policy")
    func ciphers() async throws {
        let stage = try await TrustStage(TestChain.sent())
        let suite = "TLS_CHACHA20_POLY1305_SHA256"
        #expect(try await stage.fetch(policy { $0.cipherSuites = suite }).security?.cipher == suite)
        let cipher = "ECDHE-ECDSA-AES256-GCM-SHA384"
        let response = try await stage.fetch(
            policy {
                $0.maximumTLSVersion = .tls12
                $0.ciphers = cipher
                $0.groups = "P-256"
            })
        #expect(response.security?.cipher == cipher)
        let nothing = try #require(
            try await stage.refusal(
                policy {
                    $0.maximumTLSVersion = .tls12
                    $0.ciphers = "ECDHE-RSA-AES256-GCM-SHA384"
                }))
        #expect(nothing.code == .tlsMismatch, "\(nothing)")
    }

    @Test("an unusable setting is an error when the session is created")
    func unusable() throws {
        let other = TLSVersionText.decode("TLSv1.0")
        let changes: [(inout SecurityPolicy) throws -> Void] = [
            { $0 = .anchors(pem: "") }, { $0 = .anchors(pem: "nothing of the kind") }, { $0 = .anchors([]) },
            { $0 = .anchors(pem: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") },
            { $0 = .anchors(pem: "-----BEGIN CERTIFICATE-----\n****\n-----END CERTIFICATE-----\n") },
            { $0 = .anchors(pem: "-----BEGIN CERTIFICATE-----\nAAAA") },
            { $0 = .anchors(pem: "-----BEGIN CERTIFICATE") },
            { $0.ciphers = "NO-SUCH-CIPHER" }, { $0.cipherSuites = "TLS_NONE" }, { $0.groups = "P-1" },
            {
                $0.minimumTLSVersion = .tls13
                $0.maximumTLSVersion = .tls12
            }, { $0.minimumTLSVersion = other },
            {
                let inner = SecurityPolicy.HostPolicy("b.test", .system)
                var outer = SecurityPolicy.system
                outer.hosts = [inner]
                $0.hosts = [SecurityPolicy.HostPolicy("a.test", outer)]
            },
            {
                $0.allowsInvalidCertificates = true
                $0.isStrict = true
            },
            {
                $0.allowsInvalidCertificates = true
                $0.pinning = .keys(of: [try TestChain.leaf.get().certificate])
                $0.isStrict = true
            },
            { $0.stapling = SecurityPolicy.Stapling(rawValue: "perhaps") },
            { $0.hosts = [SecurityPolicy.HostPolicy("*", .system)] }, { $0.serverName = .name("a b") },
            { $0.hosts = [SecurityPolicy.HostPolicy("a.test", .anchors(pem: "x"))] }, { $0.intermediateLimit = -1 },
            { $0.keyLogPath = "/nonexistent/folder/keys" },
        ]
        for (index, change) in changes.enumerated() {
            var configuration = SessionConfiguration()
            configuration.security = .system
            try change(&configuration.security)
            let error = #expect(throws: CurlewError.self, "\(index)") {
                try HTTPSession(configuration: configuration, chain: .bare)
            }
            #expect(error?.code == .invalidTLSSetting, "\(index)")
        }
    }

    @Test("the handshake sends the host's name, another name or none, and the certificate must be the host's")
    func serverName() async throws {
        let stage = try await TrustStage(TestChain.sent())
        let url = "https://localhost:\(stage.server.port)/"
        let cases: [(SecurityPolicy.ServerNameIndication, String?)] = [
            (.host, "localhost"), (.name("front.test"), "front.test"), (.none, nil),
        ]
        for (name, expected) in cases {
            _ = try await stage.fetch(policy { $0.serverName = name }, url)
            #expect(await stage.server.takeRequest()?.tls?.serverName == expected)
        }
    }

    @Test("TLS secrets are logged only if a policy asks for it, into a file that only its owner can read")
    func keyLog() async throws {
        let path = NSTemporaryDirectory() + "curlew-keys-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let stage = try await TrustStage(TestChain.sent())
        _ = try await stage.fetch(policy())
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try await stage.fetch(policy { $0.keyLogPath = path })
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains("CLIENT_TRAFFIC_SECRET_0 ") && text.hasSuffix("\n"))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }

    @Test("a handshake without a request is inspected and closed")
    func handshakeOnly() async throws {
        let stage = try await TrustStage(TestChain.sent())
        let session = try #require(stage.session.session)
        var options = RequestOptions()
        options.security = try policy()
        let security = try await session.connectionSecurity(of: stage.url, options: options)
        #expect(security.tlsVersion == .tls13 && security.chain.count == 3)
        try await stage.server.waitForConnections(open: 0)
        #expect(stage.server.connectionCounts.accepted == 1)
        options.security = .system
        let error = await curlewError { _ = try await session.connectionSecurity(of: stage.url, options: options) }
        #expect(error?.code == .unknownIssuer && error?.serverTrust?.chain.isEmpty == false)
        let plain = await curlewError { _ = try await session.connectionSecurity(of: "http://localhost/") }
        #expect(plain?.code == .unsupportedScheme)
    }

    @Test(
        "a truncated handshake is a failure, and the session stays usable",
        arguments: [
            ServerTLS.Version.tls12, .tls13,
        ])
    func cut(_ version: ServerTLS.Version) async throws {
        let stage = try await TrustStage(TestChain.sent()) { $0.maximumVersion = version }
        for limit in [0, 1, 4, 5, 9, 40, 80, 127, 128, 200, 400, 700] {
            let relay = try CuttingRelay(to: stage.server.port, after: limit)
            let error = try #require(try await stage.refusal(policy(), "https://127.0.0.1:\(relay.port)/"), "\(limit)")
            #expect([.tlsHandshakeFailed, .connectionLost].contains(error.code), "\(limit): \(error)")
            #expect(error.stage == .connecting)
            relay.end()
        }
        let whole = try CuttingRelay(to: stage.server.port, after: .max)
        #expect(try await stage.code(policy(), "https://127.0.0.1:\(whole.port)/") == nil)
        await stage.session.shutdown()
        whole.end()
        await stage.end()
    }

    @Test("a server that announces 10 MiB of certificates is disconnected at once")
    func hugeCertificate() async throws {
        // The bytes are a ServerHello of TLS 1.2 (ECDHE-RSA-AES128-GCM-SHA256, renegotiation info), then the head of a
        // Certificate message.
        let random = [UInt8](repeating: 7, count: 32)
        let hello = [0x02, 0, 0, 45, 3, 3] + random + [0, 0xC0, 0x2F, 0, 0, 5, 0xFF, 0x01, 0, 1, 0]
        let certificate: [UInt8] = [0x0B, 0xA0, 0, 0, 0x9F, 0xFF, 0xFD] + [UInt8](repeating: 0x30, count: 1000)
        @Sendable func record(_ bytes: [UInt8]) -> [UInt8] {
            [0x16, 3, 3, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
        }
        let server = try await RawServer.start { connection in
            _ = try await connection.read()
            try await connection.write(record(hello) + record(certificate))
            while try await connection.read() != nil {}
        }
        let session = try makeSession { $0.security = .system }
        let error = await curlewError { _ = try await session.fetch("https://127.0.0.1:\(server.port)/") }
        #expect(error?.code == .tlsHandshakeFailed)
        #expect(error?.message.contains("excessive message size") == true, "\(String(describing: error))")
    }

    @Test("a handshake that ends early, or meets another protocol, fails")
    func broken() async throws {
        let answers: [[UInt8]] = [
            [], [0x15, 3, 3, 0, 2, 2, 40], [0x16, 3, 3, 0, 4, 2, 0, 0], Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
            Array("220 mail.example ESMTP\r\n".utf8), [UInt8](repeating: 0, count: 300), [0x16, 3, 3, 0x7F, 0xFF],
            [0x15, 3, 3, 0, 2, 1, 0],
        ]
        for answer in answers {
            let server = try await RawServer.start { connection in
                _ = try await connection.read()
                try await connection.write(answer)
            }
            let session = try makeSession { $0.security = .system }
            let error = await curlewError { _ = try await session.fetch("https://127.0.0.1:\(server.port)/") }
            let code = try #require(error?.code)
            #expect(
                [.tlsHandshakeFailed, .tlsMismatch, .plainTextOnTLSPort].contains(code), "\(answer.prefix(8)): \(code)")
            if answer.starts(with: Array("HTTP".utf8)) || answer.starts(with: Array("220".utf8)) {
                #expect(code == .plainTextOnTLSPort)
            }
            await server.shutdown()
        }
    }

    @Test("a TLS alert in response to an http request causes an error with a hint")
    func plainRequest() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.read()
            try await connection.write([0x15, 3, 1, 0, 2, 2, 0x46])
        }
        let error = await curlewError { _ = try await makeSession().fetch("http://127.0.0.1:\(server.port)/") }
        #expect(error?.code == .invalidResponse)
        #expect(error?.message == "the answer is not HTTP; a port that speaks TLS answers so, and needs https")
        await server.shutdown()
    }
}

/// A version that the library does not offer, as in a stored policy.
enum TLSVersionText {
    static func decode(_ text: String) -> SecurityPolicy.TLSVersion {
        struct Box: Codable { var description: String }
        let data = (try? JSONEncoder().encode(Box(description: text))) ?? Data()
        return (try? JSONDecoder().decode(SecurityPolicy.TLSVersion.self, from: data)) ?? .tls12
    }
}
