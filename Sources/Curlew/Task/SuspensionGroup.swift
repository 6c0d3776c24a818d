/// Stops and restarts the tasks of one call together: those under way, and those that later attempts bring.
final class SuspensionGroup: Sendable {
    private struct Member {
        weak var exchange: Exchange?
    }

    private struct State {
        var isHeld = false
        var members: [Member] = []
    }

    private let state = Guarded(State())

    /// True if the bytes are to be stopped. An exchange looks here when it starts.
    var isHeld: Bool { state.withLock { $0.isHeld } }

    /// Takes in an exchange that has not started.
    func add(_ exchange: Exchange) {
        state.withLock { state in
            state.members.removeAll { $0.exchange == nil }
            state.members.append(Member(exchange: exchange))
        }
    }

    func suspend() { change(to: true) { $0.suspend() } }

    func resume() { change(to: false) { $0.resume() } }

    /// The exchanges are called under the lock, so that the last change is the last that reaches each of them.
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

    /// What stops and restarts the tasks of all attempts together.
    var suspensionGroup: SuspensionGroup? {
        get { self[GroupKey.self] }
        set { self[GroupKey.self] = newValue }
    }
}
