/// The reading end of a body. When the last reference goes before the end was read, the transfer is cancelled.
final class BodyReader: Sendable {
    let channel: BodyChannel
    private let task: TaskActor

    init(channel: BodyChannel, task: TaskActor) {
        self.channel = channel
        self.task = task
    }

    deinit { cancel() }

    /// Ends the transfer, unless it has ended.
    func cancel() {
        if !channel.isFinished { task.cancel() }
    }

    /// The next chunk; nil at the end. One reader at a time.
    func next() async throws -> [UInt8]? {
        switch channel.take() {
        case .chunk(let chunk, let resumes): return deliver(chunk, resumes)
        case .end: return nil
        case .failure(let error): throw error
        case .nothing: return try await wait()
        }
    }

    private func wait() async throws -> [UInt8]? {
        defer { channel.rendezvous() }
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
            task.cancel()
        }
    }

    private func deliver(_ chunk: [UInt8], _ resumes: Bool) -> [UInt8] {
        if resumes { madeRoom() }
        return chunk
    }

    /// Wakes a transfer that was held back because its reader was behind.
    func madeRoom() { task.readerMadeRoom() }
}
