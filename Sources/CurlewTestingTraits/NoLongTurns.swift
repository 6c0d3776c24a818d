#if TestKit
internal import Curlew
internal import CurlewPlatform
public import Testing

extension Trait where Self == NoLongTurnsTrait {
    /// Fails a test in which one turn of an event loop takes more than 100 ms of its thread's processor time.
    ///
    ///     @Suite(.noLongTurns, .serialized) struct ParserTests { … }
    ///
    /// A busy loop serves no other socket, timeout or session. The cause is a peer that triggers expensive work, or
    /// code that prefers to run on the loop.
    ///
    /// All loops of the process are measured: run such tests one at a time, with `swift test --no-parallel`.
    public static var noLongTurns: NoLongTurnsTrait { NoLongTurnsTrait() }
}

/// Fails a test in which one turn of an event loop takes too much processor time: the trait `.noLongTurns`.
public struct NoLongTurnsTrait: TestTrait, SuiteTrait, TestScoping {
    /// The maximum processor time of a turn: 100 ms, and ten times that under AddressSanitizer and ThreadSanitizer.
    /// Time that the machine spends on other work does not count.
    public static let limit = Duration.milliseconds(isSanitized ? 1000 : 100)

    /// True: a suite applies the trait to its tests.
    public var isRecursive: Bool { true }

    /// Runs the test and measures the turns of the loops.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await judge(testCase, function) {
            TurnWatch.start()
            do {
                try await function()
            } catch {
                _ = TurnWatch.stop()
                throw error
            }
            let longest = TurnWatch.stop()
            guard longest > Self.limit else { return nil }
            return "a turn of an event loop took \(longest) of its thread's processor time"
        }
    }

    private static var isSanitized: Bool {
        dlsym(nil, "__tsan_acquire") != nil || dlsym(nil, "__asan_region_is_poisoned") != nil
    }
}
#endif
