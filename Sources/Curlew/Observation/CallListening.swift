/// A link that adds a listener to the calls which pass it.
///
/// It belongs before all other links: it then sees a call once, and all attempts that ``Retry``, ``Hedging`` and ``Redirects`` make.
///
/// The listener receives its events one at a time, in the order in which they occurred, on a thread of the link's own. A listener that
/// is slow or that blocks holds up no call and no event loop. At most 8,192 events wait for it; further ones are dropped, and
/// ``dropped`` counts them.
public struct CallListening: CurlewMiddleware {
    private let queue: QueuedListener

    /// - Parameters:
    ///   - listener: The listener. It lives as long as the link and the calls that have passed it.
    ///   - limit: The most events that wait for the listener; at least 1.
    public init(_ listener: any CallListener, limit: Int = 8192) {
        queue = QueuedListener(listener, limit: max(1, limit))
    }

    /// The number of events that were dropped as too many waited.
    public var dropped: Int { queue.dropped }

    /// Waits until the listener has received all events that have occurred. It waits for as long as the listener takes.
    public func flush() async { await queue.flush() }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await queue.listen(to: request, next)
    }
}

/// A listener that hands its events on to another one, by a queue with a bound.
private final class QueuedListener: CallListener {
    private let listener: any CallListener
    private let queue: DeferredQueue<CallEvent>
    private let droppedBefore = Guarded(0)

    init(_ listener: any CallListener, limit: Int) {
        self.listener = listener
        queue = DeferredQueue(label: "curlew.listener", limit: limit, milliseconds: 0) {
            [droppedBefore] batch, dropped in
            for event in batch { listener.receive(event) }
            if dropped > 0 { droppedBefore.withLock { $0 += dropped } }
        }
    }

    var dropped: Int { droppedBefore.withLock { $0 } + queue.dropped }

    func flush() async { await queue.flush() }

    func receive(_ event: CallEvent) {
        var event = event
        // A session ends when it is dropped, whatever events wait here.
        event.session = nil
        // A request that the listener keeps, or sends, has no part in this call.
        event.request.reporter = nil
        event.request.watchers = []
        queue.add(event)
    }

    func prepare(_ request: inout CurlewRequest, call: UInt64, attempt: Int) {
        listener.prepare(&request, call: call, attempt: attempt)
    }
}
