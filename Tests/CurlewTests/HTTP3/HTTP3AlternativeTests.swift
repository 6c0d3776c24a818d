import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Alternative services with HTTP/3", .serialized, .noLeaks, .timeLimit(.minutes(2)))
struct HTTP3AlternativeTests {
    private let certificate = Result { try HeldCertificate.localhost() }

    private func origin(_ field: String?) async throws -> MockServer {
        try await MockServer.start(.init(tls: ServerTLS([certificate.get()]))) { _ in
            MockResponse(fields: field.map { [AlternativeServices.field: $0] } ?? [:], body: "tcp")
        }
    }

    /// - Parameter anchors: The trusted certificates; nil for the origin's own.
    private func session(_ store: AlternativeServices.Store, _ anchors: String? = nil) throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.security = .anchors(pem: try anchors ?? certificate.get().certificatePEM)
        return try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) { AlternativeServices(store) }
    }

    @Test("HTTP/3 at the same host serves the next request", .enabled(if: HTTP3Server.isAvailable))
    func used() async throws {
        let alternative = try HTTP3Server(certificate.get())
        let origin = try await origin("h3=\":\(alternative.port)\"; ma=60")
        let store = AlternativeServices.Store()
        let session = try session(store)
        let url = "https://localhost:\(origin.port)/x"
        #expect(try await session.fetchAttempts(url).version == .http2)
        for _ in 0..<2 { #expect(try await session.fetchAttempts(url).version == .http3) }
        #expect(origin.requestCount == 1)
        let uri = try CurlewURI(url)
        #expect(store.services(for: uri).map(\.protocol) == ["h3"])
        let folder = try ScratchFolder()
        try await store.save(to: folder.file("alt"))
        let other = AlternativeServices.Store()
        #expect(try await other.load(from: folder.file("alt")) == [])
        #expect(other.services(for: uri).map(\.port) == [alternative.port])
        await origin.shutdown()
    }

    @Test("HTTP/3 that does not answer costs one bounded delay", .enabled(if: Engine.hasHTTP3))
    func silent() async throws {
        let origin = try await origin(nil)
        let silent = try SilentDatagrams(port: origin.port)
        let store = AlternativeServices.Store()
        let uri = try CurlewURI("https://localhost:\(origin.port)/")
        store.note([Array("h3=\":\(origin.port)\"".utf8)], from: uri)
        #expect(store.service(for: uri) { _ in true } != nil)
        let session = try session(store)
        let first = try await ContinuousClock().measure {
            let outline = try await session.fetchAttempts(uri.description)
            #expect(outline.version == .http2)
        }
        // The delay is two seconds, and the connect timeout ten.
        #expect(first < .seconds(8))
        #expect(store.service(for: uri) { _ in true } == nil)
        // The next request makes no QUIC connection.
        let sources = silent.sources()
        #expect(try await session.fetchAttempts(uri.description).version == .http2)
        #expect(silent.sources() == sources)
        await origin.shutdown()
    }

    @Test("a port without UDP costs no delay, and is excluded", .enabled(if: Engine.hasHTTP3))
    func refused() async throws {
        // The port is in use for TCP, so that no other server takes it for UDP.
        let other = try await origin(nil)
        let origin = try await origin("h3=\":\(other.port)\"")
        let uri = try CurlewURI("https://localhost:\(origin.port)/")
        // A handshake without an answer fails after two seconds.
        let isQuick = try await isQuicker(than: .seconds(1.9)) {
            let store = AlternativeServices.Store()
            let session = try self.session(store)
            #expect(try await session.fetchAttempts(uri.description).version == .http2)
            #expect(store.service(for: uri) { _ in true }?.kind == .http3)
            #expect(try await session.fetchAttempts(uri.description).version == .http2)
            #expect(store.service(for: uri) { _ in true } == nil)
        }
        #expect(isQuick)
        #expect(other.connectionCounts.accepted == 0)
        for server in [origin, other] { await server.shutdown() }
    }

    @Test(
        "an alternative with an untrusted certificate, for another name, or without HTTP/3 gets no request",
        .enabled(if: HTTP3Server.isAvailable), arguments: ["untrusted", "name", "protocol"])
    func unsuitable(_ fault: String) async throws {
        let alternative =
            switch fault {
            case "untrusted": try HTTP3Server(HeldCertificate.localhost())
            case "name": try HTTP3Server(HeldCertificate(.server("other.test"), issuer: TestChain.root.get()))
            default: try HTTP3Server(certificate.get(), options: .init(protocol: "hq-interop"))
            }
        let origin = try await origin("h3=\":\(alternative.port)\"")
        let store = AlternativeServices.Store()
        let anchors = try TestChain.root.get().certificatePEM + certificate.get().certificatePEM
        let session = try session(store, anchors)
        let uri = try CurlewURI("https://localhost:\(origin.port)/")
        for _ in 0..<3 { #expect(try await session.fetchAttempts(uri.description).version == .http2) }
        // The field of each response over TCP is stored again, but the failure is remembered.
        #expect(store.service(for: uri) { _ in true } == nil)
        #expect(origin.requestCount == 3)
        if fault != "protocol" {
            let observer = try alternative.session {
                $0.security.allowsInvalidCertificates = true
                $0.security.validatesDomainName = false
            }
            #expect(try await alternative.counts(observer).requests == 1)
        }
        await origin.shutdown()
    }

    @Test("HTTP/3 at another host is not tried", .enabled(if: HTTP3Server.isAvailable))
    func otherHost() async throws {
        let alternative = try HTTP3Server(certificate.get())
        let origin = try await origin("h3=\"127.0.0.1:\(alternative.port)\"")
        let store = AlternativeServices.Store()
        let session = try session(store)
        let url = "https://localhost:\(origin.port)/"
        for _ in 0..<3 { #expect(try await session.fetchAttempts(url).version == .http2) }
        #expect(store.services(for: try CurlewURI(url)).isEmpty)
        #expect(try await alternative.counts(alternative.session()).connections == 1)
        await origin.shutdown()
    }

    @Test("HTTP/3 of another host, and with a libcurl without it, is not stored", arguments: [false, true])
    func stored(_ takesHTTP3: Bool) throws {
        let store = AlternativeServices.Store(takesHTTP3: takesHTTP3) { 1000 }
        let uri = try CurlewURI("https://h.example/")
        func noted(_ field: String) -> [String] {
            store.note([Array(field.utf8)], from: uri)
            return store.services(for: uri).map { "\($0.protocol) \($0.host):\($0.port)" }
        }
        #expect(noted("h3=\"other.example:443\", h2=\":8443\"") == ["h2 h.example:8443"])
        let own = takesHTTP3 ? ["h3 h.example:443"] : []
        #expect(noted("h3=\":443\", h2=\":8443\"") == own + ["h2 h.example:8443"])
        #expect(noted("h3=\"H.example:443\"") == own)
        #expect(store.service(for: uri) { _ in true }?.port == (takesHTTP3 ? 443 : nil))
        #expect(noted("h3-29=\":443\"") == [])
    }

    @Test("HTTP/3 in a file is loaded for its own host only", arguments: [false, true])
    func file(_ takesHTTP3: Bool) async throws {
        let folder = try ScratchFolder()
        let path = try folder.write(
            "altsvc.txt",
            Array(
                """
                h2 a.example 443 h3 a.example 443 "20300101 00:00:00" 1 0
                h3 b.example 443 h3 c.example 443 "20300101 00:00:00" 0 0
                """.utf8))
        let store = AlternativeServices.Store(takesHTTP3: takesHTTP3) { 1_000_000_000 }
        #expect(try await store.load(from: path) == [])
        let uri = try CurlewURI("https://a.example/")
        #expect(store.services(for: uri).map(\.protocol) == (takesHTTP3 ? ["h3"] : []))
        #expect(store.services(for: try CurlewURI("https://b.example/")).isEmpty)
    }
}
