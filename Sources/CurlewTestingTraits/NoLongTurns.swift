#if TestKit
internal import Curlew
internal import Glibc
public import Testing

extension Trait where Self == NoLongTurnsTrait {
    /// Fails a test in which one turn of an event loop takes more than 100 ms of its thread's processor time.
    ///
    ///     @Suite(.noLongTurns, .serialized) struct ParserTests { … }
    ///
    /// A loop that is busy serves nobody else meanwhile: no socket, no timeout, no other session. What makes it busy is a
    /// peer that found something expensive, or code that was run on it by preference.
    ///
    /// All loops of the process are measured: run such tests one at a time, by `swift test --no-parallel`.
    public static var noLongTurns: NoLongTurnsTrait { NoLongTurnsTrait() }
}

/// Fails a test in which one turn of an event loop takes too long: the trait `.noLongTurns`.
public struct NoLongTurnsTrait: TestTrait, SuiteTrait, TestScoping {
    /// The processor time that a turn may take: 100 ms, and ten times that under AddressSanitizer and ThreadSanitizer. Time in
    /// which the machine does something else does not count.
    public static let limit = Duration.milliseconds(isSanitized ? 1000 : 100)

    /// A suite hands it on to its tests.
    public var isRecursive: Bool { true }

    /// Runs the test and measures the loops.
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
