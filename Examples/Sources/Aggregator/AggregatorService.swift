public import Curlew
internal import Hummingbird
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// A service with one route, `GET /birds/NAME`, whose answer combines data from three upstreams.
///
/// The service runs until its task is cancelled, or until graceful shutdown: then it accepts no more connections, and
/// answers its running requests. Its session is a separate service, which precedes this one in the group: a group shuts
/// down in reverse order.
public struct AggregatorService: Service {
    let session: HTTPSession
    let upstreams: Upstreams
    let port: Int
    let deadline: Duration
    let logger: Logger
    let onRunning: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - session: Sends all requests to the upstreams: they share its connections, and the budget for retries.
    ///   - upstreams: The base URLs of the upstreams.
    ///   - port: The port on 127.0.0.1; 0 chooses a free one.
    ///   - deadline: The time limit for an upstream, retries included.
    ///   - logger: Receives the service's log.
    ///   - onRunning: Called with the port once connections are accepted.
    public init(
        session: HTTPSession, upstreams: Upstreams, port: Int, deadline: Duration = .seconds(2), logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.session = session
        self.upstreams = upstreams
        self.port = port
        self.deadline = deadline
        self.logger = logger
        self.onRunning = onRunning
    }

    public func run() async throws {
        let pages = BirdPages(session: session, upstreams: upstreams, deadline: deadline)
        let application = Application(
            router: Self.router(pages),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { [onRunning] channel in await onRunning(channel.localAddress?.port ?? 0) },
            logger: logger)
        try await application.run()
    }

    private static func router(_ pages: BirdPages) -> Router<BasicRequestContext> {
        let router = Router()
        router.get("birds/:name") { request, context in
            let bird = try context.parameters.require("name")
            // The name becomes part of other URLs, so characters with a meaning there are refused.
            guard bird.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x2D }) else {
                throw HTTPError(.badRequest, message: "a name has small letters and hyphens")
            }
            // The page's task is cancelled when the client disconnects, and its upstream requests are cancelled with
            // it.
            return try await request.body.consumeWithCancellationOnInboundClose { _ in
                try await pages.page(of: bird, logger: context.logger)
            }
        }
        return router
    }
}
