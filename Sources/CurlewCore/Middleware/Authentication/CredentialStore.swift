/// A credential that several requests share, and its renewal, at most one at a time.
///
/// A lock protects it, not an actor: most requests only read it, and must not change threads for that.
package final class CredentialStore<Value: Sendable>: Sendable {
    /// A credential as a request received it.
    package struct Issue: Sendable {
        package let value: Value
        /// The number of ended renewals at that time, successful or not.
        let epoch: Int
        /// The number of times that a credential had been discarded at that time.
        let generation: Int
    }

    private typealias Waiter = CheckedContinuation<Issue, any Error>

    private struct State {
        var value: Value?
        /// The time of its end, by the stopwatch; nil if it does not end.
        var end: Duration?
        var isRefused = false
        var epoch = 0
        var generation = 0
        /// The error of the last renewal, if it failed.
        var failure: (any Error)?
        var renewal: Task<Void, Never>?
        /// True if the credential was discarded while a renewal was running, so that its result is not used.
        var isStale = false
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    private let window: Duration
    private let elapsed: @Sendable () -> Duration
    private let lifetime: @Sendable (Value) -> Duration?
    private let renew: @Sendable (Value?) async throws -> Value
    private let state = Guarded(State())

    package init(
        initial: Value?, window: Duration, elapsed: @escaping @Sendable () -> Duration,
        lifetime: @escaping @Sendable (Value) -> Duration?, renew: @escaping @Sendable (Value?) async throws -> Value
    ) {
        self.window = window
        self.elapsed = elapsed
        self.lifetime = lifetime
        self.renew = renew
        guard let initial else { return }
        let end = lifetime(initial).map { elapsed() + $0 }
        state.withLock { state in
            state.value = initial
            state.end = end
        }
    }

    /// The credential, renewed first if necessary.
    package func current() async throws -> Issue {
        let now = elapsed()
        let (issue, epoch): (Issue?, Int) = state.withLock { state in
            guard state.renewal == nil, !state.isRefused, let value = state.value else { return (nil, state.epoch) }
            if let end = state.end, now + window >= end { return (nil, state.epoch) }
            return (Issue(value: value, epoch: state.epoch, generation: state.generation), state.epoch)
        }
        if let issue { return issue }
        return try await renewal(after: epoch)
    }

    /// The credential that replaces a refused one.
    package func renewed(after issue: Issue) async throws -> Issue {
        refuse(issue)
        return try await renewal(after: issue.epoch)
    }

    /// True if the credential was not discarded since it was issued.
    package func isCurrent(_ issue: Issue) -> Bool { state.withLock { $0.generation == issue.generation } }

    /// Records that a credential was refused, so that it is not issued again.
    package func refuse(_ issue: Issue) {
        state.withLock { state in
            if issue.epoch == state.epoch { state.isRefused = true }
        }
    }

    /// Discards the credential. A running renewal is cancelled.
    /// - Parameter error: The error of the waiters; nil if they wait for a new renewal.
    package func forget(failing error: (any Error)? = nil) {
        let (renewal, waiters) = state.withLock { state -> (Task<Void, Never>?, [Waiter]) in
            state.value = nil
            state.end = nil
            state.isRefused = false
            state.generation += 1
            state.isStale = state.renewal != nil
            guard error != nil else { return (state.renewal, []) }
            defer { state.waiters = [:] }
            return (state.renewal, Array(state.waiters.values))
        }
        renewal?.cancel()
        guard let error else { return }
        for waiter in waiters { waiter.resume(throwing: error) }
    }

    // MARK: Renewal

    /// The outcome of a renewal that has ended since that epoch, of the running one, or of a new one.
    private func renewal(after epoch: Int) async throws -> Issue {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let outcome: Result<Issue, any Error>? = state.withLock { state in
                    if state.epoch > epoch {
                        if let failure = state.failure { return .failure(failure) }
                        // A late 401 must not bring back a value that was refused meanwhile.
                        if !state.isRefused, let value = state.value {
                            return .success(Issue(value: value, epoch: state.epoch, generation: state.generation))
                        }
                    }
                    state.waiters[number] = waiter
                    if state.renewal == nil { begin(&state) }
                    return nil
                }
                if let outcome { return waiter.resume(with: outcome) }
                // A cancellation before the waiter was added did not find it.
                if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// Removes the waiter of a cancelled task, and cancels the renewal if no waiter is left.
    private func leave(_ number: Int) {
        let (waiter, renewal) = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: number)
            return (waiter, waiter != nil && state.waiters.isEmpty ? state.renewal : nil)
        }
        renewal?.cancel()
        waiter?.resume(throwing: CurlewError(.cancelled, "the task was cancelled while it waited for a credential"))
    }

    private func begin(_ state: inout State) {
        let last = state.value
        // A detached task, not a child of the first waiter: that task's cancellation does not concern the others.
        state.renewal = Task.detached { [self] in
            do {
                let value = try await renew(last)
                end(with: value)
            } catch {
                end(with: error)
            }
        }
    }

    private func end(with value: Value) {
        let end = lifetime(value).map { elapsed() + $0 }
        let (issue, waiters) = state.withLock { state -> (Issue, [Waiter]) in
            if state.isStale {
                state.renewal = nil
                state.isStale = false
                if !state.waiters.isEmpty { begin(&state) }
                return (Issue(value: value, epoch: state.epoch, generation: state.generation), [])
            }
            state.value = value
            state.end = end
            state.isRefused = false
            state.failure = nil
            return finish(&state, value)
        }
        for waiter in waiters { waiter.resume(returning: issue) }
    }

    private func end(with error: any Error) {
        let waiters: [Waiter] = state.withLock { state in
            let wasAbandoned = state.isStale || state.renewal?.isCancelled == true
            guard !wasAbandoned else {
                // The renewal was abandoned; waiters that came since need a new one.
                state.renewal = nil
                state.isStale = false
                if !state.waiters.isEmpty { begin(&state) }
                return []
            }
            state.failure = error
            defer { state.waiters = [:] }
            state.epoch += 1
            state.renewal = nil
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(throwing: error) }
    }

    private func finish(_ state: inout State, _ value: Value) -> (Issue, [Waiter]) {
        state.epoch += 1
        state.renewal = nil
        let waiters = Array(state.waiters.values)
        state.waiters = [:]
        return (Issue(value: value, epoch: state.epoch, generation: state.generation), waiters)
    }
}
