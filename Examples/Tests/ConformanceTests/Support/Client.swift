import Curlew
import CurlewTesting
import Testing

/// The client of all cases: a session with the chain of a single user, which keeps cookies, and with a cache.
func makeClient(_ baseURL: String) throws -> HTTPSession {
    var chain = StandardChain.Options.singleUser
    chain.cache = HTTPCache()
    return try HTTPSession(baseURL: baseURL, chain: chain)
}

/// Calls a function with the client and with a server that answers by `handler`.
func withClient(
    handler: MockServer.Handler? = nil, _ body: (HTTPSession, MockServer) async throws -> Void
) async throws {
    try await withMockServer(handler: handler) { server in
        let http = try makeClient(server.url())
        try await body(http, server)
        await http.shutdown()
    }
}

/// Calls a function with the client and with a server that sends these bytes and closes the connection.
func withClient(receiving answer: String, _ body: (HTTPSession) async throws -> Void) async throws {
    let handler: RawServer.Handler = { connection in
        _ = try await connection.readHead()
        try await connection.write(answer)
        await connection.close()
    }
    try await withRawServer(handler: handler) { server in
        let http = try makeClient(server.url())
        try await body(http)
        await http.shutdown()
    }
}

/// The code of the error that a function throws.
func errorCode(of body: () async throws -> Void) async -> ErrorCode? {
    await #expect(throws: CurlewError.self) { try await body() }?.code
}

extension CurlewResponse {
    /// The text of a body with any status.
    func bodyText() async throws -> String { try await text(anyStatus: true, upTo: .mebibytes(2)) }
}
