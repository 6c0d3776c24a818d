extension CurlewRequest.Body {
    /// Reads the body, which must be replayable, and returns its hash in hexadecimal.
    func hash(by algorithm: MessageDigest.Algorithm) async throws -> String {
        let sink = HashingSink(try MessageDigest(algorithm))
        let body = try watchingFile()
        if case .bytes(let bytes) = body.source { _ = await sink.write(bytes) }
        await UploadPump.run(body.source, length: body.length, into: sink)
        if Task.isCancelled { throw CurlewError(CancellationError()) }
        return try sink.finished()
    }
}

/// Hashes a body instead of sending it.
private final class HashingSink: UploadSink {
    private struct State {
        let digest: MessageDigest
        var result: Result<Void, any Error> = .success(())
    }

    private let state: Guarded<State>

    init(_ digest: sending MessageDigest) { state = Guarded(State(digest: digest)) }

    func write(_ chunk: [UInt8]) async -> Bool {
        guard !Task.isCancelled else { return false }
        return state.withLock { state in
            do {
                try state.digest.update(chunk)
                return true
            } catch {
                state.result = .failure(error)
                return false
            }
        }
    }

    func finish(_ result: Result<Void, CurlewError>) {
        state.withLock { state in
            if case .success = state.result { state.result = result.mapError { $0 } }
        }
    }

    func finished() throws -> String {
        try state.withLock { state in
            try state.result.get()
            return try state.digest.finish()
        }
    }
}
