import Curlew

/// Sends the first requests that it sees to another place.
struct Detour: Middleware {
    /// The places, a request each.
    private let places: AsyncStream<URI>

    init(_ urls: String...) throws {
        let uris = try urls.map { try URI($0) }
        places = AsyncStream { continuation in
            for uri in uris { continuation.yield(uri) }
            continuation.finish()
        }
    }

    func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        var request = request
        for await place in places {
            request.uri = place
            break
        }
        return try await next(request)
    }
}
