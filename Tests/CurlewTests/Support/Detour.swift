import Curlew

/// A link that sends the first requests to other URIs.
struct Detour: CurlewMiddleware {
    /// The URIs, one per request.
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
