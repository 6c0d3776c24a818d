import Curlew

/// Sends the first requests that it sees to another place.
struct Detour: CurlewMiddleware {
    /// The places, a request each.
    private let places: AsyncStream<CurlewURI>

    init(_ urls: String...) throws {
        let uris = try urls.map { try CurlewURI($0) }
        places = AsyncStream { continuation in
            for uri in uris { continuation.yield(uri) }
            continuation.finish()
        }
    }

    func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws -> CurlewResponse {
        var request = request
        for await place in places {
            request.uri = place
            break
        }
        return try await next(request)
    }
}
