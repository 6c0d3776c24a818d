/// Time limits for waiting for work. Work that exceeds its limit is cancelled, but may continue.
///
/// A single task watches all work, several times within the limit, and ends after a second without work. A timer for
/// each piece of work would cost more than most of the work.
final class Deadlines: Sendable {
    private struct State {
        var expirations: [Int: (deadline: Instant, expire: @Sendable () -> Void)] = [:]
        var next = 0
        var isWatched = false
    }

    private let state = Guarded(State())
    /// The time without work after which the task ends.
    private static let idleTime = Duration.seconds(1)

    /// - Parameters:
    ///   - limit: The time limit of the work. Its end is noticed at most a quarter of the limit later, and at most a
    ///     second. If the watching task was started for a longer limit, the quarter of that limit counts.
    ///   - onLateEnd: Called when work ends after its limit.
    /// - Returns: nil if the limit was exceeded.
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

    /// Ends the work whose limit is exceeded.
    /// - Parameter idle: The time without any work.
    /// - Returns: True if the watching continues.
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

        /// - Returns: True if this is the first result.
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
