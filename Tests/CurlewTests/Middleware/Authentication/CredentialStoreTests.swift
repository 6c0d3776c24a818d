import CurlewTesting
import Testing

@testable import CurlewCore

@Suite("A shared credential", .timeLimit(.minutes(1)))
struct CredentialStoreTests {
    private struct Failed: Error, Equatable {
        var number: Int
    }

    /// A source of credentials: the number of the renewal, available when the test releases it.
    private actor Renewer {
        private typealias Outcome = Result<Void, Failed>

        private(set) var previous: [Int?] = []
        private var early: [Outcome] = []
        private var waiting: AsyncStream<Outcome>.Continuation?
        private let started: AsyncStream<Void>.Continuation
        /// An element for each started renewal.
        let starts: AsyncStream<Void>

        init() { (starts, started) = AsyncStream.makeStream() }

        func renew(_ last: Int?) async throws -> Int {
            previous.append(last)
            let number = previous.count
            let (results, continuation) = AsyncStream.makeStream(of: Outcome.self)
            if early.isEmpty { waiting = continuation } else { continuation.yield(early.removeFirst()) }
            started.yield()
            for await result in results {
                try result.get()
                return number
            }
            throw CancellationError()
        }

        /// Ends the newest renewal, or the next one if none is running.
        func finishOne(failing number: Int? = nil) {
            let outcome: Outcome = number.map { .failure(Failed(number: $0)) } ?? .success(())
            guard let waiting else { return early.append(outcome) }
            waiting.yield(outcome)
            self.waiting = nil
        }
    }

    private func store(
        _ renewer: Renewer, initial: Int? = nil, lifetime: Duration? = nil, clock: TestClock = TestClock()
    ) -> CredentialStore<Int> {
        let start = clock.now
        return CredentialStore(
            initial: initial, window: .seconds(60), elapsed: { start.duration(to: clock.now) },
            lifetime: { _ in lifetime }, renew: { try await renewer.renew($0) })
    }

    private func begun(_ renewer: Renewer, _ count: Int = 1) async {
        var iterator = renewer.starts.makeAsyncIterator()
        for _ in 0..<count { await iterator.next() }
    }

    @Test("an existing credential is returned without a renewal, a missing one is fetched")
    func current() async throws {
        let renewer = Renewer()
        #expect(try await store(renewer, initial: 7).current().value == 7)
        #expect(await renewer.previous.isEmpty)
        await renewer.finishOne()
        #expect(try await store(renewer).current().value == 1)
        #expect(await renewer.previous == [nil])
    }

    @Test("a credential is renewed once its expiry is nearer than the window")
    func window() async throws {
        let (renewer, clock) = (Renewer(), TestClock())
        let store = store(renewer, initial: 7, lifetime: .seconds(100), clock: clock)
        clock.advance(by: .seconds(39))
        #expect(try await store.current().value == 7)
        clock.advance(by: .seconds(1))
        await renewer.finishOne()
        #expect(try await store.current().value == 1)
        #expect(await renewer.previous == [7])
        clock.advance(by: .seconds(39))
        #expect(try await store.current().value == 1)
    }

    @Test("a renewal serves all waiting callers, and those whose credential was refused before it")
    func shared() async throws {
        let renewer = Renewer()
        let store = store(renewer, initial: 7)
        let issue = try await store.current()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<10 { group.addTask { try await store.renewed(after: issue).value } }
            await begun(renewer)
            for _ in 0..<10 { group.addTask { try await store.current().value } }
            await renewer.finishOne()
            for try await value in group { #expect(value == 1) }
        }
        #expect(try await store.renewed(after: issue).value == 1)
        #expect(await renewer.previous == [7])
    }

    @Test("a refused credential is not returned again")
    func refused() async throws {
        let renewer = Renewer()
        let store = store(renewer, initial: 7)
        store.refuse(try await store.current())
        await renewer.finishOne()
        #expect(try await store.current().value == 1)
        #expect(await renewer.previous == [7])
    }

    @Test("a late refusal of an old credential does not bring back a newer one that was refused")
    func lateRefusal() async throws {
        let renewer = Renewer()
        let store = store(renewer, initial: 7)
        let old = try await store.current()
        await renewer.finishOne()
        let newer = try await store.renewed(after: old)
        store.refuse(newer)
        await renewer.finishOne()
        #expect(try await store.renewed(after: old).value == 2)
        #expect(await renewer.previous == [7, 1])
    }

    @Test("a failed renewal fails its waiting callers; the next caller renews again")
    func failure() async throws {
        let renewer = Renewer()
        let store = store(renewer, initial: 7)
        let issue = try await store.current()
        await renewer.finishOne(failing: 1)
        for _ in 0..<2 {
            await #expect(throws: Failed(number: 1)) { _ = try await store.renewed(after: issue) }
        }
        #expect(await renewer.previous.count == 1)
        await renewer.finishOne()
        #expect(try await store.current().value == 2)
    }

    @Test("a cancelled waiter ends at once, and the renewal continues for the others")
    func cancelledWaiter() async throws {
        let renewer = Renewer()
        let store = store(renewer)
        let stays = Task { try await store.current().value }
        await begun(renewer)
        let leaves = Task { try await store.current().value }
        leaves.cancel()
        let error = await #expect(throws: CurlewError.self) { try await leaves.value }
        #expect(error?.code == .cancelled)
        await renewer.finishOne()
        #expect(try await stays.value == 1)
    }

    @Test("a renewal without waiting callers is cancelled, and its result is not stored")
    func abandoned() async throws {
        let renewer = Renewer()
        let store = store(renewer)
        let only = Task { try await store.current().value }
        await begun(renewer)
        only.cancel()
        await #expect(throws: CurlewError.self) { try await only.value }
        let next = Task { try await store.current().value }
        await begun(renewer)
        await renewer.finishOne()
        #expect(try await next.value == 2)
    }
}
