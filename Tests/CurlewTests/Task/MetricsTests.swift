import Curlew
import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import Testing

@Suite("The metrics of a task", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct MetricsTests {
    @Test("the metrics of an upload and its response are complete, with start and end")
    func upload() async throws {
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse(body: .pattern(count: 100_000))
        }
        let session = try makeSession()
        let before = Date().addingTimeInterval(-1)
        let task = try #require(session.session).uploadTask(
            CurlewRequest(.put, server.url()), from: .bytes(Array(repeating: 1, count: 50_000)))
        #expect(await task.metrics.start == nil)
        #expect(await task.metrics.duration == .zero)
        task.resume()
        _ = try await task.response().body.collect(upTo: .mebibytes(1))
        for await progress in task.progress where progress.isFinished {}
        let metrics = await task.metrics
        #expect(await task.metrics == metrics)
        let attempt = try #require(metrics.last)
        #expect(attempt.sentBodyBytes == 50_000 && attempt.receivedBodyBytes == 100_000)
        #expect(metrics.sentBodyBytes == 50_000 && metrics.receivedBodyBytes == 100_000)
        #expect(attempt.sentFieldBytes > 0 && attempt.receivedHeadBytes > 0)
        #expect(attempt.connect != nil && attempt.firstByte != nil && attempt.tls == nil)
        #expect(attempt.remotePort == server.port && !attempt.isReused && !attempt.isProxied)
        #expect(attempt.version == .http11)
        let start = try #require(metrics.start)
        let end = try #require(metrics.end)
        #expect(before < start && start <= end && end < Date().addingTimeInterval(1))
        #expect(metrics.duration > .zero && metrics.suspended == .zero)
    }

    @Test("the metrics have the duration of suspensions, and report the use of a proxy")
    func suspended() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let proxy = try await MockProxy.start()
        let address = try Proxy("http://127.0.0.1:\(proxy.port)")
        let session = try makeSession { $0.proxy = .proxy(address) }
        let task = try #require(session.session).dataTask(CurlewRequest(.get, server.url()))
        task.resume()
        task.suspend()
        let early = await task.metrics
        #expect(early.attempts.isEmpty && early.start != nil)
        try await session.letTurnsPass()
        task.resume()
        _ = try await task.response().body.collect(upTo: 10)
        for await progress in task.progress where progress.isFinished {}
        let metrics = await task.metrics
        #expect(metrics.suspended > .zero && metrics.suspended <= metrics.duration)
        #expect(metrics.start == early.start)
        #expect(metrics.last?.isProxied == true)
    }
}
