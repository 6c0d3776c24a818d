/// Feeds the body of one attempt into the channel that the loop reads from, off the loop.
enum UploadPump {
    /// Runs until the body has ended, failed, or nobody wants it any more.
    /// - Parameter length: The bytes that were promised.
    static func run(_ source: RequestBody.Source, length: Int64?, into channel: some UploadSink) async {
        do {
            switch source {
            case .none, .bytes: break
            case .file(let path, let offset, let length):
                let file = try WatchedFile(path: path, offset: offset, length: length)
                try await pump(opened: WatchedFileChunks(file: file), length: file.length, into: channel)
            case .watched(let file):
                try await pump(opened: WatchedFileChunks(file: file), length: file.length, into: channel)
            case .factory(let make): try await pump(try await make(), length: length, into: channel)
            case .once(let oneShot):
                guard let stream = await oneShot.take() else {
                    throw CurlewError(.bodyNotReplayable, "the body was read before and cannot be read again")
                }
                try await pump(stream, length: length, into: channel)
            }
            channel.finish(.success(()))
        } catch let error as CurlewError {
            channel.finish(.failure(error))
        } catch {
            channel.finish(.failure(CurlewError(.bodyFailed, "the request's body failed", underlying: error)))
        }
    }

    /// Passes the chunks on. The one that completes the promised length waits until the stream has ended, so that a
    /// stream that is too long fails before the first byte too many.
    private static func pump(
        _ stream: RequestBody.Stream, length: Int64?, into channel: some UploadSink
    ) async throws {
        try await pump(opened: stream, length: length, into: channel)
    }

    private static func pump<S: AsyncSequence>(
        opened stream: S, length: Int64?, into channel: some UploadSink
    ) async throws where S.Element == [UInt8] {
        var count: Int64 = 0
        var held: [UInt8]?
        for try await chunk in stream where !chunk.isEmpty {
            count += Int64(chunk.count)
            if let length, count > length {
                throw CurlewError(.bodyLengthMismatch, "the body has more than the \(length) bytes that it promised")
            }
            if count == length {
                held = chunk
            } else if await !channel.write(chunk) {
                return
            }
        }
        if let held { _ = await channel.write(held) }
    }
}
