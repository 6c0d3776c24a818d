#if TestKit
/// Shuts down the servers that were started while a function ran, and waits for them.
///
/// The scope also retains the servers until then: a server's deinitialization stops it, and the compiler may release a
/// server after its last use.
package final class ServerScope: Sendable {
    @TaskLocal private static var current: ServerScope?

    private let shutdowns = Watched<[@Sendable () async -> Void]>([])

    /// Adds a server to the caller's scope, if there is one.
    static func adopt(_ shutdown: @escaping @Sendable () async -> Void) {
        self.current?.shutdowns.update { $0.append(shutdown) }
    }

    /// Runs a function, then shuts down the servers, the last one first, even if the function throws.
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

/// Starts a ``MockServer``, calls a function with it, and shuts it down, even if the function throws.
///
///     try await withMockServer { _ in MockResponse(body: "hello") } do: { server in
///         … request server.url("/greeting") …
///     }
///
/// - Parameters:
///   - configuration: The address, the protocols and the bounds of the server.
///   - handler: The handler of requests without a queued response.
///   - body: The function to call with the server.
/// - Returns: The result of `body`, after all sockets are closed and all tasks of the server have returned.
public func withMockServer<Result>(
    _ configuration: MockServer.Configuration = MockServer.Configuration(), handler: MockServer.Handler? = nil,
    do body: (MockServer) async throws -> Result
) async throws -> Result {
    let server = try await MockServer.start(configuration, handler: handler)
    return try await run({ try await body(server) }, finally: { await server.shutdown() })
}

/// Starts a ``RawServer``, calls a function with it, and shuts it down, even if the function throws.
///
/// - Parameters:
///   - address: The address; IPv4 loopback by default.
///   - tls: The TLS configuration, with the protocols for ALPN; cleartext when `nil`.
///   - handler: The function that serves each connection.
///   - body: The function to call with the server.
/// - Returns: The result of `body`, after all sockets are closed and all tasks of the server have returned.
public func withRawServer<Result>(
    at address: ServerAddress = .ipv4, tls: ServerTLS? = nil, handler: @escaping RawServer.Handler,
    do body: (RawServer) async throws -> Result
) async throws -> Result {
    let server = try await RawServer.start(at: address, tls: tls, handler: handler)
    return try await run({ try await body(server) }, finally: { await server.shutdown() })
}

/// Starts a ``MockProxy``, calls a function with it, and shuts it down, even if the function throws.
///
/// - Parameters:
///   - configuration: The protocol, and the accepted credentials.
///   - body: The function to call with the proxy.
/// - Returns: The result of `body`, after all sockets are closed and all tasks of the proxy have returned.
public func withMockProxy<Result>(
    _ configuration: MockProxy.Configuration = MockProxy.Configuration(),
    do body: (MockProxy) async throws -> Result
) async throws -> Result {
    let proxy = try await MockProxy.start(configuration)
    return try await run({ try await body(proxy) }, finally: { await proxy.shutdown() })
}

/// Calls `body` and then `shutdown`, even if `body` throws.
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
