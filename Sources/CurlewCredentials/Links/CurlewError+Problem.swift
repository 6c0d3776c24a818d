public import Curlew
internal import FoundationEssentials
internal import HTTPTypes

extension CurlewError {
    /// The problem that the server describes, if the response is `application/problem+json` (RFC 9457).
    ///
    /// ```swift
    /// } catch let error as CurlewError {
    ///     if error.problem?.hasType("https://example.com/probs/out-of-credit") == true { … }
    /// }
    /// ```
    public var problem: ProblemDetails? { decodedProblem(ProblemDetails.self) }

    /// The problem that the server describes, with the members of its type.
    /// - Parameter extensions: The type of the members that this kind of problem adds.
    public func problem<Extensions: Decodable>(
        with extensions: Extensions.Type
    ) -> ProblemDetails.WithExtensions<Extensions>? {
        decodedProblem(ProblemDetails.WithExtensions<Extensions>.self)
    }

    private func decodedProblem<Value: Decodable>(_ type: Value.Type) -> Value? {
        guard let contentType = response?.headerFields[.contentType], ProblemDetails.isMediaType(contentType) else {
            return nil
        }
        // If the body is short, `bodyPrefix` contains all of it.
        return try? JSONDecoder().decode(Value.self, from: Data(body ?? bodyPrefix))
    }
}
