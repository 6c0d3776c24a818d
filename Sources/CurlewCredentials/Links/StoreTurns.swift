internal import Curlew

/// The turns of renewals and removals that use a store, in the order in which they were taken.
///
/// Every turn that was taken must be waited for and ended.
final class StoreTurns: Sendable {
    struct Turn: Sendable {
        fileprivate let number: Int
        /// The number of removals that were begun before.
        fileprivate let removals: Int
    }

    private struct State {
        var nextNumber = 0
        /// The number of the running turn, or of the next one.
        var running = 0
        var removals = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]

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
    func wait(for turn: Turn) async {
        await withCheckedContinuation { continuation in
            let isNext = state.withLock { state in
                guard state.running != turn.number else { return true }
                state.waiters[turn.number] = continuation
                return false
            }
            if isNext { continuation.resume() }
        }
    }

    /// Ends the running turn.
    func end() {
        let next = state.withLock { state in
            state.running += 1
            return state.waiters.removeValue(forKey: state.running)
        }
        next?.resume()
    }

    /// True if no removal was begun since the turn was taken.
    func isCurrent(_ turn: Turn) -> Bool { state.withLock { $0.removals == turn.removals } }
}
