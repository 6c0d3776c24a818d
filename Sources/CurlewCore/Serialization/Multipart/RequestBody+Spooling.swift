extension CurlewRequest.Body {
    /// Writes the complete body to a file and returns a body that sends the file: its length is known, and it can be
    /// sent any number of times.
    ///
    /// The bytes are first written to a new file beside `path`, readable by its owner only, which then replaces the
    /// file at `path`. So an existing file stays unchanged until the new one is complete, and an error or a
    /// cancellation leaves no file behind. The body is read and written off the event loop, 256 KiB at a time or in the
    /// chunks of its stream. The caller has to remove the file. For `CurlewRequest.Body.none` no file is written, and
    /// the same body is returned.
    /// - Parameter path: The path of the file. Its directory must exist.
    /// - Throws: ``CurlewError``: ``ErrorCode/bodyFailed`` if the body or the writing fails, or `path` is not a regular
    ///   file; ``ErrorCode/bodyLengthMismatch`` if the body differs from its promised length;
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

    /// Performs work on the file; its failure becomes the underlying error of ``ErrorCode/bodyFailed``.
    private static func writing<Value: Sendable>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch {
            throw CurlewError(.bodyFailed, "the body cannot be written into a file", underlying: error)
        }
    }
}

extension CurlewRequest {
    /// A copy of the request with its body in a file; see ``CurlewRequest/Body/spooled(to:)``. The fields stay the
    /// same, so that they name the boundary of the form in the file.
    public func spoolingBody(to path: String) async throws -> CurlewRequest {
        var request = self
        request.body = try await body.spooled(to: path)
        return request
    }
}
