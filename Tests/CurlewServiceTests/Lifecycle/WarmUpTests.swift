#if Service
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("Warm-up of connections", .noLeaks)
struct WarmUpTests {
    @Test("a request after the warm-up uses the connection that it opened")
    func reuse() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .notFound) }
        let api = try HTTPSession(baseURL: server.url(), defaultFields: [.authorization: "Bearer s3cret"])
        let outcomes = await api.warmUp([""])
        #expect(outcomes.map(\.isConnected) == [true])
        #expect(outcomes.first?.status == .notFound)
        let (tasks, made) = AsyncStream.makeStream(of: TaskActor.self)
        var request = CurlewRequest(.get, try api.resolve("birds"))
        request.options.onTask = { made.yield($0) }
        await (try await api.send(request)).discard()
        for await task in tasks {
            #expect(await task.metrics.last?.isReused == true)
            break
        }
        let warming = try #require(await server.takeRequest())
        #expect(warming.method == .head)
        #expect(warming.fields[.authorization] == nil)
        #expect(server.connectionCounts.accepted == 1)
        await api.shutdown()
        await server.shutdown()
    }

    @Test("each URL has an outcome, in order, and a failure is an outcome")
    func outcomes() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let refused = try RefusedPort.unused()
        let api = try HTTPSession()
        let outcomes = await api.warmUp([refused.url(), server.url(), "ftp://example.com/", "relative"])
        #expect(outcomes.map(\.url) == [refused.url(), server.url(), "ftp://example.com/", "relative"])
        #expect(outcomes.map(\.error?.code) == [.connectionRefused, nil, .unsupportedScheme, .invalidURL])
        await api.shutdown()
        #expect(await api.warmUp([server.url()]).first?.error?.code == .sessionInvalidated)
        #expect(await api.warmUp([]).isEmpty)
        await server.shutdown()
    }

    @Test("the number of concurrent requests is limited")
    func bounded() async throws {
        let gate = TestClock()
        let server = try await MockServer.start { _ in
            try await gate.sleep(for: .seconds(1))
            return MockResponse()
        }
        let api = try HTTPSession()
        let urls = (0..<4).map { server.url("/\($0)") }
        let warming = Task { await api.warmUp(urls, concurrency: 2) }
        try await gate.waitForSleepers(2)
        #expect(server.requestCount == 2)
        gate.advance(by: .seconds(1))
        try await gate.waitForSleepers(2)
        #expect(server.requestCount == 4)
        gate.advance(by: .seconds(1))
        #expect(await warming.value.allSatisfy { $0.isConnected })
        await api.shutdown()
        await server.shutdown()
    }

    @Test("a request without an answer at the time limit has failed", arguments: [1, 4])
    func time(_ count: Int) async throws {
        let never = TestClock()
        let server = try await MockServer.start { _ in
            try await never.sleep(for: .seconds(1))
            return MockResponse()
        }
        let api = try HTTPSession()
        let urls = (0..<4).map { server.url("/\($0)") }
        let outcomes = await api.warmUp(urls, timeout: .milliseconds(50), concurrency: count)
        #expect(outcomes.map(\.error?.code) == [.totalTimeout, .totalTimeout, .totalTimeout, .totalTimeout])
        #expect(await api.warmUp(urls, timeout: .seconds(-1)).allSatisfy { $0.error?.code == .totalTimeout })
        await api.shutdown()
        await server.shutdown()
    }

    @Test("cancelling the task ends the warm-up")
    func cancelled() async throws {
        let never = TestClock()
        let server = try await MockServer.start { _ in
            try await never.sleep(for: .seconds(1))
            return MockResponse()
        }
        let api = try HTTPSession()
        let url = server.url()
        let warming = Task { await api.warmUp([url, url], timeout: .seconds(1000), concurrency: 1) }
        try await never.waitForSleepers(1)
        warming.cancel()
        #expect(await warming.value.map(\.error?.code) == [.cancelled, .cancelled])
        await api.shutdown()
        await server.shutdown()
    }

    @Test("a transport that is not a session is warmed up too")
    func stub() async throws {
        struct Failing: Transport {
            struct Failure: Error {}
            func send(_ request: CurlewRequest) async throws -> CurlewResponse { throw Failure() }
        }
        let api = try HTTPSession(baseURL: "https://example.com/", transport: Failing())
        let outcome = try #require(await api.warmUp([""]).first)
        #expect(outcome.error?.code == .connectionFailed)
        #expect(outcome.error?.underlying is Failing.Failure)
    }
}
#endif
