package import Curlew
package import Testing

/// The error that `body` throws.
package func curlewError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> CurlewError? {
    do {
        try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch let error as CurlewError {
        return error
    } catch {
        Issue.record("not a CurlewError: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// The error of the test's own that a call throws.
package func linkError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> (any Error)? {
    let error = await curlewError(sourceLocation: sourceLocation, body)
    #expect(error?.code == .foreignFailure, sourceLocation: sourceLocation)
    return error?.underlying
}
