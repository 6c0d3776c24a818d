import Curlew

/// A link: it sees every request on its way out and every response on its way back.
struct ClientName: CurlewMiddleware {
    let name: String

    func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        var request = request
        request.fields[.userAgent] = name
        return try await next(request)
    }
}
