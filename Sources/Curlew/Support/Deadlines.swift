/// Bounds the time that work is waited for. Work that takes longer is cancelled, and may go on nevertheless.
///
/// One task looks after all that is under way, a few times within the limit, and ends when there has been nothing for a second: a timer
/// for each would cost more than most of the work.
final class Deadlines: Sendable {
    private struct State {
        var expirations: [Int: (deadline: Instant, expire: @Sendable () -> Void)] = [:]
        var next = 0
        var isWatched = false
    }

    private let state = Guarded(State())
    /// So long nothing has to be under way for the task to end.
    private static let idleTime = Duration.seconds(1)

    /// - Parameters:
    ///   - limit: The time that the work has; a quarter more at most.
    ///   - onLateEnd: Called when work ends after its time was up.
    /// - Returns: nil if the time was up before the work was done.
    func outcome<Value: Sendable>(
        of work: @escaping @Sendable () async throws -> Value, within limit: Duration,
        onLateEnd: @escaping @Sendable () -> Void = {}
    ) async throws -> Value? {
        let race = Race<Value>()
        let task = Task.immediate {
            let result: Result<Value?, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            if !race.end(result) { onLateEnd() }
        }
        if let result = race.result { return try result.get() }
        let number = add(limit) { if race.end(.success(nil)) { task.cancel() } }
        defer { remove(number) }
        return try await race.outcome()
    }

    private func add(_ limit: Duration, _ expire: @escaping @Sendable () -> Void) -> Int {
        let deadline = Instant.now.advanced(by: limit.nanosecondsClamped)
        let (number, begins) = state.withLock { state in
            defer { (state.next, state.isWatched) = (state.next + 1, true) }
            state.expirations[state.next] = (deadline, expire)
            return (state.next, !state.isWatched)
        }
        if begins {
            let step = min(max(.milliseconds(1), limit / 4), .seconds(1))
            Task { [weak self] in
                var idle = Duration.zero
                while self?.expire(idle) == true {
                    idle = self?.isIdle == true ? idle + step : .zero
                    try? await ContinuousClock().sleep(for: step)
                }
            }
        }
        return number
    }

    private func remove(_ number: Int) { state.withLock { _ = $0.expirations.removeValue(forKey: number) } }

    private var isIdle: Bool { state.withLock { $0.expirations.isEmpty } }

    /// Ends what has no time left.
    /// - Parameter idle: For how long nothing has been under way.
    /// - Returns: Whether to look again.
    private func expire(_ idle: Duration) -> Bool {
        let now = Instant.now
        let (expired, goesOn) = state.withLock { state -> ([@Sendable () -> Void], Bool) in
            let expired = state.expirations.filter { $0.value.deadline <= now }
            for number in expired.keys { state.expirations[number] = nil }
            let goesOn = !state.expirations.isEmpty || idle < Self.idleTime
            if !goesOn { state.isWatched = false }
            return (expired.values.map(\.expire), goesOn)
        }
        for expire in expired { expire() }
        return goesOn
    }

    private final class Race<Value: Sendable>: Sendable {
        private enum State {
            case running
            case awaited(CheckedContinuation<Value?, any Error>)
            case ended(Result<Value?, any Error>)
        }

        private let state = Guarded(State.running)

        var result: Result<Value?, any Error>? {
            state.withLock { if case .ended(let result) = $0 { result } else { nil } }
        }

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
