/// Where an ``UploadPump`` puts the chunks of a body.
protocol UploadSink: Sendable {
    /// Takes a chunk when there is room; false when nobody wants more.
    func write(_ chunk: [UInt8]) async -> Bool
    /// There is nothing to come.
    func finish(_ result: Result<Void, CurlewError>)
}

extension UploadChannel: UploadSink {}

/// Keeps a body in memory, up to a limit.
final class CollectingSink: UploadSink {
    private struct State {
        var bytes: [UInt8] = []
        var result: Result<Void, CurlewError> = .success(())
    }

    private let limit: Int
    private let state = Guarded(State())

    init(limit: Int) { self.limit = limit }

    func write(_ chunk: [UInt8]) async -> Bool {
        state.withLock { state in
            guard chunk.count <= limit - state.bytes.count else {
                state.result = .failure(CurlewError(.bodyFailed, "the request's body has more than \(limit) bytes"))
                return false
            }
            state.bytes += chunk
            return true
        }
    }

    func finish(_ result: Result<Void, CurlewError>) {
        state.withLock { state in
            if case .success = state.result { state.result = result }
        }
    }

    /// What was collected.
    func collected() throws -> [UInt8] {
        try state.withLock { state in
            try state.result.get()
            return state.bytes
        }
    }
}
