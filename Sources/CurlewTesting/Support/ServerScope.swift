#if TestKit
/// Ends the servers that are started while a function runs, and waits for them.
///
/// It also keeps them until then: a server that is dropped ends, and the compiler may drop one after its last use.
package final class ServerScope: Sendable {
    @TaskLocal private static var current: ServerScope?

    private let shutdowns = Watched<[@Sendable () async -> Void]>([])

    /// Adds a server to the scope in which the caller runs, if there is one.
    static func adopt(_ shutdown: @escaping @Sendable () async -> Void) {
        self.current?.shutdowns.update { $0.append(shutdown) }
    }

    /// Runs a function; the servers end whether it returns or throws, the last one first.
    package static func run(_ function: () async throws -> Void) async throws {
        let scope = ServerScope()
        let result: Result<Void, any Error>
        do {
            result = .success(try await self.$current.withValue(scope) { try await function() })
        } catch {
            result = .failure(error)
        }
        let shutdowns = scope.shutdowns.update { shutdowns in
            defer { shutdowns = [] }
            return shutdowns
        }
        for shutdown in shutdowns.reversed() { await shutdown() }
        try result.get()
    }
}

/// Starts a ``MockServer``, runs a function with it, and ends it whether the function returns or throws.
///
///     try await withMockServer { _ in MockResponse(body: "hello") } do: { server in
///         … request server.url("/greeting") …
///     }
///
/// - Parameters:
///   - configuration: Where and how it listens.
///   - handler: What answers requests for which no response is queued.
///   - body: What to do with the server.
/// - Returns: What `body` returns, when all sockets are closed and all tasks of the server have returned.
public func withMockServer<Result>(
    _ configuration: MockServer.Configuration = MockServer.Configuration(), handler: MockServer.Handler? = nil,
    do body: (MockServer) async throws -> Result
) async throws -> Result {
    let server = try await MockServer.start(configuration, handler: handler)
    return try await run({ try await body(server) }, finally: { await server.shutdown() })
}

/// Starts a ``RawServer``, runs a function with it, and ends it whether the function returns or throws.
///
/// - Parameters:
///   - address: Where it listens; IPv4 loopback by default.
///   - tls: Its TLS, with the ALPN names it is to offer; cleartext when `nil`.
///   - handler: What serves each connection.
///   - body: What to do with the server.
/// - Returns: What `body` returns, when all sockets are closed and all tasks of the server have returned.
public func withRawServer<Result>(
    at address: ServerAddress = .ipv4, tls: ServerTLS? = nil, handler: @escaping RawServer.Handler,
    do body: (RawServer) async throws -> Result
) async throws -> Result {
    let server = try await RawServer.start(at: address, tls: tls, handler: handler)
    return try await run({ try await body(server) }, finally: { await server.shutdown() })
}

/// Starts a ``MockProxy``, runs a function with it, and ends it whether the function returns or throws.
///
/// - Parameters:
///   - configuration: What it speaks, and whom it lets through.
///   - body: What to do with the proxy.
/// - Returns: What `body` returns, when all sockets are closed and all tasks of the proxy have returned.
public func withMockProxy<Result>(
    _ configuration: MockProxy.Configuration = MockProxy.Configuration(),
    do body: (MockProxy) async throws -> Result
) async throws -> Result {
    let proxy = try await MockProxy.start(configuration)
    return try await run({ try await body(proxy) }, finally: { await proxy.shutdown() })
}

/// Calls `body`, and `shutdown` whether it returns or throws.
private func run<Result>(
    _ body: () async throws -> Result, finally shutdown: () async -> Void
) async throws -> Result {
    do {
        let result = try await body()
        await shutdown()
        return result
    } catch {
        await shutdown()
        throw error
    }
}
#endif
