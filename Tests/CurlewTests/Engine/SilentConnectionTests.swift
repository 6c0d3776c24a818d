import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("A silent HTTP/2 connection", .noLeaks, .timeLimit(.minutes(2)))
struct SilentConnectionTests {
    /// A server whose first connection answers a single request; every other connection answers all.
    private func stage(_ usesTLS: Bool) async throws -> (RawServer, HTTPSession) {
        let certificate = try HeldCertificate.localhost()
        let tls = usesTLS ? ServerTLS([certificate], applicationProtocols: ["h2"]) : nil
        let server = try await RawServer.start(tls: tls) { connection in
            var stream = try await connection.acceptHTTP2Request()
            var isFirst = true
            while true {
                if isFirst || connection.index > 0 {
                    try await connection.write(
                        .response(stream: stream), .data(stream: stream, Array("ok".utf8), endStream: true))
                }
                isFirst = false
                stream = try await connection.readRequestStream()
            }
        }
        let session = try makeSession {
            $0.versionPolicy = usesTLS ? .negotiated : .http2PriorKnowledge
            if usesTLS { $0.security = .anchors(pem: certificate.certificatePEM) }
        }
        return (server, session)
    }

    private func options(total: Duration) -> RequestOptions {
        var options = RequestOptions()
        options.totalTimeout = total
        return options
    }

    @Test(
        "a silent connection gets no new request while others still wait on it", arguments: [false, true])
    func others(_ usesTLS: Bool) async throws {
        let (server, session) = try await stage(usesTLS)
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        let waiting = Task { try await session.fetch(server.url("/waiting")) }
        let error = await curlewError {
            _ = try await session.fetch(server.url(), options: options(total: .milliseconds(300)))
        }
        #expect(error?.code == .totalTimeout)
        for _ in 0..<3 { #expect(try await session.fetch(server.url()) == Array("ok".utf8)) }
        waiting.cancel()
        _ = await waiting.result
        // The silent connection has no waiting requests any more, so it is closed.
        try await server.waitForConnections { $0.accepted - $0.open >= 1 }
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        await session.shutdown()
    }

    @Test("a silent connection is closed at once if no other request waits on it", arguments: [false, true])
    func alone(_ usesTLS: Bool) async throws {
        let (server, session) = try await stage(usesTLS)
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        let error = await curlewError {
            _ = try await session.fetch(server.url(), options: options(total: .milliseconds(300)))
        }
        #expect(error?.code == .totalTimeout)
        for _ in 0..<3 { #expect(try await session.fetch(server.url()) == Array("ok".utf8)) }
        // libcurl before 8.0 needs a second attempt in cleartext, because it notices only then that no connection can
        // be joined.
        #expect(server.accepted <= (usesTLS ? 2 : 3))
        await session.shutdown()
    }
}
