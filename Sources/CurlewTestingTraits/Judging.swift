#if TestKit
internal import Testing

/// Runs a test and fails it if a check of the process reports a problem.
///
/// - Parameters:
///   - testCase: The test case; `nil` for a suite or for all cases of a test, which only run their parts.
///   - function: The test.
///   - watch: Runs the test and returns a description of the problem; nil if there is none.
func judge(
    _ testCase: Test.Case?, _ function: @Sendable @concurrent () async throws -> Void,
    by watch: () async throws -> String?
) async throws {
    guard testCase != nil else { return try await function() }
    let finding = try await watch()
    #expect(finding == nil, "\(finding ?? "")")
}
#endif
