import Curlew
import CurlewTestingTraits
import Glibc
import Testing

@Suite("NoLongTurns", .serialized, .timeLimit(.minutes(1)))
struct NoLongTurnsTests {
    /// Runs a closure on a loop, within the scope of the trait.
    private func watch(_ work: @escaping @Sendable () -> Void) async throws {
        let test = try #require(Test.current)
        try await NoLongTurnsTrait.noLongTurns.provideScope(for: test, testCase: Test.Case.current) {
            let loop = try CurlewEventLoop(name: "curlew-watched")
            await Task(executorPreference: loop) { work() }.value
            // The next turn shows that the previous one is over.
            await Task(executorPreference: loop) {}.value
        }
    }

    @Test("a turn that computes longer than the limit fails its test")
    func busy() async throws {
        await withKnownIssue {
            try await watch {
                let limit = NoLongTurnsTrait.limit.components
                let end = threadTime() + Int(limit.seconds) * 1_000_000 + Int(limit.attoseconds / 1_000_000_000_000)
                while threadTime() <= end {}
            }
        }
    }

    @Test("a turn that only waits longer than the limit passes")
    func waiting() async throws {
        try await watch { usleep(150_000) }
    }
}

/// The processor time of this thread in microseconds.
private func threadTime() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}
