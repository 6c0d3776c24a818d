import CurlewTesting
import Testing

@Suite("TestClock", .timeLimit(.minutes(1)))
struct TestClockTests {
    @Test("a sleeper wakes when the clock reaches its deadline")
    func advance() async throws {
        let clock = TestClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        try await sleeper.value
        #expect(clock.now.offset == .seconds(2))
    }

    @Test("a cancelled sleeper throws and is removed")
    func cancel() async throws {
        let clock = TestClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
        try await clock.waitForSleepers()
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
    }
}
