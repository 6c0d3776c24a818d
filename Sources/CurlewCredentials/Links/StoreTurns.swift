internal import Curlew

/// The turns of renewals and removals that use a store, in the order in which they were taken.
///
/// Every turn that was taken must be waited for, and ended unless the wait was cancelled.
final class StoreTurns: Sendable {
    struct Turn: Sendable {
        fileprivate let number: Int
        /// The number of removals that were begun before.
        fileprivate let removals: Int
    }

    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var nextNumber = 0
        /// The number of the running turn, or of the next one.
        var running = 0
        var removals = 0
        var waiters: [Int: Waiter] = [:]
        /// The turns whose waits were cancelled.
        var abandoned: Set<Int> = []

        mutating func take() -> Turn {
            defer { nextNumber += 1 }
            return Turn(number: nextNumber, removals: removals)
        }
    }

    private let state = Guarded(State())

    /// Takes the turn of a renewal.
    func take() -> Turn { state.withLock { $0.take() } }

    /// Takes the turn of a removal. All turns of renewals that were taken before are obsolete.
    func takeForRemoval() -> Turn {
        state.withLock { state in
            state.removals += 1
            return state.take()
        }
    }

    /// Waits until all earlier turns have ended.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cancelled`` if the task is cancelled while it waits.
    ///   The turn is then skipped.
    func wait(for turn: Turn) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let isNext = state.withLock { state in
                    guard state.running != turn.number else { return true }
                    state.waiters[turn.number] = waiter
                    return false
                }
                if isNext { return waiter.resume() }
                // A cancellation before the waiter was added did not find it.
                if Task.isCancelled { abandon(turn) }
            }
        } onCancel: {
            abandon(turn)
        }
    }

    /// Removes the waiter of a cancelled task.
    private func abandon(_ turn: Turn) {
        let waiter = state.withLock { state -> Waiter? in
            guard let waiter = state.waiters.removeValue(forKey: turn.number) else { return nil }
            state.abandoned.insert(turn.number)
            return waiter
        }
        waiter?.resume(throwing: CurlewError(.cancelled, "the task was cancelled while it waited for a token's store"))
    }

    /// Ends the running turn.
    func end() {
        let next = state.withLock { state -> Waiter? in
            repeat { state.running += 1 } while state.abandoned.remove(state.running) != nil
            return state.waiters.removeValue(forKey: state.running)
        }
        next?.resume()
    }

    /// True if no removal was begun since the turn was taken.
    func isCurrent(_ turn: Turn) -> Bool { state.withLock { $0.removals == turn.removals } }
}
