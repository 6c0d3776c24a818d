internal import HTTPTypes

/// What a call has gone through: its redirects, and the requests that it has sent, so that it does not go round in a circle.
struct RedirectTrail {
    /// What makes two requests the same. A fragment is not sent.
    private struct Visit: Equatable {
        let method: HTTPRequest.Method
        let target: String
        let hasBody: Bool

        init(_ request: Request) {
            method = request.method
            target = request.uri.requestText
            hasBody = !request.body.isNone
        }
    }

    private(set) var hops: [Hop] = []
    private var visits: [Visit]

    init(_ first: Request) { visits = [Visit(first)] }

    /// - Throws: ``CurlewError`` with ``ErrorCode/tooManyRedirects`` unless one more may be followed.
    func admit(upTo maximum: Int) throws {
        guard hops.count < maximum else {
            throw CurlewError(.tooManyRedirects, "there were more than \(maximum) redirects")
        }
    }

    /// Notes a redirect that is going to be followed, and the request that follows it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/redirectLoop`` if that was sent before.
    mutating func add(_ redirect: Response, next: Request) throws {
        // With a cookie the same request may well be answered otherwise.
        if redirect.fields.contains(.setCookie) { visits = [] }
        let visit = Visit(next)
        guard !visits.contains(visit) else {
            throw CurlewError(.redirectLoop, "the redirects go round in a circle")
        }
        visits.append(visit)
        hops.append(
            Hop(
                status: redirect.status, uri: redirect.uri, fields: redirect.fields, attempts: redirect.attempts))
    }
}
