internal import Synchronization

/// A broadcast of elements to listeners. Each listener has its own buffer; a slow one loses the oldest elements.
///
/// Yielding may wait for the cancellation of a task, and cancelling a listening task calls ``remove(_:)``. Elements are
/// therefore never yielded under the lock that ``remove(_:)`` takes.
package final class Broadcaster<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var next: UInt64 = 0
        var isFinished = false
    }

    private let state = Guarded(State())
    /// The lock that is held while an element is yielded to all listeners. The end of a listener does not take it.
    private let turn = Lock()
    private let isHeard = Atomic(false)
    private let bufferSize: Int

    package init(bufferSize: Int) { self.bufferSize = max(1, bufferSize) }

    /// True if there are listeners. It is read for every element, usually without any.
    package var hasListeners: Bool { isHeard.load(ordering: .acquiring) }

    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// Adds a listener.
    /// - Parameters:
    ///   - first: An element that the listener gets at once.
    ///   - onEnd: Called once after the listener has stopped, from any thread.
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

    /// Yields an element to all present listeners. All of them get the elements in the same order.
    package func publish(_ element: Element) {
        // A dropped element may hold the last reference to an object whose end has effects, so it is released outside
        // the lock.
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
