import Testing

@testable import CurlewCore

extension Trait where Self == KeepsToPoolTrait {
    /// A trait that fails a test if libcurl did not use the connection that the pool had chosen.
    static var keepsToPool: KeepsToPoolTrait { KeepsToPoolTrait() }
}

struct KeepsToPoolTrait: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let before = EngineGuards.count
        try await function()
        #expect(EngineGuards.count == before, "libcurl wanted another connection than the pool's")
    }
}
