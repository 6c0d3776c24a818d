internal import Curlew

/// Stands between an order and the library, and stops what the library should do and cannot yet: before a request that
/// would lack something, and behind a response that should have been acted on.
struct SupportCheck: Middleware {
    typealias Input = Request
    typealias Output = Response

    let order: Order
    let probe: Probe

    func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        if order.usesCookies, await probe.mayHaveCookies(for: request.uri.host, session: order.session) {
            throw LineProblem.unsupported("cookies true")
        }
        let response = try await next(request)
        if order.usesCookies { await probe.noteCookies(of: response, session: order.session) }
        try AnswerCheck.check(response, for: order)
        return response
    }
}
