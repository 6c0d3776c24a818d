public import Curlew
internal import Hummingbird
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// A service with one route, `GET /birds/NAME`, whose answer is put together from three upstreams.
///
/// It runs until its task is cancelled, or until graceful shutdown: then it takes no more connections, and answers what it
/// has. Its session is a service of its own, which stands before this one in the group: a group shuts down in reverse order.
public struct AggregatorService: Service {
    let session: HTTPSession
    let upstreams: Upstreams
    let port: Int
    let deadline: Duration
    let logger: Logger
    let onRunning: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - session: Asks the upstreams, for all requests: they share its connections, and the budget for trying again.
    ///   - upstreams: Where the parts come from.
    ///   - port: The port on 127.0.0.1; 0 takes a free one.
    ///   - deadline: How long an upstream may take, retries included.
    ///   - logger: Takes what the service has to say.
    ///   - onRunning: Called with the port once connections are taken.
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
            // The name becomes a part of other URLs: nothing that means something there passes.
            guard bird.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x2D }) else {
                throw HTTPError(.badRequest, message: "a name has small letters and hyphens")
            }
            // When the client hangs up, the task of the page is cancelled, and with it what goes on upstream.
            return try await request.body.consumeWithCancellationOnInboundClose { _ in
                try await pages.page(of: bird, logger: context.logger)
            }
        }
        return router
    }
}
