#if Images
internal import Curlew
internal import HTTPTypes

/// A serializer that reads an image by another serializer and shows its first bytes at a quarter, half and three
/// quarters of the file, if a codec can decode a part of it.
struct WatchedImageSerializer: ResponseSerializer {
    private let base: ImageResponseSerializer
    private let show: @Sendable ([UInt8]) async -> Void

    /// - Parameter show: Called with all bytes received so far. The body waits for it.
    init(_ base: ImageResponseSerializer, show: @escaping @Sendable ([UInt8]) async -> Void) {
        self.base = base
        self.show = show
    }

    var acceptField: String? { base.acceptField }

    func serialize(_ response: CurlewResponse) async throws -> Image { try await base.serialize(watched(response)) }

    // The base serializer intercepts, because it reports its result.
    func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws -> Image {
        try await base.intercept(request) { try await watched(next($0)) }
    }

    private func watched(_ response: CurlewResponse) -> CurlewResponse {
        // Shorter files usually arrive in one piece, and without a length a quarter is unknown.
        guard let length = response.body.length, length >= 64 << 10, response.status == .ok else { return response }
        var response = response
        // The division comes first to avoid an overflow: a peer may claim any length.
        let steps = [1, 2, 3].map { Int(length / 4) * $0 }
        response.body = .stream(
            WatchedBody(body: response.body, steps: steps, show: show), over: response.body, length: length)
        return response
    }
}

/// The chunks of a body; the first bytes are shown when their number reaches the steps.
private struct WatchedBody: AsyncSequence {
    let body: CurlewResponse.Body
    let steps: [Int]
    let show: @Sendable ([UInt8]) async -> Void

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(chunks: body.makeAsyncIterator(), steps: steps, show: show)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var chunks: CurlewResponse.Body.AsyncIterator
        /// The lengths at which bytes will still be shown.
        var steps: [Int]
        let show: @Sendable ([UInt8]) async -> Void
        var bytes: [UInt8] = []

        mutating func next() async throws -> [UInt8]? {
            guard let chunk = try await chunks.next() else { return nil }
            guard let step = steps.first else { return chunk }
            bytes += chunk
            guard bytes.count >= 32 else { return chunk }
            guard ImageFormat(of: bytes)?.canBeShownInPart == true else {
                stop()
                return chunk
            }
            if bytes.count >= step {
                steps.removeAll { $0 <= bytes.count }
                await show(bytes)
                if steps.isEmpty { stop() }
            }
            return chunk
        }

        private mutating func stop() {
            steps = []
            bytes = []
        }
    }
}
#endif
