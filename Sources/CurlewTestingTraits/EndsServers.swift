#if TestKit
internal import CurlewTesting
public import Testing

extension Trait where Self == EndsServersTrait {
    /// Ends the servers that a test has started, when it returns and when it throws, and waits for them.
    ///
    ///     @Suite(.endsServers) struct PoolTests { … }
    ///
    /// These are ``CurlewTesting/MockServer``, ``CurlewTesting/RawServer`` and ``CurlewTesting/MockProxy``, started by the
    /// test or by tasks of it that are not detached. They live until then, whether the test still holds them or not.
    /// ``Testing/Trait/noLeaks`` does this, too.
    public static var endsServers: EndsServersTrait { EndsServersTrait() }
}

/// Ends the servers that a test has started: the trait `.endsServers`.
public struct EndsServersTrait: TestTrait, SuiteTrait, TestScoping {
    /// A suite hands it on to its tests.
    public var isRecursive: Bool { true }

    /// Runs the test and ends its servers.
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
