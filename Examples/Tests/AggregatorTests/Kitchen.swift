import Aggregator
import Curlew
import CurlewService
import CurlewTesting
import Logging
import ServiceLifecycle

/// The service between three upstreams and a client, for one test.
struct Kitchen {
    let upstreams: [MockServer]
    let client: HTTPSession
    let group: ServiceGroup
    private let running: Task<Void, any Error>

    static func start(
        deadline: Duration = .seconds(30), species: @escaping MockServer.Handler,
        sightings: @escaping MockServer.Handler, weather: @escaping MockServer.Handler
    ) async throws -> Kitchen {
        var upstreams: [MockServer] = []
        for handler in [species, sightings, weather] { upstreams.append(try await MockServer.start(handler: handler)) }
        let (ports, tell) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let session = try HTTPSession(chain: StandardChain.Options(logger: logger))
        let service = AggregatorService(
            session: session,
            upstreams: Upstreams(
                species: upstreams[0].url("/species"), sightings: upstreams[1].url("/sightings"),
                weather: upstreams[2].url("/weather")),
            port: 0, deadline: deadline, logger: logger,
            onRunning: { tell.yield($0) })
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
        return Kitchen(upstreams: upstreams, client: client, group: group, running: running)
    }

    /// Ends all parts; the service gracefully.
    func close() async throws {
        await group.triggerGracefulShutdown()
        await client.shutdown()
        try await running.value
        for upstream in upstreams { await upstream.shutdown() }
    }
}

/// A barrier that opens when the given number of tasks has arrived, repeatedly.
actor Gathering {
    private let size: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(of size: Int) { self.size = size }

    func arrive(_ response: MockResponse) async throws -> MockResponse {
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            guard waiting.count == size else { return }
            for waiter in waiting { waiter.resume() }
            waiting = []
        }
        return response
    }
}
