/// Those who listen to a monitor. Each has room for one status, the newest.
final class ReachabilityListeners: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<ReachabilityStatus>.Continuation] = [:]
        var last: UInt64 = 0
    }

    private let state = Guarded(State())

    var isEmpty: Bool { state.withLock { $0.listeners.isEmpty } }

    var count: Int { state.withLock { $0.listeners.count } }

    /// Takes one in.
    /// - Parameter onEnd: Called once it does not listen any more, from any thread.
    func add(onEnd: @escaping @Sendable () -> Void) -> AsyncStream<ReachabilityStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReachabilityStatus.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.listeners[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [state] _ in
            state.withLock { _ = $0.listeners.removeValue(forKey: number) }
            onEnd()
        }
        return stream
    }

    func publish(_ status: ReachabilityStatus) {
        // Not under the lock: whoever is woken may end, and take itself out.
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(status) }
    }
}
