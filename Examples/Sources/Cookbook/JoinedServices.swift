import Curlew
import CurlewService
import Hummingbird
import Logging
import Metrics
import ServiceLifecycle
import Tracing

private struct Profile: Codable, Sendable { let name: String }
private struct Order: Codable, Sendable { let id: Int }
private struct Offer: Codable, Sendable { let title: String }

private struct Page: ResponseEncodable, Sendable {
    let profile: Profile
    let orders: [Order]?
    let offers: [Offer]?
}

/// A server on Hummingbird: a page from three services under one deadline, a proxy for the rest, metrics, traces and a
/// graceful shutdown.
public struct ShopServer: Service {
    public let port: Int
    public let upstreams: (users: String, orders: String, offers: String)
    public let deadline: Duration
    public var metrics: (any MetricsFactory)?
    public var tracer: (any Tracer)?
    public let onRunning: @Sendable (Int) async -> Void

    public init(
        port: Int, users: String, orders: String, offers: String, deadline: Duration = .milliseconds(500),
        onRunning: @escaping @Sendable (Int) async -> Void
    ) {
        (self.port, upstreams, self.deadline) = (port, (users, orders, offers), deadline)
        self.onRunning = onRunning
    }

    /// Runs until SIGTERM, or until the task is cancelled.
    public func run() async throws {
        let logger = Logger(label: "shop")
        let client = try HTTPSession(chain: StandardChain.Options(logger: logger)) {
            RequestMetrics(factory: metrics)
            RequestTracing(tracer: tracer)
        }
        let orders = try HTTPSession(baseURL: upstreams.orders, transport: client.transport, chain: .bare)
        let rules = try HTTPSession.Forwarding(named: "shop")
        let router = Router()
        router.get("page/:user") { [upstreams, deadline] _, context in
            let user = try context.parameters.require("user")
            return try await withDeadline(deadline, field: HTTPField.Name("X-Deadline-Ms")!) {
                async let profile = client.get("\(raw: upstreams.users)/users/\(user)", as: Profile.self)
                async let orders = try? client.get("\(raw: upstreams.orders)/orders/\(user)", as: [Order].self)
                async let offers = try? client.get("\(raw: upstreams.offers)/offers/\(user)", as: [Offer].self)
                return Page(profile: try await profile, orders: await orders, offers: await offers)
            }
        }
        for method in [HTTPRequest.Method.get, .post, .put, .delete] {
            router.on("proxy/**", method: method) { request, _ in
                let target = String((request.head.path ?? "/").dropFirst("/proxy".count))
                let answer = try await orders.forward(request.head, body: request.body, to: target, as: rules)
                let body = ResponseBody { writer in
                    try await answer.send {
                        try await writer.write($0)
                    } finish: {
                        try await writer.finish($0)
                    }
                }
                return Response(status: answer.status, headers: answer.fields, body: body)
            }
        }
        let server = Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { [onRunning] in await onRunning($0.localAddress?.port ?? 0) }, logger: logger)
        let group = ServiceGroup(
            services: [SessionService(client, logger: logger), server], gracefulShutdownSignals: [.sigterm],
            logger: logger)
        try await group.run()
    }
}
