#if TestKit
internal import NIOCore
internal import NIOHTTP1

/// The shared state of a ``MockServer`` and the tasks of its connections. It holds no reference to the server, so that
/// the server's deinitialization stops them.
final class MockServerCore: Sendable {
    let configuration: MockServer.Configuration
    let handler: MockServer.Handler?
    let log: RequestLog
    let faults: FaultScript
    private let queue = Watched<[MockResponse]>([])

    init(configuration: MockServer.Configuration, handler: MockServer.Handler?) {
        self.configuration = configuration
        self.handler = handler
        self.faults = FaultScript(
            FaultGround(
                usesTLS: configuration.tls != nil,
                speaksHTTP2: configuration.protocols.contains(.http2)
            )
        )
        self.log = RequestLog(
            countLimit: configuration.recordedRequestLimit,
            bytesLimit: configuration.recordedBytesLimit
        )
    }

    func enqueue(_ responses: [MockResponse]) {
        self.queue.update { $0.append(contentsOf: responses) }
    }

    func dequeue() -> MockResponse? {
        self.queue.update { $0.isEmpty ? nil : $0.removeFirst() }
    }

    /// The number of queued responses.
    var queueLength: Int { self.queue.update { $0.count } }

    /// Builds the HTTP layer. Must be called on the event loop.
    func install(on connection: AcceptedConnection) throws -> EventLoopFuture<HTTPLayer> {
        let channel = connection.channel
        let promise = channel.eventLoop.makePromise(of: HTTPLayer.self)
        let configuration = self.configuration
        let install: @Sendable (Bool) throws -> HTTPLayer = { isHTTP2 in
            try isHTTP2 ? .http2(on: connection, configuration) : .http1(on: connection)
        }
        if let tls = connection.tls {
            promise.completeWith(Result { try install(self.speaksHTTP2(tls.applicationProtocol)) })
        } else if configuration.protocols.contains(.http2) && configuration.protocols.contains(.http11) {
            try channel.pipeline.syncOperations.addHandler(PrefaceSniffer(layer: promise, install: install))
        } else {
            promise.completeWith(Result { try install(configuration.protocols.contains(.http2)) })
        }
        return promise.futureResult
    }

    /// Serves one connection until it ends.
    func serve(_ connection: AcceptedConnection, _ layer: EventLoopFuture<HTTPLayer>) async {
        guard let layer = try? await layer.get() else { return }
        switch layer {
        case .http1(let port): try? await self.serveHTTP1(connection, port)
        case .http2(let multiplexer): await self.serveHTTP2(connection, multiplexer)
        }
    }

    private func speaksHTTP2(_ negotiated: String?) -> Bool {
        switch negotiated {
        case "h2": true
        case nil: self.configuration.protocols == [.http2]
        default: false
        }
    }
}
#endif
