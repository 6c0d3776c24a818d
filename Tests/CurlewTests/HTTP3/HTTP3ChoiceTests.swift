import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The choice of HTTP/3", .noLeaks, .timeLimit(.minutes(2)))
struct HTTP3ChoiceTests {
    private func stage(
        _ policy: HTTPVersionPolicy, _ adjust: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> (MockServer, HTTPSession) {
        let certificate = try HeldCertificate.localhost()
        let server = try await MockServer.start(.init(tls: ServerTLS([certificate]))) { _ in MockResponse(body: "tcp") }
        let session = try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            $0.versionPolicy = policy
            adjust(&$0)
        }
        return (server, session)
    }

    @Test("libcurl 7.88 to 8.20 has no usable HTTP/3")
    func detection() {
        #expect(HTTPVersionPolicy.isHTTP3Available == Engine.hasHTTP3)
        if Engine.versionNumber < 0x081500 { #expect(!Engine.hasHTTP3) }
        #expect(Engine.versionText.split(separator: ".").count == 3)
    }

    @Test("HTTP/3 alone is refused without a connection if libcurl has none", .enabled(if: !Engine.hasHTTP3))
    func unavailable() async throws {
        let (server, session) = try await stage(.http3Only)
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("HTTP/3 needs libcurl 8.21 or newer") == true)
        #expect(server.connectionCounts.accepted == 0)
    }

    @Test("preferred HTTP/3 is negotiated as usual if libcurl has none", .enabled(if: !Engine.hasHTTP3))
    func negotiated() async throws {
        let (server, session) = try await stage(.http3)
        let response = try await session.get(.raw(server.url()))
        #expect(response.version == .http2)
        _ = try await response.body.collect(upTo: 100)
    }

    @Test("a request that HTTP/3 cannot carry is refused with the reason", .enabled(if: Engine.hasHTTP3))
    func obstacles() throws {
        func obstacle(
            _ configure: (inout SessionConfiguration) -> Void = { _ in }, _ change: (inout CurlewRequest) -> Void
        ) -> String? {
            do {
                let prepared = try AttemptStage.prepared(configure: configure) {
                    $0.options.versionPolicy = .http3Only
                    change(&$0)
                }
                #expect(prepared.version == .http3Only)
                return nil
            } catch {
                #expect((error as? CurlewError)?.code == .unsupported)
                return (error as? CurlewError)?.message
            }
        }
        func secure(_ request: inout CurlewRequest) {
            guard let uri = try? CurlewURI("https://h.test/") else { return }
            request.uri = uri
        }
        #expect(obstacle { secure(&$0) } == nil)
        #expect(obstacle { _ in } == "HTTP/3 needs https")
        #expect(obstacle({ $0.proxy = .proxy(try! Proxy("http://p.test:1")) }, secure)?.contains("no proxy") == true)
        #expect(obstacle({ $0.route.unixSocket = "/tmp/s" }, secure)?.contains("Unix socket") == true)
        #expect(obstacle({ $0.security.maximumTLSVersion = .tls12 }, secure)?.contains("TLS 1.3") == true)
        let trailers = obstacle {
            secure(&$0)
            $0.method = .post
            $0.body = .bytes([1])
            $0.trailers = [.eTag: "\"1\""]
        }
        #expect(trailers?.contains("trailers") == true)
    }

    @Test("a port without UDP falls back to TCP at once, and the origin is remembered", .enabled(if: Engine.hasHTTP3))
    func refused() async throws {
        let (server, session) = try await stage(.http3)
        for index in 0..<3 {
            let task = try await session.fetchAttempts(server.url())
            #expect(task.version == .http2)
            // Only the first request has tried QUIC.
            #expect(task.attempts == (index == 0 ? 2 : 1))
        }
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test(
        "a silent UDP port costs one bounded delay, once, for all waiting requests", .enabled(if: Engine.hasHTTP3))
    func silent() async throws {
        let (server, session) = try await stage(.http3)
        let silent = try SilentDatagrams(port: server.port)
        let url = server.url()
        let first = try await ContinuousClock().measure {
            try await withThrowingTaskGroup(of: HTTPProtocolVersion.self) { group in
                for _ in 0..<10 { group.addTask { try await session.fetchAttempts(url).version } }
                for try await version in group { #expect(version == .http2) }
            }
        }
        // Ten delays, one after another, would take twenty seconds.
        #expect(first >= .seconds(1) && first < .seconds(15))
        // A later request uses TCP without another QUIC connection.
        let sources = silent.sources()
        let outline = try await session.fetchAttempts(url)
        #expect(outline.version == .http2 && outline.attempts == 1)
        #expect(!sources.isEmpty && silent.sources() == sources)
    }

    @Test(
        "a caller's timeout leaves time for TCP, and a silent port is remembered", .enabled(if: Engine.hasHTTP3))
    func shortTimeouts() async throws {
        let (server, session) = try await stage(.http3) { $0.timeouts.connect = .seconds(1) }
        let silent = try SilentDatagrams(port: server.port)
        // The usual delay of two seconds would exceed the caller's timeout of one second.
        #expect(try await session.fetchAttempts(server.url()).version == .http2)
        let sources = silent.sources()
        let later = try await session.fetchAttempts(server.url())
        #expect(later.version == .http2 && later.attempts == 1)
        #expect(!sources.isEmpty && silent.sources() == sources)
    }

    @Test("HTTP/3 alone ends with the connect timeout at a silent port", .enabled(if: Engine.hasHTTP3))
    func silentAlone() async throws {
        let (server, session) = try await stage(.http3Only) { $0.timeouts.connect = .seconds(1) }
        let silent = try SilentDatagrams(port: server.port)
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(error?.code == .connectTimeout)
        #expect(error?.message == "no QUIC connection to 127.0.0.1:\(server.port) within 1 s")
        #expect(error?.stage == .connecting)
        #expect(server.connectionCounts.accepted == 0)
        withExtendedLifetime(silent) {}
    }

    @Test("HTTP/3 alone is refused by a port without UDP", .enabled(if: Engine.hasHTTP3))
    func refusedAlone() async throws {
        let (server, session) = try await stage(.http3Only)
        let error = await curlewError { _ = try await session.fetch(server.url()) }
        #expect(error?.isConnectFailure == true, "\(error as Any)")
        #expect(error?.message.contains("QUIC") == true)
        try await session.expectUsable(HTTPVersionPolicy.http11)
    }

    @Test("the address policy judges the address of a QUIC connection", .enabled(if: Engine.hasHTTP3))
    func addressPolicy() async throws {
        for policy in [HTTPVersionPolicy.http3, .http3Only] {
            let (server, session) = try await stage(policy) { $0.addressPolicy = .publicOnly }
            let error = await curlewError { _ = try await session.fetch("https://localhost:\(server.port)/") }
            #expect(error?.code == .addressForbidden)
            #expect(server.connectionCounts.accepted == 0)
        }
    }

    @Test("failures of QUIC exclude an origin for five minutes, then for ten, up to two days")
    func failures() throws {
        let request = try AttemptStage.prepared()
        let key = PoolKey(request, .quic)
        var failures = QUICFailures()
        var now = Instant(nanoseconds: 1_000)
        #expect(failures.isEmpty && !failures.excludes(key, at: now))
        var pause = QUICFailures.firstPause
        for _ in 0..<12 {
            failures.noteFailure(of: key, at: now)
            // Simultaneous failures count as one.
            failures.noteFailure(of: key, at: now.advanced(by: 1))
            #expect(failures.excludes(key, at: now.advanced(by: pause - 1)))
            now = now.advanced(by: pause)
            #expect(!failures.excludes(key, at: now))
            pause = min(2 * pause, QUICFailures.longestPause)
        }
        failures.noteSuccess(of: key)
        #expect(failures.isEmpty)
    }
}

/// The version and the number of attempts of an exchange.
struct ExchangeOutline {
    let version: HTTPProtocolVersion
    let attempts: Int
}

extension HTTPSession {
    func fetchAttempts(_ url: String) async throws -> ExchangeOutline {
        let response = try await get(.raw(url))
        _ = try await response.body.collect(upTo: .mebibytes(1))
        let metrics = await response.task?.metrics
        return ExchangeOutline(version: response.version, attempts: metrics?.attempts.count ?? 0)
    }

    /// Expects that the session is still usable with a version of HTTP.
    func expectUsable(_ policy: HTTPVersionPolicy) async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        var options = RequestOptions()
        options.versionPolicy = policy
        #expect(try await fetch(server.url(), options: options) == Array("ok".utf8))
        await server.shutdown()
    }
}
