/// A link that returns a response only if its status and media type are acceptable.
///
/// The body stays a stream. It is read only if the response is not accepted, so that the error can contain it.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     ResponseValidator(contentTypes: .types(.json))
/// }
/// ```
public struct ResponseValidator: CurlewMiddleware {
    /// The accepted responses.
    public var acceptance: ResponseAcceptance

    /// Accepts 200 to 299 with any media type by default.
    public init(
        statuses: ResponseAcceptance.Statuses = .successful, contentTypes: ResponseAcceptance.ContentTypes = .any
    ) {
        acceptance = ResponseAcceptance(contentTypes)
        acceptance.statuses = statuses
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        let response = try await next(request)
        do {
            return try await validate(response)
        } catch let error as CurlewError {
            throw error.adding(request)
        }
    }

    /// Returns the response, if it is acceptable.
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus`` or ``ErrorCode/unacceptableContentType``.
    public func validate(_ response: CurlewResponse) async throws -> CurlewResponse {
        switch try await acceptance.judge(response) {
        case .accepted: return response
        case .acceptedEmpty:
            var response = response
            response.body = .bytes([])
            return response
        case .refused(let refusal): throw refusal.error()
        }
    }
}
