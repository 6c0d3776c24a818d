import CurlewTesting
import CurlewTestingTraits
import Glibc
import Testing

@testable import CurlewCore

@Suite("The event loop", .endsServers, .timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test("a flood of jobs does not starve sockets, and busy sockets do not starve jobs")
    func fairness() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        let loop = try #require(session.session).eventLoop
        // Jobs that enqueue their successors keep the loop busy for the duration of the requests.
        let flood = Flood(loop: loop)
        for _ in 0..<1000 { flood.run() }
        for _ in 0..<20 { #expect(try await session.fetch(server.url()) == Array("ok".utf8)) }
        let count = flood.stop()
        #expect(count > 1000)
        let busy = try await endlessServer()
        let response = try await session.get(.raw(busy.url()))
        let reader = Task { for try await _ in response.body {} }
        for _ in 0..<1000 { await withCheckedContinuation { done in loop.core.execute { done.resume() } } }
        reader.cancel()
        _ = await reader.result
    }

    @Test("an actor is entered on its loop with an argument, and returns a result")
    func entering() async throws {
        let loop = try CurlewEventLoop(name: "curlew-enters")
        let counter = LoopCounter(loop: loop)
        let result = await withCheckedContinuation { done in
            loop.core.execute {
                let first = counter.enter(2) { $0.add($1) }
                let second = counter.enter(("x", 4)) { $0.add($1.1) }
                done.resume(returning: [first, second])
            }
        }
        #expect(result == [2, 6])
        #expect(await counter.count == 6)
    }

    @Test("the thread of an event loop ends with the last reference to the loop")
    func ends() async throws {
        weak var core: LoopCore?
        do {
            let loop = try CurlewEventLoop(name: "curlew-ends")
            core = loop.core
            await withCheckedContinuation { done in loop.core.execute { done.resume() } }
            #expect(core != nil)
        }
        try await eventually("the loop's core is gone") { core == nil }
    }

    @Test("the thread of a stopping loop ends when another thread detaches the last handle")
    func lateDetachment() async throws {
        weak var core: LoopCore?
        do {
            let loop = try CurlewEventLoop(name: "curlew-detach")
            core = loop.core
            loop.core.attach()
        }
        if let running = core {
            // The loop has seen that it is to stop once it has run this.
            await withCheckedContinuation { done in running.execute { done.resume() } }
            running.detach()
        }
        try await eventually("the loop's core is gone") { core == nil }
    }

    @Test("tasks that prefer an event loop keep it alive, and release it when they end")
    func preferred() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        weak var core: LoopCore?
        func run() async throws {
            let loop = try CurlewEventLoop(name: "curlew-preferred")
            core = loop.core
            let session = try HTTPSession(eventLoops: [loop], chain: .bare)
            for _ in 0..<50 {
                let task = Task(executorPreference: loop) { try await session.fetch(server.url()) }
                #expect(try await task.value == Array("ok".utf8))
            }
        }
        try await run()
        try await eventually("the loop's core is gone") { core == nil }
    }

    @Test("an actor with the loop as its executor runs there")
    func executor() async throws {
        let loop = try CurlewEventLoop()
        let isThere = await withTaskExecutorPreference(loop) { loop.isIsolatingCurrentContext() }
        #expect(isThere == true)
        #expect(loop.isIsolatingCurrentContext() == false)
    }

    @Test("timers fire in the order of their deadlines, and removed timers do not fire")
    func timers() {
        final class Probe: LoopTimer {
            let number: Int
            init(_ number: Int) { self.number = number }
        }
        var heap = TimerHeap()
        var random = SystemRandomNumberGenerator()
        let probes = (0..<500).map { Probe($0) }
        var deadlines: [Int: Int64] = [:]
        for probe in probes {
            for _ in 0..<3 {
                let deadline = Int64.random(in: 0..<1000, using: &random)
                heap.set(probe, to: Instant(nanoseconds: deadline))
                deadlines[probe.number] = deadline
            }
            if probe.number % 5 == 0 {
                heap.remove(probe)
                deadlines[probe.number] = nil
            }
        }
        var order: [Int64] = []
        while let timer = heap.popDue(at: Instant(nanoseconds: 2000)) as? Probe {
            order.append(deadlines[timer.number] ?? -1)
        }
        #expect(order == deadlines.values.sorted())
        #expect(heap.isEmpty)
    }

    @Test("chunked coding is parsed correctly, however it is split")
    func chunkFraming() {
        let good = Array("5;ext=\"x\"\r\nhello\r\n00a\t\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n".utf8)
        for size in 1...good.count {
            var framing = ChunkFraming()
            for start in stride(from: 0, to: good.count, by: size) {
                good[start..<min(start + size, good.count)].withUnsafeBytes { framing.follow($0) }
            }
            #expect(!framing.isBroken)
        }
        for bad in [
            "5 5\r\n", "5\n", "5\rx", "g\r\n", "5\r\nhellox", "5\r\nhello\rx", "fffffffffffffffff\r\n", ";x\r\n",
        ] {
            var framing = ChunkFraming()
            Array(bad.utf8).withUnsafeBytes { framing.follow($0) }
            #expect(framing.isBroken, "\(bad)")
        }
    }
}

/// Jobs that enqueue their successors until they are stopped.
private final class Flood: Sendable {
    private let loop: CurlewEventLoop
    private let state = Guarded((count: 0, isStopped: false))

    init(loop: CurlewEventLoop) { self.loop = loop }

    func run() {
        loop.core.execute { [self] in
            let goesOn = state.withLock { state in
                state.count += 1
                return !state.isStopped
            }
            if goesOn { run() }
        }
    }

    func stop() -> Int {
        state.withLock { state in
            state.isStopped = true
            return state.count
        }
    }
}

/// An actor on a loop that adds numbers.
private actor LoopCounter: LoopActor {
    nonisolated let loop: CurlewEventLoop
    private(set) var count = 0

    init(loop: CurlewEventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func add(_ number: Int) -> Int {
        count += number
        return count
    }
}
