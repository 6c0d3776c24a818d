#if Service
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Dispatch
import HTTPTypes
import Metrics
import MetricsTestKit
import Testing

@testable import CurlewService

/// A client with metrics, and its server.
private struct MetricsScene {
    let backend = TestMetrics()
    let server: MockServer
    let metrics: RequestMetrics
    let api: HTTPSession

    init(
        chain: StandardChain.Options? = .quick(),
        adjust: (inout SessionConfiguration) -> Void = { _ in },
        answer: @escaping @Sendable (InboundRequest) async throws -> MockResponse
    ) async throws {
        server = try await MockServer.start { try await answer($0) }
        let metrics = RequestMetrics(factory: backend)
        self.metrics = metrics
        var configuration = testConfiguration()
        adjust(&configuration)
        api = try HTTPSession(configuration: configuration, chain: chain) { metrics }
    }

    /// Reads a response, waits for the end of its exchange, and updates the gauges.
    func fetch(_ path: String = "/", _ method: HTTPRequest.Method = .get) async throws {
        let response = try await api.send(method, .raw(server.url(path)))
        _ = try await response.body.collect(upTo: .mebibytes(1))
    }

    func close() async {
        await api.shutdown()
        await metrics.flush()
    }

    func serverLabels(_ more: (String, String)...) -> [(String, String)] {
        [("server.address", "127.0.0.1"), ("server.port", "\(server.port)")] + more
    }

    func counter(_ name: String, _ labels: [(String, String)]) -> Int64? {
        (try? backend.expectCounter("curlew.client.\(name)", labels))?.totalValue
    }

    func gauge(_ name: String, _ labels: [(String, String)] = []) -> Double? {
        (try? backend.expectGauge(name, labels))?.lastValue
    }
}

@Suite("Metrics of calls", .noLeaks, .timeLimit(.minutes(5)))
struct RequestMetricsTests {
    @Test("a call, its exchange and its bytes are measured under their labels")
    func call() async throws {
        let scene = try await MetricsScene { request in
            for try await _ in request.body {}
            return MockResponse(status: .created, body: "0123456789")
        }
        let body = CurlewRequest.Body.string("four")
        _ = try await scene.api.send(.post, .raw(scene.server.url()), .body(body)).body.collect(upTo: 10)
        await scene.close()
        let outcome = ("http.response.status_class", "2xx")
        let duration = try scene.backend.expectTimer(
            "http.client.request.duration", [("http.request.method", "POST")] + scene.serverLabels(outcome))
        #expect(duration.values.count == 1 && duration.values[0] > 0)
        let exchange = try scene.backend.expectTimer("curlew.client.exchange.duration", scene.serverLabels(outcome))
        #expect(exchange.values.count == 1)
        #expect(try scene.backend.expectTimer("curlew.client.connection.wait", scene.serverLabels()).values.count == 1)
        let sent = try scene.backend.expectRecorder("http.client.request.body.size", scene.serverLabels())
        let received = try scene.backend.expectRecorder("http.client.response.body.size", scene.serverLabels())
        #expect(sent.values == [4] && received.values == [10])
        #expect(scene.counter("connections.opened", scene.serverLabels()) == 1)
    }

    @Test("redirects and retries are counted, and retries have their reasons as labels")
    func repetitions() async throws {
        let scene = try await MetricsScene { request in
            if request.path == "/" { return MockResponse(status: .found, fields: [.location: "/end"]) }
            return MockResponse(body: "end")
        }
        scene.server.enqueue(
            MockResponse(status: .found, fields: [.location: "/end"]), MockResponse(status: .serviceUnavailable))
        try await scene.fetch()
        await scene.close()
        #expect(scene.counter("redirects", scene.serverLabels()) == 1)
        #expect(scene.counter("retries", scene.serverLabels(("http.response.status_class", "5xx"))) == 1)
        for (status, count) in [("2xx", 1), ("3xx", 1), ("5xx", 1)] {
            let labels = scene.serverLabels(("http.response.status_class", status))
            #expect(try scene.backend.expectTimer("curlew.client.exchange.duration", labels).values.count == count)
        }
        #expect(scene.backend.timers(label: "http.client.request.duration").flatMap(\.values).count == 1)
    }

    @Test("a hedge is counted")
    func hedges() async throws {
        let scene = try await MetricsScene(chain: .bare) { _ in MockResponse(body: "x") }
        let clock = TestClock()
        let gate = Gate()
        let slow = Guarded(true)
        let server = try await MockServer.start { _ in
            if slow.withLock({ slow in
                defer { slow = false }
                return slow
            }) {
                try await gate.wait()
            }
            return MockResponse(body: "x")
        }
        let api = try HTTPSession(configuration: testConfiguration(), chain: .bare) {
            scene.metrics
            Hedging(after: .seconds(1), clock: clock)
        }
        async let answer = api.get(.raw(server.url())).body.collect(upTo: 10)
        try await server.waitForRequests(1)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        _ = try await answer
        gate.open()
        await api.shutdown()
        await scene.metrics.flush()
        let labels = [("server.address", "127.0.0.1"), ("server.port", "\(server.port)")]
        #expect(scene.counter("hedges", labels) == 1)
    }

    @Test("a failure has its code as a label, and so has a cancellation")
    func failures() async throws {
        let scene = try await MetricsScene(chain: .quick(1)) { _ in
            try await Gate().wait()
            return MockResponse()
        }
        let refused = try HTTPSession(configuration: testConfiguration(), chain: .bare) { scene.metrics }
        let port = try await closedPort()
        await #expect(throws: CurlewError.self) { try await refused.get(.raw("http://127.0.0.1:\(port)/")) }
        let task = Task { try await scene.fetch() }
        try await scene.server.waitForRequests(1)
        task.cancel()
        _ = await task.result
        await refused.shutdown()
        await scene.close()
        let timers = scene.backend.timers(label: "http.client.request.duration")
        let codes = timers.flatMap { $0.dimensions.filter { $0.0 == "error.type" }.map(\.1) }
        #expect(Set(codes) == ["connection-refused", "cancelled"])
    }

    @Test("the results of a cache are counted")
    func cache() async throws {
        let scene = try await MetricsScene(chain: .caching()) { _ in
            MockResponse(fields: [.cacheControl: "max-age=60"], body: "x")
        }
        for _ in 0..<3 { try await scene.fetch() }
        await scene.close()
        #expect(scene.counter("cache.results", [("cache.result", "miss")]) == 1)
        #expect(scene.counter("cache.results", [("cache.result", "hit")]) == 2)
        #expect(scene.backend.timers(label: "curlew.client.exchange.duration").flatMap(\.values).count == 1)
    }

    @Test("gauges show running calls, waiting calls and connections")
    func gauges() async throws {
        let gate = Gate()
        let scene = try await MetricsScene { configuration in
            configuration.tasksInFlight = 3
            configuration.connections.perHost = 2
        } answer: { _ in
            try await gate.wait()
            return MockResponse(body: "x")
        }
        let tasks = (0..<4).map { _ in Task { try await scene.fetch() } }
        try await scene.server.waitForRequests(2)
        try await eventually("one waits in the queue") {
            await scene.metrics.flush()
            return scene.gauge("curlew.client.queue.length") == 1
        }
        #expect(scene.gauge("http.client.active_requests") == 4)
        #expect(scene.gauge("curlew.client.streams") == 2)
        #expect(scene.gauge("curlew.client.connection.waiters") == 1)
        #expect(scene.gauge("http.client.open_connections", [("http.connection.state", "active")]) == 2)
        #expect(scene.gauge("http.client.open_connections", [("http.connection.state", "pending")]) == 0)
        gate.open()
        for task in tasks { try await task.value }
        try await eventually("both connections are idle") {
            await scene.metrics.flush()
            return scene.gauge("http.client.open_connections", [("http.connection.state", "idle")]) == 2
        }
        #expect(scene.gauge("http.client.open_connections", [("http.connection.state", "active")]) == 0)
        #expect(scene.gauge("http.client.active_requests") == 0)
        #expect(scene.gauge("curlew.client.queue.length") == 0)
        await scene.close()
    }

    @Test("circuit changes are counted, and the state is a gauge")
    func circuit() async throws {
        let backend = TestMetrics()
        let metrics = RequestMetrics(factory: backend)
        let server = try await MockServer.start { request in
            MockResponse(status: request.path == "/ok" ? .ok : .badGateway)
        }
        let clock = TestClock()
        let api = try HTTPSession(configuration: testConfiguration(), chain: .bare) {
            metrics
            CircuitBreaker(CircuitBreaker.Policy(minimumCalls: 2, firstWait: .seconds(1), probes: 1), clock: clock)
        }
        let labels = [("server.address", "127.0.0.1"), ("server.port", "\(server.port)")]
        for _ in 0..<2 { _ = try await api.get(.raw(server.url())).body.collect(upTo: 10) }
        await metrics.flush()
        #expect(try backend.expectGauge("curlew.client.circuit.state", labels).lastValue == 2)
        clock.advance(by: .seconds(1))
        _ = try await api.get(.raw(server.url("/ok"))).body.collect(upTo: 10)
        await api.shutdown()
        await metrics.flush()
        #expect(try backend.expectGauge("curlew.client.circuit.state", labels).lastValue == 0)
        for state in ["open", "half-open", "closed"] {
            let counter = try backend.expectCounter(
                "curlew.client.circuit.transitions", labels + [("curlew.circuit.state", state)])
            #expect(counter.totalValue == 1)
        }
    }

    @Test("a circuit over several origins has no label of a server")
    func circuitOfATag() async throws {
        let backend = TestMetrics()
        let metrics = RequestMetrics(factory: backend)
        let server = try await MockServer.start { _ in MockResponse(status: .badGateway) }
        let breaker = CircuitBreaker(CircuitBreaker.Policy(minimumCalls: 1), per: .tag)
        let api = try HTTPSession(configuration: testConfiguration(), chain: .bare) {
            metrics
            breaker
        }
        _ = try await api.get(.raw(server.url())).body.collect(upTo: 10)
        await api.shutdown()
        await metrics.flush()
        #expect(breaker.states == ["": .open])
        #expect(!backend.counters.contains { $0.label == "curlew.client.circuit.transitions" })
    }

    @Test("the level of a retry budget is a gauge")
    func budget() async throws {
        let budget = Retry.Budget(extraLoad: 0, reserve: 2, clock: TestClock())
        let backend = TestMetrics()
        let metrics = RequestMetrics(factory: backend, budget: budget)
        let server = try await MockServer.start { _ in MockResponse(status: .serviceUnavailable) }
        let api = try HTTPSession(configuration: testConfiguration(), chain: .bare) {
            metrics
            quickRetry(2, budget: budget)
        }
        _ = try await api.get(.raw(server.url())).body.collect(upTo: 10)
        await api.shutdown()
        await metrics.flush()
        #expect(try backend.expectGauge("curlew.client.retry.budget").lastValue == 1)
    }

    @Test("a hundred thousand host names produce only the allowed number of labels")
    func manyHosts() async throws {
        let backend = TestMetrics()
        let metrics = RequestMetrics(factory: backend, hostLimit: 10)
        let transport = StubTransport { _ in .response(body: "x") }
        let api = try HTTPSession(transport: transport, chain: .bare) { metrics }
        for number in 0..<100_000 {
            _ = try await api.get(.raw("http://host-\(number).example/")).body.collect(upTo: 10)
            if number % 4000 == 0 { await metrics.flush() }
        }
        await metrics.flush()
        let timers = backend.timers(label: "http.client.request.duration")
        #expect(timers.count == 11)
        #expect(timers.contains { $0.dimensions.contains { $0 == ("server.address", "_OTHER") } })
        let recorded = timers.reduce(0) { $0 + $1.values.count }
        #expect(Int64(recorded) + backend.counterTotal(label: "curlew.client.metrics.dropped") == 100_000)
    }

    @Test("unregistered methods share a label")
    func methods() async throws {
        let scene = try await MetricsScene(chain: .bare) { _ in MockResponse(body: "x") }
        for name in ["BREW", "PROPFIND", "GET"] { try await scene.fetch("/", HTTPRequest.Method(name)!) }
        await scene.close()
        let timers = scene.backend.timers(label: "http.client.request.duration")
        #expect(Set(timers.map { $0.dimensions[0].1 }) == ["_OTHER", "GET"])
    }

    @Test("a backend that blocks delays no call, and its missed events are counted")
    func blockingBackend() async throws {
        let backend = BlockingMetrics()
        let metrics = RequestMetrics(factory: backend)
        let transport = StubTransport { _ in .response(body: "x") }
        let api = try HTTPSession(transport: transport, chain: .bare) { metrics }
        _ = try await api.get(.raw("http://example.com/")).body.collect(upTo: 10)
        try await eventually("the backend blocks") { backend.isBlocked }
        for _ in 0..<10_000 { _ = try await api.get(.raw("http://example.com/")).body.collect(upTo: 10) }
        backend.unblock()
        await metrics.flush()
        await metrics.flush()
        let recorded = backend.metrics.timers(label: "http.client.request.duration").flatMap(\.values).count
        #expect(recorded == 1 + 8192)
        #expect(backend.metrics.counterTotal(label: "curlew.client.metrics.dropped") == 10_000 - 8192)
    }

    @Test("each recorded metric is described with its labels, and each described metric is recorded")
    func descriptions() async throws {
        let budget = Retry.Budget(extraLoad: 0, reserve: 2)
        let backend = TestMetrics()
        let metrics = RequestMetrics(factory: backend, budget: budget)
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.cacheControl: "max-age=60"], body: "x")
        }
        server.enqueue(
            MockResponse(status: .found, fields: [.location: "/end"]), MockResponse(status: .serviceUnavailable))
        var options = StandardChain.Options.caching()
        options.retry = quickRetry(2, budget: budget)
        let api = try HTTPSession(configuration: testConfiguration(), chain: options) { metrics }
        _ = try await api.get(.raw(server.url("/"))).body.collect(upTo: 10)
        _ = try await api.send(.post, .raw(server.url("/")), .body(.string("x"))).body.collect(upTo: 10)
        await api.shutdown()
        await metrics.flush()
        let recorded =
            backend.timers.map { ($0.label, $0.dimensions) } + backend.recorders.map { ($0.label, $0.dimensions) }
            + backend.counters.map { ($0.label, $0.dimensions) }
        for (name, labels) in recorded {
            let description = RequestMetrics.all.first { $0.name == name }
            #expect(description != nil, "\(name)")
            #expect(Set(labels.map(\.0)).isSubset(of: description?.labels ?? []), "\(name) \(labels)")
        }
        let names = Set(recorded.map(\.0))
        // Hedges, drops and circuits do not occur here; they have their own tests.
        let others: Set = [
            "curlew.client.hedges", "curlew.client.metrics.dropped", "curlew.client.circuit.state",
            "curlew.client.circuit.transitions",
        ]
        #expect(Set(RequestMetrics.all.map(\.name)).subtracting(others).subtracting(names).isEmpty)
        #expect(Set(RequestMetrics.all.map(\.name)).count == RequestMetrics.all.count)
    }

    @Test("the gauges are released with the session")
    func lifetime() async throws {
        let backend = TestMetrics()
        let metrics = RequestMetrics(factory: backend, gaugeInterval: .milliseconds(10))
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        weak var session: SessionActor?
        do {
            let api = try HTTPSession(configuration: testConfiguration(), chain: .bare) { metrics }
            session = api.session
            _ = try await api.get(.raw(server.url())).body.collect(upTo: 10)
            try await eventually("the gauges are read") { (try? backend.expectGauge("curlew.client.streams")) != nil }
            await api.shutdown()
        }
        try await eventually("the session goes") { session == nil }
    }
}

/// A port without a listener.
private func closedPort() async throws -> Int {
    let server = try await MockServer.start { _ in MockResponse() }
    let port = server.port
    await server.shutdown()
    return port
}

/// Metrics whose timers block until they are released.
private final class BlockingMetrics: MetricsFactory {
    let metrics = TestMetrics()
    private let blocked = Guarded(false)
    private let gate = DispatchSemaphore(value: 0)

    var isBlocked: Bool { blocked.withLock { $0 } }

    func unblock() { gate.signal() }

    private func block() {
        blocked.withLock { $0 = true }
        gate.wait()
        gate.signal()
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        block()
        return metrics.makeTimer(label: label, dimensions: dimensions)
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        metrics.makeCounter(label: label, dimensions: dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        metrics.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    func destroyCounter(_ handler: any CounterHandler) { metrics.destroyCounter(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { metrics.destroyRecorder(handler) }
    func destroyTimer(_ handler: any TimerHandler) { metrics.destroyTimer(handler) }
}
#endif
