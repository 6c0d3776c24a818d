/// A link that adds a listener to the calls that pass through it.
///
/// It belongs before all other links: then it sees each call once, and all attempts that ``Retry``, ``Hedging`` and
/// ``Redirects`` make.
///
/// The listener receives its events one at a time, in order, on the link's own thread. A slow or blocking listener
/// delays neither calls nor event loops. At most 8,192 events wait for it; further ones are dropped, and ``dropped``
/// counts them.
public struct CallListening: CurlewMiddleware {
    private let queue: QueuedListener

    /// - Parameters:
    ///   - listener: The listener. The link and its calls retain it.
    ///   - limit: The largest number of events that wait for the listener; at least 1.
    public init(_ listener: any CallListener, limit: Int = 8192) {
        queue = QueuedListener(listener, limit: max(1, limit))
    }

    /// The number of events that were dropped because too many waited.
    public var dropped: Int { queue.dropped }

    /// Waits until the listener has received all events so far, for as long as that takes.
    public func flush() async { await queue.flush() }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await queue.listen(to: request, next)
    }
}

/// A listener that passes its events on to another one through a bounded queue.
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
        // The queue must not retain parts of the session, which ends when it is released.
        event.gauges = nil
        // The listener's copy of the request has no part in this call, even if the listener sends it.
        event.request.reporter = nil
        event.request.watchers = []
        queue.add(event)
    }

    func prepare(_ request: inout CurlewRequest, call: UInt64, attempt: Int) {
        listener.prepare(&request, call: call, attempt: attempt)
    }
}
