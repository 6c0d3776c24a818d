#if Images
internal import Curlew
internal import HTTPTypes

/// Reads an image as another serializer does, and shows its bytes on the way: at a quarter, half and three quarters of a file that a codec can
/// show in part.
struct WatchedImageSerializer: ResponseSerializer {
    private let base: ImageResponseSerializer
    private let show: @Sendable ([UInt8]) async -> Void

    /// - Parameter show: Called with all bytes that have come. The body waits for it.
    init(_ base: ImageResponseSerializer, show: @escaping @Sendable ([UInt8]) async -> Void) {
        self.base = base
        self.show = show
    }

    var acceptField: String? { base.acceptField }

    func serialize(_ response: CurlewResponse) async throws -> Image { try await base.serialize(watched(response)) }

    // By the base, which reports what it makes of a response.
    func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws -> Image {
        try await base.intercept(request) { try await watched(next($0)) }
    }

    private func watched(_ response: CurlewResponse) -> CurlewResponse {
        // Shorter files come in one piece, mostly; where the length is not known, nobody knows what a quarter is.
        guard let length = response.body.length, length >= 64 << 10, response.status == .ok else { return response }
        var response = response
        // Divided first: a peer may claim any length.
        let steps = [1, 2, 3].map { Int(length / 4) * $0 }
        response.body = .stream(
            WatchedBody(body: response.body, steps: steps, show: show), over: response.body, length: length)
        return response
    }
}

/// The chunks of a body, whose bytes are shown when there are so many.
private struct WatchedBody: AsyncSequence {
    let body: CurlewResponse.Body
    let steps: [Int]
    let show: @Sendable ([UInt8]) async -> Void

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(chunks: body.makeAsyncIterator(), steps: steps, show: show)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var chunks: CurlewResponse.Body.AsyncIterator
        /// The lengths that are still to come.
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
