import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

/// A limit of one byte a second allows one received piece, and the next one hours later.
@Suite(
    "Rate limits of transfers",
    .noLeaks, .noLongTurns, .timeLimit(.minutes(2))
)
struct RateLimitTests {
    private static let nearlyNothing = RateLimit(sending: 1, receiving: 1)
    /// The largest piece of received bytes.
    private static let piece: Int64 = 16 << 10
    /// More bytes than the seconds that a test may take.
    private static let sentAtMost: Int64 = 200

    private func download(http2: Bool, idle: Duration = .seconds(20)) async throws -> (MockServer, HTTPSession) {
        try await serverAndSession(http2: http2, idle: idle) { _ in
            MockResponse(body: .pattern(count: 4 << 20))
        }
    }

    private func expectPattern(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(bytes == BytePattern.bytes(count: 4 << 20), sourceLocation: sourceLocation)
    }

    @Test(
        "a download under a byte a second stops at its first piece, does not time out, and is fast once unlimited",
        arguments: [false, true])
    func receiving(http2: Bool) async throws {
        let (server, session) = try await download(http2: http2, idle: .milliseconds(500))
        var options = RequestOptions()
        options.rateLimit = Self.nearlyNothing
        let response = try await session.get(.raw(server.url()), options: options)
        let task = try #require(response.task)
        #expect(await task.rateLimit == Self.nearlyNothing)
        try await session.letIdleLimitPass()
        #expect(await task.currentProgress.received.wire <= Self.piece)
        #expect(await task.state == .running)
        task.setRateLimit(.none)
        expectPattern(try await response.body.collect(upTo: .mebibytes(4)))
        #expect(await task.rateLimit == .none)
    }

    @Test(
        "an upload under a byte a second is sent byte by byte, does not time out, and is fast once unlimited",
        arguments: [false, true])
    func sending(http2: Bool) async throws {
        let (server, session) = try await serverAndSession(http2: http2, idle: .milliseconds(500)) {
            request in
            var count = 0
            for try await chunk in request.body { count += chunk.count }
            return MockResponse(body: .string("\(count)"))
        }
        let bodies = [
            CurlewRequest.Body.bytes(Array(repeating: 1, count: 1 << 20)),
            .stream {
                AsyncStream {
                    $0.yield(Array(repeating: 1, count: 1 << 20))
                    $0.finish()
                }
            },
        ]
        for body in bodies {
            var request = try CurlewRequest(.put, server.url())
            request.options.rateLimit = RateLimit(sending: 1)
            let task = try #require(session.session).uploadTask(request, from: body)
            task.resume()
            try await session.letIdleLimitPass()
            #expect(await task.currentProgress.sent.wire <= Self.sentAtMost)
            #expect(await task.state == .running)
            task.setRateLimit(.none)
            #expect(try await task.response().body.collect(upTo: 100) == Array("\(1 << 20)".utf8))
        }
    }

    @Test("the tasks of a session share its limit, on one loop and on several", arguments: [1, 2])
    func shared(loops: Int) async throws {
        var configuration = SessionConfiguration()
        configuration.rateLimit = RateLimit(receiving: 1)
        var servers: [MockServer] = []
        // The number of hosts suffices for both loops to get some.
        for _ in 0..<6 {
            servers.append(try await MockServer.start { _ in MockResponse(body: .pattern(count: 4 << 20)) })
        }
        let session = try HTTPSession(
            configuration: configuration, eventLoops: (0..<loops).map { _ in try CurlewEventLoop(name: "curlew-test") },
            chain: .bare)
        let actor = try #require(session.session)
        var responses: [CurlewResponse] = []
        for server in servers { responses.append(try await session.get(.raw(server.url()))) }
        var received: Int64 = 0
        for response in responses { received += try #require(await response.task?.currentProgress).received.wire }
        #expect(received <= Self.piece)
        actor.setRateLimit(RateLimit(receiving: 2))
        #expect(actor.rateLimit == RateLimit(receiving: 2))
        received = 0
        for response in responses { received += try #require(await response.task?.currentProgress).received.wire }
        #expect(received <= 2 * Self.piece)
        actor.setRateLimit(.none)
        for response in responses { expectPattern(try await response.body.collect(upTo: .mebibytes(4))) }
        for server in servers { await server.shutdown() }
    }

    @Test("the lower of two limits applies, and a task's own limit applies only to this task")
    func composed() async throws {
        let (server, session) = try await download(http2: false)
        let actor = try #require(session.session)
        actor.setRateLimit(RateLimit(receiving: 1_000_000_000))
        var options = RequestOptions()
        options.rateLimit = RateLimit(receiving: 1)
        let held = try await session.get(.raw(server.url()), options: options)
        let task = try #require(held.task)
        expectPattern(try await session.fetch(server.url()))
        #expect(await task.currentProgress.received.wire <= Self.piece)
        // The task first has only the session's limit, then only its own.
        actor.setRateLimit(RateLimit(receiving: 1))
        task.setRateLimit(RateLimit(receiving: 1_000_000_000))
        try await settle(task)
        #expect(await task.currentProgress.received.wire <= 3 * Self.piece)
        actor.setRateLimit(.none)
        expectPattern(try await held.body.collect(upTo: .mebibytes(4)))
    }

    /// Lets the task's loop run some turns.
    private func settle(_ task: TaskActor) async throws {
        for _ in 0..<100 { _ = await task.state }
    }

    @Test("the total timeout keeps running under a rate limit", arguments: [false, true])
    func total(http2: Bool) async throws {
        let (server, session) = try await download(http2: http2)
        var options = RequestOptions()
        options.rateLimit = Self.nearlyNothing
        options.totalTimeout = .milliseconds(200)
        let error = await curlewError { _ = try await session.fetch(server.url(), options: options) }
        #expect(error?.code == .totalTimeout)
        try await session.expectUsable()
    }

    @Test("a rate-limited transfer can be suspended, resumed and cancelled", arguments: [false, true])
    func steering(http2: Bool) async throws {
        let (server, session) = try await download(http2: http2)
        var options = RequestOptions()
        options.rateLimit = Self.nearlyNothing
        let response = try await session.get(.raw(server.url()), options: options)
        let task = try #require(response.task)
        for _ in 0..<20 {
            task.suspend()
            task.resume()
        }
        task.suspend()
        #expect(await task.currentProgress.received.wire <= Self.piece)
        task.setRateLimit(.none)
        try await session.letTurnsPass()
        #expect(await task.currentProgress.received.wire <= Self.piece)
        task.resume()
        expectPattern(try await response.body.collect(upTo: .mebibytes(4)))

        let other = try await session.get(.raw(server.url()), options: options)
        other.task?.cancel()
        #expect(await curlewError { _ = try await other.body.collect(upTo: .mebibytes(4)) }?.code == .cancelled)
    }

    @Test("constantly changing limits lose or corrupt no byte", arguments: [false, true])
    func changing(http2: Bool) async throws {
        let (server, session) = try await serverAndSession(http2: http2) { request in
            MockResponse(body: .stream(request.body))
        }
        let bytes = BytePattern.bytes(count: 4 << 20)
        let task = try #require(session.session).uploadTask(CurlewRequest(.post, server.url()), from: .bytes(bytes))
        let actor = try #require(session.session)
        let changes = Task {
            let limits = [
                RateLimit.none, Self.nearlyNothing, RateLimit(sending: 100_000_000), RateLimit(receiving: 64_000_000),
                RateLimit(sending: 10_000, receiving: 10_000),
            ]
            var number = 0
            while !Task.isCancelled {
                task.setRateLimit(limits[number % 5])
                actor.setRateLimit(limits[number % 3])
                number += 1
                _ = await task.state
            }
            task.setRateLimit(.none)
            actor.setRateLimit(.none)
        }
        task.resume()
        for _ in 0..<200 { _ = await task.state }
        changes.cancel()
        await changes.value
        let response = try await task.response()
        #expect(try await response.body.collect(upTo: .mebibytes(4)) == bytes)
    }

    @Test("a limit far above the network's rate changes no byte", arguments: [false, true])
    func generous(http2: Bool) async throws {
        let (server, session) = try await download(http2: http2)
        for limit in [200_000_000, Int.max] {
            var options = RequestOptions()
            options.rateLimit = RateLimit(sending: ByteSize(limit), receiving: ByteSize(limit))
            expectPattern(try await session.fetch(server.url(), options: options))
        }
    }

    @Test("a limit set before the start applies from the first byte, and to each task of a call")
    func perTask() async throws {
        let server = try await MockServer.start { request in
            request.path == "/" ? redirect(307, to: "/end") : MockResponse(body: .pattern(count: 4 << 20))
        }
        let actor = try #require(try makeSession().session)
        let session = try HTTPSession(transport: actor, chain: .bare) { Redirects() }
        var options = RequestOptions()
        options.rateLimit = RateLimit(receiving: 1)
        let response = try await session.get(.raw(server.url()), options: options)
        let task = try #require(response.task)
        #expect(await task.rateLimit.receiving == 1)
        try await settle(task)
        #expect(await task.currentProgress.received.wire <= Self.piece)
        let late = try actor.dataTask(CurlewRequest(.get, server.url("/end")))
        late.setRateLimit(RateLimit(receiving: 1))
        late.resume()
        let second = try await late.response()
        try await settle(late)
        #expect(await late.currentProgress.received.wire <= Self.piece)
        for held in [task, late] { held.setRateLimit(.none) }
        expectPattern(try await response.body.collect(upTo: .mebibytes(4)))
        expectPattern(try await second.body.collect(upTo: .mebibytes(4)))
    }
}
