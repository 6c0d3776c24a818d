internal import Synchronization

/// A broadcast of elements to listeners. Each has a buffer of its own; one that is behind loses the oldest.
///
/// Yielding may wait for a task that is being cancelled, and cancelling a task that listens calls ``remove(_:)``. So no element is
/// yielded under the lock that this takes.
package final class Broadcaster<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var next: UInt64 = 0
        var isFinished = false
    }

    private let state = Guarded(State())
    /// Held while an element is handed to all; nobody who stops listening takes it.
    private let turn = Lock()
    private let isHeard = Atomic(false)
    private let bufferSize: Int

    package init(bufferSize: Int) { self.bufferSize = max(1, bufferSize) }

    /// True if anybody listens, asked for every element; mostly nobody does.
    var hasListeners: Bool { isHeard.load(ordering: .acquiring) }

    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// Adds a listener.
    /// - Parameters:
    ///   - first: The element that the listener gets at once.
    ///   - onEnd: Called once it has stopped listening, from any thread.
    package func listen(from first: Element? = nil, onEnd: @escaping @Sendable () -> Void = {}) -> AsyncStream<Element>
    {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(bufferSize))
        if let first { continuation.yield(first) }
        let number: UInt64? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.next += 1
            state.listeners[state.next] = continuation
            isHeard.store(true, ordering: .releasing)
            return state.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.remove(number)
            onEnd()
        }
        return stream
    }

    private func remove(_ number: UInt64) {
        state.withLock { state in
            state.listeners[number] = nil
            isHeard.store(!state.listeners.isEmpty, ordering: .releasing)
        }
    }

    /// Hands an element to all who listen now. Whoever publishes, all listeners get the same order.
    package func publish(_ element: Element) {
        // What is pushed out may be the last to hold something that ends with it, and so is released outside the lock.
        let pushedOut = turn.withLock {
            let listeners = state.withLock { Array($0.listeners.values) }
            return listeners.map { $0.yield(element) }
        }
        withExtendedLifetime(pushedOut) {}
    }

    package func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            isHeard.store(false, ordering: .releasing)
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
