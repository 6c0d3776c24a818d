internal import CurlewTesting
public import Testing

extension Trait where Self == NoLeaksTrait {
    /// Fails a test that leaves file descriptors or threads behind.
    ///
    ///     @Suite(.noLeaks, .serialized) struct PoolTests { … }
    ///
    /// Tests with this trait run one at a time. Tests without it that run beside them are blamed on them: keep all
    /// of a process's tests that open files or sockets in suites with the trait, or run `swift test --no-parallel`.
    public static var noLeaks: NoLeaksTrait { NoLeaksTrait() }
}

/// Fails a test that leaves file descriptors or threads behind; see ``Testing/Trait/noLeaks``.
public struct NoLeaksTrait: TestTrait, SuiteTrait, TestScoping {
    /// A suite hands it on to its tests.
    public var isRecursive: Bool { true }

    /// How long a test's resources may take to go away after it; two seconds.
    public static let patience = Duration.seconds(2)

    /// Runs the test and compares what the process holds before and after.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await OneAtATime.shared.enter()
        do {
            SharedThreads.start()
            let before = ProcessResources.now()
            try await function()
            let left = await self.left(since: before)
            await OneAtATime.shared.leave()
            #expect(left.isEmpty, "left behind: \(left.joined(separator: ", "))")
        } catch {
            await OneAtATime.shared.leave()
            throw error
        }
    }

    private func left(since before: ProcessResources) async -> [String] {
        let end = ContinuousClock.now + Self.patience
        while true {
            let left = ProcessResources.now().beyond(before)
            if left.isEmpty || ContinuousClock.now >= end { return left }
            // There is no event for a thread's or a descriptor's end: look again, for a bounded while.
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// Lets one test in at a time.
private actor OneAtATime {
    static let shared = OneAtATime()

    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func enter() async throws {
        guard self.isTaken else { return self.isTaken = true }
        await withCheckedContinuation { self.waiting.append($0) }
    }

    func leave() {
        if self.waiting.isEmpty { self.isTaken = false } else { self.waiting.removeFirst().resume() }
    }
}
