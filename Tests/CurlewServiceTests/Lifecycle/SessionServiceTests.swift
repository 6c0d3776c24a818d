#if Service
import Curlew
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite("A session as a service of a service group", .noLeaks, .timeLimit(.minutes(1)))
struct SessionServiceTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// A server whose answers wait for the clock.
    private func server(waitingFor clock: TestClock) async throws -> MockServer {
        try await MockServer.start { _ in
            try await clock.sleep(for: .seconds(1))
            return MockResponse(body: "ok")
        }
    }

    private func code(_ call: () async throws -> some Any) async -> ErrorCode? {
        do {
            _ = try await call()
            return nil
        } catch {
            return (error as? CurlewError)?.code
        }
    }

    private func isShutDown(_ api: HTTPSession) async -> Bool {
        await code { try await api.get("http://127.0.0.1:1/") } == .sessionInvalidated
    }

    @Test("graceful shutdown refuses new calls, lets running calls end, and closes every connection")
    func graceful() async throws {
        let gate = TestClock()
        let server = try await server(waitingFor: gate)
        let api = try HTTPSession(baseURL: server.url())
        let call = Task { try await api.get("").text() }
        try await gate.waitForSleepers()
        let group = ServiceGroup(services: [SessionService(api, deadline: nil)], logger: Self.quiet)
        let running = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        try await eventually("the session refuses requests") { await isShutDown(api) }
        gate.advance(by: .seconds(1))
        #expect(try await call.value == "ok")
        try await running.value
        #expect(await api.session?.connectionCount() == 0)
        await server.shutdown()
    }

    @Test("calls that still run at the deadline of graceful shutdown are cancelled")
    func deadline() async throws {
        let never = TestClock()
        let server = try await server(waitingFor: never)
        let api = try HTTPSession(baseURL: server.url())
        let call = Task { try await api.get("") }
        try await never.waitForSleepers()
        let group = ServiceGroup(services: [SessionService(api, deadline: .milliseconds(20))], logger: Self.quiet)
        await group.triggerGracefulShutdown()
        try await group.run()
        #expect(await code { try await call.value } == .sessionInvalidated)
        try await server.waitForConnections(open: 0)
        await server.shutdown()
    }

    @Test("a cancelled service group ends its calls at once", arguments: [false, true])
    func cancelled(_ hasBegunShutdown: Bool) async throws {
        let never = TestClock()
        let server = try await server(waitingFor: never)
        let api = try HTTPSession(baseURL: server.url())
        let call = Task { try await api.get("") }
        try await never.waitForSleepers()
        let group = ServiceGroup(services: [SessionService(api, deadline: nil)], logger: Self.quiet)
        let running = Task { try await group.run() }
        if hasBegunShutdown {
            await group.triggerGracefulShutdown()
            try await eventually("the session refuses requests") { await isShutDown(api) }
        }
        running.cancel()
        _ = await running.result
        #expect(await code { try await call.value } == .sessionInvalidated)
        #expect(await api.session?.connectionCount() == 0)
        await server.shutdown()
    }

    @Test("a repeated shutdown ends, and so does the shutdown of two services of one session")
    func twice() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let api = try HTTPSession(baseURL: server.url())
        _ = try await api.get("").text()
        let group = ServiceGroup(services: [SessionService(api), SessionService(api)], logger: Self.quiet)
        await group.triggerGracefulShutdown()
        try await group.run()
        await api.shutdown()
        let second = ServiceGroup(services: [SessionService(api)], logger: Self.quiet)
        await second.triggerGracefulShutdown()
        try await second.run()
        try await server.waitForConnections(open: 0)
        await server.shutdown()
    }

    @Test("shutdown ends while calls wait for a slot or for a connection", arguments: [true, false])
    func waiting(_ isCancelled: Bool) async throws {
        let never = TestClock()
        let server = try await server(waitingFor: never)
        var queued = SessionConfiguration(tasksInFlight: 1)
        queued.timeouts.connectionWait = Timeouts.unlimited
        var crowded = SessionConfiguration(connections: ConnectionLimits(perHost: 1))
        crowded.timeouts.connectionWait = Timeouts.unlimited
        for configuration in [queued, crowded] {
            let api = try HTTPSession(baseURL: server.url(), configuration: configuration)
            let calls = (0..<3).map { _ in Task { try await api.get("") } }
            try await eventually("all calls are under way") { await api.session?.tasks().count == 3 }
            let service = SessionService(api, deadline: isCancelled ? nil : .milliseconds(20))
            await testGracefulShutdown { trigger in
                trigger.triggerGracefulShutdown()
                let running = Task { try await service.run() }
                if isCancelled { running.cancel() }
                _ = await running.result
            }
            for call in calls { #expect(await code { try await call.value } == .sessionInvalidated) }
        }
        await server.shutdown()
    }

    @Test("shutdown does not wait for a call that waits for its retry, and the call is not sent again")
    func backoff() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .serviceUnavailable) }
        let clock = TestClock()
        let api = try HTTPSession(baseURL: server.url(), chain: .bare) { Retry(clock: clock) }
        let call = Task { try await api.get("") }
        try await clock.waitForSleepers()
        let group = ServiceGroup(services: [SessionService(api, deadline: nil)], logger: Self.quiet)
        await group.triggerGracefulShutdown()
        try await group.run()
        clock.advance(by: .seconds(60))
        #expect(await code { try await call.value } == .sessionInvalidated)
        #expect(server.requestCount == 1)
        await server.shutdown()
    }

    @Test("connections are open before the first call, if the service is configured to open them")
    func warm() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let api = try HTTPSession(baseURL: server.url())
        let group = ServiceGroup(services: [SessionService(api, warmUp: [""])], logger: Self.quiet)
        let running = Task { try await group.run() }
        #expect(await server.takeRequest()?.method == .head)
        try await eventually("the connection is idle") { await api.session?.tasks().isEmpty == true }
        #expect(await api.session?.connectionCount() == 1)
        await group.triggerGracefulShutdown()
        try await running.value
        await server.shutdown()
    }

    @Test("a connection that cannot be opened fails the start only if configured", arguments: [true, false])
    func required(_ isRequired: Bool) async throws {
        let refused = try RefusedPort.unused()
        let api = try HTTPSession(baseURL: refused.url())
        let service = SessionService(api, warmUp: [""], requiresWarmUp: isRequired, logger: Self.quiet)
        let group = ServiceGroup(services: [service], logger: Self.quiet)
        if isRequired {
            #expect(await code { try await group.run() } == .connectionRefused)
            #expect(await isShutDown(api))
        } else {
            await group.triggerGracefulShutdown()
            try await group.run()
        }
    }

    @Test("shutdown during the warm-up cancels it without an error", arguments: [true, false])
    func shutdownWhileWarming(_ isGraceful: Bool) async throws {
        let never = TestClock()
        let server = try await server(waitingFor: never)
        let api = try HTTPSession(baseURL: server.url())
        let service = SessionService(
            api, deadline: nil, warmUp: [""], warmUpTimeout: .seconds(1000), requiresWarmUp: true, logger: Self.quiet)
        let group = ServiceGroup(services: [service], logger: Self.quiet)
        let running = Task { try await group.run() }
        try await never.waitForSleepers()
        if isGraceful {
            await group.triggerGracefulShutdown()
            try await running.value
        } else {
            running.cancel()
            _ = await running.result
        }
        #expect(await isShutDown(api))
        await server.shutdown()
    }

    @Test("the name of the service is its origin, without the secrets of its client")
    func description() throws {
        let api = try HTTPSession(
            baseURL: "https://me:s3cret@example.com/v1", defaultFields: [.authorization: "Bearer s3cret"])
        let service = SessionService(api)
        var dumped = ""
        dump(service, to: &dumped)
        #expect("\(api)" == "HTTPSession(https://example.com:443)")
        #expect("\(service)" == "SessionService(https://example.com:443)")
        #expect(!"\(String(reflecting: service)) \(dumped)".contains("s3cret"))
    }
}
#endif
