#if TestKit
internal import Testing

/// Runs a test and fails it for what a look at the process has found.
///
/// - Parameters:
///   - testCase: What runs; `nil` for a suite or for all cases of a test, which only run their parts.
///   - function: The test.
///   - watch: Runs the test it is given and returns what was wrong, in words.
func judge(
    _ testCase: Test.Case?, _ function: @Sendable @concurrent () async throws -> Void,
    by watch: (@Sendable @concurrent () async throws -> Void) async throws -> String?
) async throws {
    guard testCase != nil else { return try await function() }
    let finding = try await watch(function)
    #expect(finding == nil, "\(finding ?? "")")
}
#endif
