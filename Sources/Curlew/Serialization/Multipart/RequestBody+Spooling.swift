extension CurlewRequest.Body {
    /// Writes the whole body into a file and returns a body that sends the file: of known length, and to be sent as
    /// often as needed.
    ///
    /// The bytes go into a new file beside `path` first, readable by its owner alone, which then takes the place of what is
    /// at `path`. So a file that is there stays as it is until the new one is whole, and nothing is left behind by an error or
    /// a cancellation. The body is read and written 256 KiB at a time, or as its stream yields it, off the event loop.
    /// Removing the file is the caller's task. `CurlewRequest.Body.none` writes nothing and stays what it is.
    /// - Parameter path: Where the file goes. Its folder must be there.
    /// - Throws: ``CurlewError``: ``ErrorCode/bodyFailed`` if the body or the writing fails, or something is at `path` that is
    ///   no regular file; ``ErrorCode/bodyLengthMismatch`` if the body is not as long as it promised;
    ///   ``ErrorCode/bodyNotReplayable`` if it was read before; ``ErrorCode/cancelled``.
    public func spooled(to path: String) async throws -> CurlewRequest.Body {
        if isNone { return self }
        let file = try await Self.writing { try await PartFile.create(beside: path, permissions: 0o600) }
        do {
            var chunks = try await stream().makeAsyncIterator()
            let reception = try await PartFile.receive {
                try await chunks.next(isolation: #isolation)
            } write: { chunk, offset in
                let bytes = copy chunk
                try await Self.writing { try await file.write(bytes, at: offset) }
            }
            try Task.checkCancellation()
            _ = try await Self.writing { try await file.commit(to: path, existing: .replace, synchronizes: false) }
            return .file(path, length: reception.end)
        } catch {
            await file.discard()
            switch error {
            case let error as CurlewError: throw error
            case is CancellationError: throw CurlewError(.cancelled, "the task was cancelled while it wrote the body")
            default: throw CurlewError(.bodyFailed, "the request's body failed", underlying: error)
            }
        }
    }

    /// What goes wrong with the file is the body's failure; it lies beneath.
    private static func writing<Value: Sendable>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch {
            throw CurlewError(.bodyFailed, "the body cannot be written into a file", underlying: error)
        }
    }
}

extension CurlewRequest {
    /// The same request with its body in a file; see ``CurlewRequest/Body/spooled(to:)``. Its fields stay, so that a form's
    /// boundary is that of the file.
    public func spoolingBody(to path: String) async throws -> CurlewRequest {
        var request = self
        request.body = try await body.spooled(to: path)
        return request
    }
}
