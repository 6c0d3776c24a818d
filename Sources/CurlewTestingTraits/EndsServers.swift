#if TestKit
internal import CurlewTesting
public import Testing

extension Trait where Self == EndsServersTrait {
    /// Shuts down the servers of a test, when it returns or throws, and waits for them.
    ///
    ///     @Suite(.endsServers) struct PoolTests { … }
    ///
    /// The trait applies to each ``CurlewTesting/MockServer``, ``CurlewTesting/RawServer`` and
    /// ``CurlewTesting/MockProxy`` that the test or its non-detached tasks have started. These servers live until the
    /// end of the test, even without a reference to them. ``Testing/Trait/noLeaks`` also does this.
    public static var endsServers: EndsServersTrait { EndsServersTrait() }
}

/// Shuts down the servers of a test: the trait `.endsServers`.
public struct EndsServersTrait: TestTrait, SuiteTrait, TestScoping {
    /// True: a suite applies the trait to its tests.
    public var isRecursive: Bool { true }

    /// Runs the test and shuts down its servers.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await ServerScope.run(function)
    }
}
#endif
