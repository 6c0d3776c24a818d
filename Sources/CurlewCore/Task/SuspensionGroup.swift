/// Suspends and resumes the tasks of one call together: the running ones, and those of later attempts.
package final class SuspensionGroup: Sendable {
    private struct Member {
        weak var exchange: Exchange?
    }

    private struct State {
        var isHeld = false
        var members: [Member] = []
    }

    private let state = Guarded(State())

    package init() {}

    /// True if the transfers are suspended. An exchange reads it when it starts.
    package var isHeld: Bool { state.withLock { $0.isHeld } }

    /// Adds an exchange that has not started.
    func add(_ exchange: Exchange) {
        state.withLock { state in
            state.members.removeAll { $0.exchange == nil }
            state.members.append(Member(exchange: exchange))
        }
    }

    package func suspend() { change(to: true) { $0.suspend() } }

    package func resume() { change(to: false) { $0.resume() } }

    /// The exchanges are called under the lock, so that the last change also reaches each of them last.
    private func change(to isHeld: Bool, _ tell: (Exchange) -> Void) {
        state.withLock { state in
            guard state.isHeld != isHeld else { return }
            state.isHeld = isHeld
            state.members.compactMap(\.exchange).forEach(tell)
        }
    }
}

extension RequestOptions {
    private enum GroupKey: SourceKey { static let defaultValue: SuspensionGroup? = nil }

    /// The group that suspends and resumes the tasks of all attempts.
    package var suspensionGroup: SuspensionGroup? {
        get { self[GroupKey.self] }
        set { self[GroupKey.self] = newValue }
    }
}
