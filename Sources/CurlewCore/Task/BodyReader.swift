internal import HTTPTypes

/// The reading end of a body. If the last reference is released before the end was read, the transfer is cancelled.
final class BodyReader: BodySource {
    private let channel: BodyChannel
    private let exchange: Exchange

    init(channel: BodyChannel, exchange: Exchange) {
        self.channel = channel
        self.exchange = exchange
    }

    deinit { cancel() }

    /// Cancels the transfer, unless it has ended.
    func cancel() {
        if !channel.isFinished { exchange.cancel() }
    }

    /// The next chunk; nil at the end. Only one reader may wait at a time.
    func next() async throws -> [UInt8]? {
        switch channel.take() {
        case .chunk(let chunk, let resumes): return deliver(chunk, resumes)
        case .end: return nil
        case .failure(let error): throw error
        case .nothing: return try await wait()
        }
    }

    private func wait() async throws -> [UInt8]? {
        defer { channel.ordering.establish() }
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                switch channel.wait(continuation) {
                case .chunk(let chunk, let resumes): continuation.resume(returning: deliver(chunk, resumes))
                case .end: continuation.resume(returning: nil)
                case .failure(let error): continuation.resume(throwing: error)
                case .nothing: break
                }
            }
        } onCancel: {
            exchange.cancel()
        }
    }

    private func deliver(_ chunk: [UInt8], _ resumes: Bool) -> [UInt8] {
        if resumes { madeRoom() }
        return chunk
    }

    func skip(_ limit: inout Int) -> Bool {
        while limit >= 0 {
            switch channel.take() {
            case .chunk(let chunk, let resumes):
                if resumes { madeRoom() }
                limit -= chunk.count
            case .end, .failure: return true
            case .nothing: return false
            }
        }
        return true
    }

    func recycle(_ chunk: inout [UInt8]) { channel.recycle(&chunk) }

    var hasEnded: Bool { channel.isFinished }

    var trailers: HTTPFields { channel.trailers ?? HTTPFields() }

    /// Resumes a transfer that was paused because its reader was slow.
    private func madeRoom() { exchange.readOn() }
}
