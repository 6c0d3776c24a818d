/// The outcome of some work, waited for no longer than a while. Work that takes longer is cancelled, and may go on nevertheless.
enum FirstOutcome {
    /// - Parameter onLateEnd: Called when work ends after its time was up.
    /// - Returns: nil if the time was up before the work was done.
    static func of<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value, within limit: Duration,
        onLateEnd: @escaping @Sendable () -> Void = {}
    ) async throws -> Value? {
        let race = Race<Value>()
        let task = Task {
            let result: Result<Value?, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            if !race.end(result) { onLateEnd() }
        }
        let timer = Task {
            try await ContinuousClock().sleep(for: limit)
            if race.end(.success(nil)) { task.cancel() }
        }
        defer { timer.cancel() }
        return try await race.outcome()
    }

    private final class Race<Value: Sendable>: Sendable {
        private enum State {
            case running
            case awaited(CheckedContinuation<Value?, any Error>)
            case ended(Result<Value?, any Error>)
        }

        private let state = Guarded(State.running)

        /// - Returns: Whether it is the first.
        @discardableResult
        func end(_ result: Result<Value?, any Error>) -> Bool {
            let (waiter, isFirst) = state.withLock { state -> (CheckedContinuation<Value?, any Error>?, Bool) in
                switch state {
                case .running:
                    state = .ended(result)
                    return (nil, true)
                case .awaited(let continuation):
                    state = .ended(result)
                    return (continuation, true)
                case .ended: return (nil, false)
                }
            }
            waiter?.resume(with: result)
            return isFirst
        }

        func outcome() async throws -> Value? {
            try await withCheckedThrowingContinuation { continuation in
                let ready = state.withLock { state -> Result<Value?, any Error>? in
                    if case .ended(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        }
    }
}
