import Curlew
import Testing

/// The library's error that a call throws; nil without one.
func curlewError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> CurlewError? {
    do {
        try await body()
        Issue.record("no error", sourceLocation: sourceLocation)
        return nil
    } catch {
        let error = error as? CurlewError
        #expect(error != nil, sourceLocation: sourceLocation)
        return error
    }
}
