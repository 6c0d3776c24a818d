import Curlew
import CurlewTesting
import TestHelpers
import Testing

/// A server and a session with HTTP/1.1 in cleartext, or HTTP/2 over TLS.
func serverAndSession(
    http2: Bool, idle: Duration = .seconds(20), bodyBuffer: ByteSize = .mebibytes(1),
    handler: @escaping MockServer.Handler
) async throws -> (MockServer, HTTPSession) {
    let certificate = try HeldCertificate.localhost()
    var configuration = MockServer.Configuration()
    if http2 { configuration.tls = ServerTLS([certificate]) }
    let server = try await MockServer.start(configuration, handler: handler)
    let session = try makeSession {
        $0.security = .anchors(pem: certificate.certificatePEM)
        $0.timeouts.idle = idle
        $0.bodyBufferSize = bodyBuffer
    }
    return (server, session)
}

extension HTTPSession {
    /// Lets the session's loop run many turns, sockets and timers included, so that possible progress has happened.
    func letTurnsPass() async throws {
        for _ in 0..<3 { try await expectUsable() }
    }

    /// Lets the session's idle limit elapse twice, by requests that stall.
    func letIdleLimitPass() async throws {
        let stalled = try await RawServer.start { connection in try await connection.closed }
        var options = RequestOptions()
        options.rateLimit = RateLimit.none
        for _ in 0..<2 {
            let error = await curlewError { _ = try await get(.raw(stalled.url()), options: options) }
            guard error?.code == .idleTimeout else { throw error ?? CurlewError(.invalidRequest, "no error") }
        }
    }
}
