#if TestKit
/// An HTTP server for tests: it answers from a queue or by a handler, records what it was asked, and listens on a
/// free loopback port.
///
///     let server = try await MockServer.start()
///     server.enqueue(MockResponse(body: "hello"))
///     … request server.url("/greeting") …
///     let request = await server.takeRequest()
///
/// A request is answered by the first response in the queue, else by the handler, else with 404. HTTP/1.1 and HTTP/2
/// are spoken in cleartext and over TLS. A server that is dropped ends by itself; ``shutdown()`` also waits for it.
public final class MockServer: Sendable {
    /// Answers a request. It is cancelled when the client goes away or the server ends.
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
    ///   - configuration: Where and how it listens.
    ///   - handler: What answers requests for which no response is queued. It gets the head at once and may read the
    ///     body while the response's body is being sent. A body of at most 4 KiB with `Content-Length` is received before
    ///     the response is sent, unless that is a stream or its ``MockResponse/expectation`` is `answersAtOnce`. What the
    ///     handler throws is answered with 500.
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
            serve: { await core.serve($0, $1) }
        )
        let server = MockServer(core: core, listener: listener)
        ServerScope.adopt { await server.shutdown() }
        return server
    }

    /// Adds responses to the queue; each answers one request, on whatever connection it comes.
    public func enqueue(_ responses: MockResponse...) {
        self.core.enqueue(responses)
    }

    /// The port it listens on; 0 on a Unix socket.
    public var port: Int { self.listener.port }

    /// The address of `path` on this server, as text: `http://127.0.0.1:49152/path`.
    public func url(_ path: String = "/") -> String {
        self.listener.url(path, usesTLS: self.core.configuration.tls != nil)
    }

    /// Stops accepting: the port refuses from now on, open connections live on.
    public func stopAccepting() async {
        await self.listener.stopAccepting()
    }

    /// Cancels the handlers, aborts the connections and returns when all is closed.
    ///
    /// A handler must answer to cancellation, as everything that suspends in this module does.
    public func shutdown() async {
        await self.listener.shutdown()
        self.core.log.finish()
    }
}
#endif
