internal import Dispatch

/// A queue that passes items to a backend in batches, on its own thread. A blocking backend therefore delays no request
/// and no event loop. Items that arrive while `limit` others wait are dropped and counted.
///
/// `add` is inlinable, because other modules would run it without specialization, at eight times the instructions.
@usableFromInline
package final class DeferredQueue<Item: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var items: [Item] = []
        /// The storage of the previous batch, for reuse.
        var spare: [Item] = []
        @usableFromInline var dropped = 0
        @usableFromInline var isScheduled = false
    }

    private let queue: DispatchQueue
    @usableFromInline let state = Guarded(State())
    @usableFromInline let limit: Int
    private let delay: DispatchTimeInterval
    private let handle: @Sendable (_ batch: [Item], _ dropped: Int) -> Void

    /// - Parameters:
    ///   - limit: The most items that wait.
    ///   - milliseconds: The longest wait of an item if the backend is fast.
    ///   - handle: Processes a batch, with its items in the order of arrival, and the number of items that were dropped
    ///     since the last batch.
    package init(
        label: String, limit: Int, milliseconds: Int,
        handle: @escaping @Sendable (_ batch: [Item], _ dropped: Int) -> Void
    ) {
        queue = DispatchQueue(label: label)
        self.limit = limit
        delay = .milliseconds(milliseconds)
        self.handle = handle
    }

    /// The number of items that were dropped since the last batch.
    package var dropped: Int { state.withLock { $0.dropped } }

    /// Adds an item, and returns at once.
    @inlinable
    package func add(_ item: Item) {
        let begins = state.withLock { state in
            guard state.items.count < limit else {
                state.dropped += 1
                return false
            }
            state.items.append(item)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if begins { scheduleDrain() }
    }

    @usableFromInline
    func scheduleDrain() { queue.asyncAfter(deadline: .now() + delay) { self.drain() } }

    /// Performs work on the thread of the backend, after its pending work.
    package func perform(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

    /// Waits without a limit until the backend has processed all items so far.
    package func flush() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.drain()
                continuation.resume()
            }
        }
    }

    /// Passes the waiting items to the backend; it is called on the queue.
    private func drain() {
        var (batch, dropped) = state.withLock { state in
            let taken = (state.items, state.dropped)
            state.items = state.spare
            state.spare = []
            state.dropped = 0
            state.isScheduled = false
            return taken
        }
        guard !batch.isEmpty || dropped > 0 else { return }
        handle(batch, dropped)
        batch.removeAll(keepingCapacity: true)
        state.withLock { $0.spare = batch }
    }
}
