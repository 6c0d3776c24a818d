#if Images && TestKit
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Dispatch
import Foundation
import HTTPTypes
import Testing

@testable import CurlewImages

@Suite("The delays of the activity indicator", .noLeaks, .timeLimit(.minutes(1)))
struct ActivityTests {
    @Test("a short activity is not shown")
    func short() async throws {
        let clock = TestClock()
        let monitor = ActivityMonitor(clock: clock)
        await monitor.change(by: 1)
        #expect(await monitor.state == .delayingStart)
        await monitor.change(by: -1)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        try await eventually("it is over") { await monitor.state == .notActive }
    }

    @Test("an activity of one second is shown until 0.17 seconds after its end, unless another begins")
    func long() async throws {
        let clock = TestClock()
        let monitor = ActivityMonitor(clock: clock)
        #expect(await monitor.isEnabled)
        var updates = await monitor.updates.makeAsyncIterator()
        #expect(await updates.next() == false)
        var counts = await monitor.activeCounts.makeAsyncIterator()
        #expect(await counts.next() == 0)
        await monitor.change(by: 2)
        #expect(await counts.next() == 2)
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(999))
        #expect(await monitor.state == .delayingStart)
        clock.advance(by: .milliseconds(1))
        #expect(await updates.next() == true)
        await monitor.change(by: -2)
        #expect(await monitor.state == .delayingEnd)
        #expect(await monitor.isActive)
        try await clock.waitForSleepers()
        await monitor.change(by: 1)
        #expect(await monitor.state == .active)
        try await eventually("the delay was cancelled") { clock.sleeperCount == 0 }
        await monitor.change(by: -5)
        #expect(await monitor.activeCount == 0)
        #expect(await counts.next() == 0)
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(169))
        #expect(await monitor.state == .delayingEnd)
        clock.advance(by: .milliseconds(1))
        #expect(await updates.next() == false)
        #expect(await monitor.state == .notActive)
    }

    @Test("a disabled monitor shows no activity, and shows the running activity once it is enabled")
    func disabled() async throws {
        let clock = TestClock()
        let monitor = ActivityMonitor(activationDelay: .zero, clock: clock)
        await monitor.change(by: 1)
        try await eventually("it is shown") { await monitor.isActive }
        await monitor.setEnabled(false)
        #expect(await monitor.state == .notActive)
        await monitor.setEnabled(true)
        #expect(await monitor.state == .delayingStart)
    }

    @Test("session tasks count while they run, but not while they are suspended")
    func session() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate.stream {}
            return MockResponse(body: "ok")
        }
        let api = try HTTPSession(chain: .bare)
        let monitor = ActivityMonitor(clock: TestClock())
        #expect(await monitor.follow(api))
        let (tasks, made) = AsyncStream.makeStream(of: TaskActor.self)
        var request = CurlewRequest(.get, try CurlewURI(server.url()))
        request.options.onTask = { made.yield($0) }
        let call = Task { [request] in try await api.send(request).body.collect(upTo: 10) }
        var running: TaskActor?
        for await task in tasks {
            running = task
            break
        }
        let task = try #require(running)
        try await eventually("one is under way") { await monitor.activeCount == 1 }
        task.suspend()
        try await eventually("it is suspended") { await monitor.activeCount == 0 }
        task.resume()
        try await eventually("it goes on") { await monitor.activeCount == 1 }
        gate.continuation.finish()
        #expect(try await call.value == Array("ok".utf8))
        try await eventually("it has ended") { await monitor.activeCount == 0 }
        await api.shutdown()
        await server.shutdown()
    }

    @Test(
        "missed ends are counted as soon as the monitor has caught up",
        .enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1))
    func missed() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            if request.path == "/held" { for await _ in gate { break } }
            return MockResponse(body: "ok")
        }
        var configuration = SessionConfiguration()
        configuration.eventBufferSize = 4
        let api = try HTTPSession(configuration: configuration, chain: .bare)
        let monitor = ActivityMonitor(clock: TestClock())
        #expect(await monitor.follow(api))
        func fetch(_ path: String) async throws -> [UInt8] {
            try await api.get(.raw(server.url(path))).body.collect(upTo: 10)
        }
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<3 { group.addTask { try await fetch("/held") } }
            try await eventually("three are under way") { await monitor.activeCount == 3 }
            // The monitor's actor is blocked until the test releases it; four of the events in between are buffered.
            let (entered, enter) = AsyncStream.makeStream(of: Void.self)
            let release = DispatchSemaphore(value: 0)
            let hold = Task { await monitor.hold(enter, release) }
            for await _ in entered { break }
            open.finish()
            for try await body in group { #expect(body == Array("ok".utf8)) }
            for _ in 0..<6 { _ = try await fetch("/") }
            release.signal()
            await hold.value
        }
        try await eventually("none is under way") { await monitor.activeCount == 0 }
        await api.shutdown()
        await server.shutdown()
    }
}

extension ActivityMonitor {
    /// Blocks the actor.
    fileprivate func hold(_ enter: AsyncStream<Void>.Continuation, _ release: DispatchSemaphore) {
        enter.yield()
        release.wait()
    }
}
#endif
