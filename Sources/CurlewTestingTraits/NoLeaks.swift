#if TestKit
internal import CurlewTesting
public import Testing

extension Trait where Self == NoLeaksTrait {
    /// Fails a test that leaves a task, a connection, a descriptor or a thread behind.
    ///
    ///     @Suite(.noLeaks, .serialized) struct PoolTests { … }
    ///
    /// - Tasks are those of Swift that the test started, itself or by what it called, and that have not ended, except
    ///   detached ones; and those of Curlew's sessions that were started and have not ended.
    /// - Connections and other descriptors are known by `/proc/self/fd`, threads by `/proc/self/task`. A thread without a
    ///   name of its own looks like one of those that Swift keeps for its tasks: so many of them are allowed as there are
    ///   processors, and four.
    ///
    /// What ends by itself within ``NoLeaksTrait/patience`` is no leak. Servers that the test has started are ended first, as
    /// ``Testing/Trait/endsServers`` does it.
    ///
    /// Tests with this trait run one at a time. Tests without it that run beside them are blamed on them: keep all
    /// of a process's tests that open files or sockets in suites with the trait, or run `swift test --no-parallel`.
    public static var noLeaks: NoLeaksTrait { NoLeaksTrait() }
}

/// Fails a test that leaves a task, a connection, a descriptor or a thread behind: the trait `.noLeaks`.
public struct NoLeaksTrait: TestTrait, SuiteTrait, TestScoping {
    /// The longest time that a test's resources may take to go away after it; eight seconds, as Dispatch keeps an idle
    /// thread for five.
    public static let patience = Duration.seconds(8)

    let check: LeakCheck

    init(patience: Duration = Self.patience) {
        self.check = LeakCheck(patience: patience)
    }

    /// A suite hands it on to its tests.
    public var isRecursive: Bool { true }

    /// Runs the test and compares what the process holds before and after.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await judge(testCase, function) {
            await OneAtATime.shared.enter()
            let result: Result<[String], any Error>
            do {
                result = .success(try await self.check.leaks { try await ServerScope.run(function) })
            } catch {
                result = .failure(error)
            }
            await OneAtATime.shared.leave()
            let left = try result.get()
            return left.isEmpty ? nil : "left behind: \(left.joined(separator: ", "))"
        }
    }
}

/// Lets one test in at a time.
private actor OneAtATime {
    static let shared = OneAtATime()

    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func enter() async {
        guard self.isTaken else { return self.isTaken = true }
        await withCheckedContinuation { self.waiting.append($0) }
    }

    func leave() {
        if self.waiting.isEmpty { self.isTaken = false } else { self.waiting.removeFirst().resume() }
    }
}
#endif
