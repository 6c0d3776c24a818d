import Curlew
import CurlewTesting
import HTTPTypes
import TestHelpers
import Testing

/// A session on its own loop, with limits that are short enough for tests of failures and long enough for slow
/// machines.
func makeSession(
    baseURL: String? = nil, _ adjust: (inout SessionConfiguration) -> Void = { _ in }
) throws -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(20), total: .seconds(50))
    // Tests of sent bytes list their fields, so the default User-Agent is off.
    configuration.userAgent = nil
    adjust(&configuration)
    return try HTTPSession(
        baseURL: baseURL, configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
    )
}

/// Lets at least this time elapse: the duration of a request without an answer.
func letPass(_ duration: Duration) async throws {
    let stalled = try await RawServer.start { connection in try await connection.closed }
    let session = try makeSession { $0.timeouts.total = duration }
    let error = await curlewError { _ = try await session.get(.raw(stalled.url())) }
    guard error?.code == .totalTimeout else { throw error ?? CurlewError(.invalidRequest, "no error") }
    await session.shutdown()
    await stalled.shutdown()
}

extension HTTPSession {
    /// Fetches a URL and reads the complete body.
    func fetch(_ url: String, options: RequestOptions = RequestOptions()) async throws -> [UInt8] {
        try await get(.raw(url), options: options).body.collect(upTo: .mebibytes(256))
    }

    /// Expects that the session is still usable.
    func expectUsable(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        // The session's limits may be too short for a busy machine, so they are replaced.
        var options = RequestOptions()
        options.idleTimeout = .seconds(30)
        options.totalTimeout = .seconds(60)
        #expect(try await fetch(server.url(), options: options) == Array("ok".utf8), sourceLocation: sourceLocation)
        await server.shutdown()
    }
}

/// Serves one fixed answer to each connection, then closes it.
func rawAnswer(_ answer: String) async throws -> RawServer {
    try await RawServer.start { connection in
        _ = try await connection.readHead()
        try await connection.write(answer)
    }
}
