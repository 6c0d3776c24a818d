#if TestKit
internal import Testing

/// Runs a test and fails it for what a look at the process has found.
///
/// - Parameters:
///   - testCase: What runs; `nil` for a suite or for all cases of a test, which only run their parts.
///   - function: The test.
///   - watch: Runs the test and returns what was wrong, in words.
func judge(
    _ testCase: Test.Case?, _ function: @Sendable @concurrent () async throws -> Void,
    by watch: () async throws -> String?
) async throws {
    guard testCase != nil else { return try await function() }
    let finding = try await watch()
    #expect(finding == nil, "\(finding ?? "")")
}
#endif
