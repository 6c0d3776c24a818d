import Curlew
import CurlewService
import CurlewTesting
import Gateway
import Logging
import ServiceLifecycle

/// A gateway between an upstream and a client, for one test.
struct Passage {
    let port: Int
    /// A client that changes no message.
    let client: HTTPSession
    let group: ServiceGroup
    private let running: Task<Void, any Error>

    /// - Parameter upstream: The base URL of the upstream.
    static func start(
        to upstream: String, rules: (inout HTTPSession.Forwarding) throws -> Void = { _ in },
        configuration: SessionConfiguration = SessionConfiguration()
    ) async throws -> Passage {
        let (ports, tell) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let session = try HTTPSession(baseURL: upstream, configuration: configuration, chain: .bare)
        var forwarding = try HTTPSession.Forwarding(named: "edge")
        try rules(&forwarding)
        let service = GatewayService(
            upstream: session, rules: forwarding, port: 0, logger: logger, onRunning: { tell.yield($0) })
        let group = ServiceGroup(services: [SessionService(session, logger: logger), service], logger: logger)
        let running = Task {
            defer { tell.finish() }
            try await group.run()
        }
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next(isolation: #isolation) else {
            try await running.value
            throw CancellationError()
        }
        let client = try HTTPSession(baseURL: "http://127.0.0.1:\(port)/", chain: .bare)
        return Passage(port: port, client: client, group: group, running: running)
    }

    /// Ends all parts; the gateway gracefully.
    func close() async throws {
        await client.shutdown()
        await group.triggerGracefulShutdown()
        try await running.value
    }
}
