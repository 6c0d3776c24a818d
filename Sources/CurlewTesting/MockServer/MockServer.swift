#if TestKit
/// An HTTP server for tests on a free loopback port. It answers from a queue or by a handler and records its requests.
///
///     let server = try await MockServer.start()
///     server.enqueue(MockResponse(body: "hello"))
///     … request server.url("/greeting") …
///     let request = await server.takeRequest()
///
/// A request is answered by the first response in the queue, otherwise by the handler, otherwise with 404. The server
/// supports HTTP/1.1 and HTTP/2, in cleartext and over TLS. Its deinitialization stops it; ``shutdown()`` also waits
/// for the end.
public final class MockServer: Sendable {
    /// A function that answers a request. It is cancelled when the client disconnects or the server ends.
    public typealias Handler = @Sendable (InboundRequest) async throws -> MockResponse

    let core: MockServerCore
    let listener: Listener

    private init(core: MockServerCore, listener: Listener) {
        self.core = core
        self.listener = listener
    }

    deinit {
        self.listener.stop()
        self.core.log.finish()
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - configuration: The address, the protocols and the bounds of the server.
    ///   - handler: The handler of requests without a queued response. It starts when the head has arrived and may read
    ///     the body while the response's body is sent. Its errors become responses with status 500. A request body of
    ///     at most 4 KiB with `Content-Length` is received before the response is sent, unless that is a stream or its
    ///     ``MockResponse/expectation`` is `answersAtOnce`.
    public static func start(
        _ configuration: Configuration = Configuration(),
        handler: Handler? = nil
    ) async throws -> MockServer {
        let core = MockServerCore(configuration: configuration, handler: handler)
        var tls = configuration.tls
        if tls?.applicationProtocols == nil {
            tls?.applicationProtocols = configuration.protocols.map(\.applicationProtocol)
        }
        let listener = try await Listener.start(
            at: configuration.address,
            tls: tls,
            allowsHalfClosure: false,
            faults: core.faults,
            install: { try core.install(on: $0) },
            serve: { await core.serve($0, $1) },
            discard: { await core.discard($0) }
        )
        let server = MockServer(core: core, listener: listener)
        ServerScope.adopt { await server.shutdown() }
        return server
    }

    /// Adds responses to the queue; each answers one request, on any connection.
    public func enqueue(_ responses: MockResponse...) {
        self.core.enqueue(responses)
    }

    /// The port of the server; 0 on a Unix socket.
    public var port: Int { self.listener.port }

    /// The URL of `path` on this server: `http://127.0.0.1:49152/path`.
    public func url(_ path: String = "/") -> String {
        self.listener.url(path, usesTLS: self.core.configuration.tls != nil)
    }

    /// Stops accepting: the port refuses new connections, open connections stay open.
    public func stopAccepting() async {
        await self.listener.stopAccepting()
    }

    /// Cancels the handlers, aborts the connections and returns when all is closed.
    ///
    /// A handler must respond to cancellation; all suspending functions of this module do.
    public func shutdown() async {
        await self.listener.shutdown()
        self.core.log.finish()
    }
}
#endif
