import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

/// QUIC itself: its handshake, its timeouts and its flow control. `make test-http3` runs these tests.
@Suite(
    "QUIC with an independent server", .serialized, .enabled(if: HTTP3Server.isAvailable), .noLeaks,
    .timeLimit(.minutes(5)))
struct HTTP3TransportTests {
    @Test("a server that validates addresses with Retry is answered")
    func retry() async throws {
        let server = try HTTP3Server(options: .init(retry: true))
        let session = try server.session { $0.connections.maximumUses = 2 }
        for index in 0..<4 {
            var request = try CurlewRequest(.post, server.url("/x-\(index)"))
            request.body = .string("content")
            #expect(try await session.send(request).body.collect(upTo: 100) == Array("hello /x-\(index)".utf8))
        }
        #expect(try await server.counts(session).connections == 3)
    }

    /// A reserved version (RFC 9000 §15), and QUIC version 2.
    @Test("a server without a common version of QUIC is left for TCP at once", arguments: [0x1A2A_3A4A, 0x6B33_43CF])
    func versions(_ version: UInt32) async throws {
        let certificate = try HeldCertificate.localhost()
        let tcp = try await MockServer.start(.init(tls: ServerTLS([certificate]))) { _ in MockResponse(body: "tcp") }
        let server = try HTTP3Server(certificate, port: tcp.port, options: .init(versions: [version]))
        // A handshake without an answer fails after two seconds.
        let isQuick = try await isQuicker(than: .seconds(1.9)) {
            let alone = try server.session()
            let error = await curlewError { _ = try await alone.fetch(server.url()) }
            #expect(error?.code == .connectionFailed, "\(error as Any)")
            #expect(error?.message.contains("QUIC") == true && error?.stage == .connecting)
            let session = try server.session(.http3)
            for index in 0..<3 {
                let outline = try await session.fetchAttempts(server.url())
                #expect(outline.version == .http2 && outline.attempts == (index == 0 ? 2 : 1))
            }
        }
        #expect(isQuick)
        await tcp.shutdown()
    }

    @Test(
        "a request finds that the server has expired its kept connection, and is sent over another one",
        arguments: [HTTPRequest.Method.get, .post])
    func expired(_ method: HTTPRequest.Method) async throws {
        let server = try HTTP3Server(options: .init(idle: 0.4))
        let session = try server.session()
        #expect(try await session.fetch(server.url("/connection")) == Array("1".utf8))
        let other = try server.session()
        try await eventually("the connection has expired") { try await server.counts(other).expired.contains(1) }
        var request = try CurlewRequest(method, server.url("/next"))
        if method == .post { request.body = .string("x") }
        #expect(try await session.send(request).body.collect(upTo: 100) == Array("hello /next".utf8))
    }

    @Test("a request that waits longer than the server's idle timeout keeps its connection")
    func keptAlive() async throws {
        let server = try HTTP3Server(options: .init(idle: 0.5))
        let session = try server.session()
        let url = server.url("/wait")
        let waiting = Task { try await session.fetch(url) }
        let (idle, observer) = (try server.session(), try server.session())
        try await eventually("the request waits") { try await server.counts(observer).waiting == 1 }
        let number = Int(String(decoding: try await idle.fetch(server.url("/connection")), as: UTF8.self)) ?? 0
        // The idle connection begins after the waiting one, and expires.
        try await eventually("an idle connection has expired") {
            try await server.counts(observer).expired.contains(number)
        }
        _ = try await observer.fetch(server.url("/release"))
        #expect(try await waiting.value == Array("released".utf8))
    }

    @Test("small windows of flow control delay bodies, and lose nothing")
    func smallWindows() async throws {
        let server = try HTTP3Server(options: .init(maxData: 4000, maxStreamData: 1000))
        let session = try server.session()
        let content = (0..<60_000).map { UInt8($0 % 251) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for path in ["/echo", "/echo", "/digest", "/digest", "/bytes/60000"] {
                var request = try CurlewRequest(path.hasPrefix("/bytes") ? .get : .post, server.url(path))
                if request.method == .post { request.body = .bytes(content) }
                group.addTask { [request] in
                    let received = try await session.send(request).body.collect(upTo: .mebibytes(1))
                    if path == "/digest" {
                        #expect(received.starts(with: "60000 ".utf8))
                    } else {
                        #expect(received == content)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await server.counts(session).connections == 1)
    }

    @Test("an upload that the server never permits ends with a timeout, and its connection stays usable")
    func closedWindow() async throws {
        let server = try HTTP3Server(options: .init(maxStreamData: 5000, fixedWindow: true))
        let session = try server.session { $0.timeouts.idle = .seconds(1) }
        var request = try CurlewRequest(.post, server.url("/digest"))
        request.body = .bytes([UInt8](repeating: 7, count: 300_000))
        let duration = await ContinuousClock().measure {
            let error = await curlewError { _ = try await session.send(request).body.collect(upTo: 1000) }
            #expect(error?.code == .idleTimeout, "\(error as Any)")
        }
        #expect(duration < .seconds(10))
        #expect(try await session.fetch(server.url("/next")) == Array("hello /next".utf8))
    }

    // MARK: Certificates

    private func client() throws -> ClientIdentity {
        let held = try HeldCertificate(.init(commonName: "client"), issuer: TestChain.root.get())
        return try ClientIdentity(pem: held.certificatePEM, key: held.privateKeyPEM)
    }

    @Test("a client certificate is sent to a server that asks for one", arguments: [true, false])
    func clientCertificate(_ isRequired: Bool) async throws {
        let server = try HTTP3Server(options: .init(certificate: isRequired ? .required : .asked))
        let identity = try client()
        let session = try server.session { $0.security.identity = identity }
        #expect(try await session.fetch(server.url("/certificate")) == identity.chain.first?.der)
        #expect(try await session.fetch(server.url("/connection")) == Array("1".utf8))
        let plain = try server.session()
        if isRequired {
            let error = await curlewError { _ = try await plain.fetch(server.url("/certificate")) }
            #expect(error?.code == .clientCertificateRequired, "\(error as Any)")
        } else {
            #expect(try await plain.fetch(server.url("/certificate")).isEmpty)
        }
    }

    @Test("sessions with different client certificates share no connection")
    func identities() async throws {
        let server = try HTTP3Server(options: .init(certificate: .asked))
        let session = try server.session()
        for identity in [try client(), try client(), nil] {
            var request = try CurlewRequest(.get, server.url("/certificate"))
            var policy = SecurityPolicy.anchors(pem: server.certificate.certificatePEM)
            policy.identity = identity
            request.options.security = policy
            let received = try await session.send(request).body.collect(upTo: .mebibytes(1))
            #expect(received == identity?.chain.first?.der ?? [])
        }
        #expect(try await server.counts(session).connections == 3)
    }
}
