internal import Curlew
internal import Hummingbird
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// A service with one route, `GET /birds/NAME`, whose answer is put together from three upstreams.
///
/// It runs until its task is cancelled, or until graceful shutdown: then it takes no more connections, answers what it
/// has, and lets its session end.
public struct AggregatorService: Service {
    let upstreams: Upstreams
    let port: Int
    let deadline: Duration
    let logger: Logger
    let onRunning: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - upstreams: Where the parts come from.
    ///   - port: The port on 127.0.0.1; 0 takes a free one.
    ///   - deadline: How long an upstream may take, retries included.
    ///   - logger: Takes what the service and its session have to say.
    ///   - onRunning: Called with the port once connections are taken.
    public init(
        upstreams: Upstreams, port: Int, deadline: Duration = .seconds(2), logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.upstreams = upstreams
        self.port = port
        self.deadline = deadline
        self.logger = logger
        self.onRunning = onRunning
    }

    public func run() async throws {
        // One session for all requests: they share its connections, and the budget for trying again.
        let session = try HTTPSession(chain: StandardChain.Options(logger: logger))
        let pages = BirdPages(session: session, upstreams: upstreams, deadline: deadline)
        let application = Application(
            router: Self.router(pages),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { [onRunning] channel in await onRunning(channel.localAddress?.port ?? 0) },
            logger: logger)
        do {
            try await application.run()
        } catch {
            await session.shutdown(deadline: .zero)
            throw error
        }
        await session.shutdown(deadline: .seconds(5))
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
