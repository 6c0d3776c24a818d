#if TestKit
internal import CurlewTesting
public import Testing

extension Trait where Self == NoLeaksTrait {
    /// Fails a test that leaves a task, a connection, a descriptor or a thread behind.
    ///
    ///     @Suite(.noLeaks, .serialized) struct PoolTests { … }
    ///
    /// - Tasks are Swift tasks that the test or its callees have started and that have not ended, except detached ones.
    ///   Started tasks of Curlew's sessions that have not ended also count.
    /// - Connections and other descriptors are found in `/proc/self/fd`, threads in `/proc/self/task`. An unnamed
    ///   thread looks like one of Swift's own threads. As many such threads are allowed as there are processors, plus
    ///   four.
    ///
    /// A resource that disappears within ``NoLeaksTrait/patience`` is not a leak. The test's servers are shut down
    /// first, as by ``Testing/Trait/endsServers``.
    ///
    /// Tests with this trait run one at a time. Concurrent tests without the trait can cause false failures. Put all of
    /// a process's tests that open files or sockets in suites with the trait, or run `swift test --no-parallel`.
    public static var noLeaks: NoLeaksTrait { NoLeaksTrait() }
}

/// Fails a test that leaves a task, a connection, a descriptor or a thread behind: the trait `.noLeaks`.
public struct NoLeaksTrait: TestTrait, SuiteTrait, TestScoping {
    /// The maximum time until a test's resources must disappear after it: eight seconds, because Dispatch keeps an idle
    /// thread for five.
    public static let patience = Duration.seconds(8)

    let check: LeakCheck

    init(patience: Duration = Self.patience) {
        self.check = LeakCheck(patience: patience)
    }

    /// True: a suite applies the trait to its tests.
    public var isRecursive: Bool { true }

    /// Runs the test and compares the resources of the process before and after.
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

/// A lock that admits one test at a time.
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
