/// A link that lets a response through only if its status and media type are acceptable.
///
/// The body stays a stream. It is read only when the response is not taken, so that the error can hold it.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     ResponseValidator(contentTypes: .types(.json))
/// }
/// ```
public struct ResponseValidator: CurlewMiddleware {
    /// The responses that are taken.
    public var acceptance: ResponseAcceptance

    /// Takes 200 to 299 with any media type by default.
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

    /// The response, if it is acceptable.
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
