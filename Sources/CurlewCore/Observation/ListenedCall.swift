internal import HTTPTypes
internal import Synchronization

/// A call that has listeners. It creates their events from the reports of links, the end of the chain, and exchanges.
package final class ListenedCall: CallReporter {
    /// A listener, and the events that it wants.
    private struct Subscription: Sendable {
        let listener: any CallListener
        let kinds: CallEvent.Kinds
    }

    private static let count = Atomic<UInt64>(0)

    /// The number of the call.
    package let number: UInt64
    private let subscriptions: [Subscription]
    /// The kinds of events that any listener wants.
    private let kinds: CallEvent.Kinds
    /// The call as an outer link has created it; it counts the attempts of both.
    private let outer: ListenedCall?
    private let attempts = Atomic(0)

    private init(number: UInt64, _ subscriptions: [Subscription], outer: ListenedCall?) {
        self.number = number
        self.subscriptions = subscriptions
        self.outer = outer
        kinds = subscriptions.reduce(into: CallEvent.Kinds()) { $0.formUnion($1.kinds) }
    }

    /// Adds a listener to the call of a request.
    /// - Parameters:
    ///   - kinds: The events that it wants.
    ///   - replaced: The listener that it replaces.
    /// - Returns: The call, whose number stays the same.
    @discardableResult
    package static func add(
        _ listener: any CallListener, _ kinds: CallEvent.Kinds, to request: inout CurlewRequest,
        replacing replaced: (any CallListener)? = nil
    ) -> ListenedCall {
        let subscription = Subscription(listener: listener, kinds: kinds)
        let call: ListenedCall
        if let outer = request.reporter as? ListenedCall {
            // A listener that is added twice, by a link that is passed twice, is kept once. An inner log replaces an
            // outer log.
            let others = outer.subscriptions.filter { $0.listener !== listener && $0.listener !== replaced }
            call = ListenedCall(number: outer.number, others + [subscription], outer: outer)
        } else {
            let number = count.wrappingAdd(1, ordering: .relaxed).newValue
            call = ListenedCall(number: number, [subscription], outer: nil)
        }
        request.reporter = call
        return call
    }

    /// The listeners, the outermost first.
    var listeners: [any CallListener] { subscriptions.map(\.listener) }

    private func nextAttempt() -> Int {
        outer?.nextAttempt() ?? attempts.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Creates an event and sends it to the listeners that want its kind.
    fileprivate func publish(
        _ kind: CallEvent.Kind, _ request: CurlewRequest, attempt: Int = 0, _ describe: (inout CallEvent) -> Void
    ) {
        guard kinds.contains(kind) else { return }
        var event = CallEvent(kind, call: number, attempt: attempt, request)
        describe(&event)
        for subscription in subscriptions where subscription.kinds.contains(kind) {
            subscription.listener.receive(event)
        }
    }

    fileprivate func wants(_ kind: CallEvent.Kind) -> Bool { kinds.contains(kind) }

    // MARK: Reports of links

    func redirected(_ status: HTTPResponse.Status, to request: CurlewRequest, number: Int) {
        publish(.redirected, request) { event in
            event.status = status
            event.number = number
        }
    }

    func retrying(
        _ request: CurlewRequest, _ status: HTTPResponse.Status?, _ error: CurlewError?, after wait: Duration,
        _ attempt: Int
    ) {
        publish(.retrying, request) { event in
            event.status = status
            event.error = error
            event.wait = wait
            event.number = attempt
        }
    }

    func hedging(_ request: CurlewRequest, attempt: Int) {
        publish(.hedging, request) { $0.number = attempt }
    }

    func circuitChanged(_ transition: CircuitTransition, _ request: CurlewRequest) {
        publish(.circuitChanged, request) { $0.circuit = transition }
    }

    // MARK: Attempts

    func attemptBegins(
        _ request: inout CurlewRequest, gauges: (any AnyObject & Sendable)?
    ) -> (any AttemptReporter)? {
        let number = nextAttempt()
        for subscription in subscriptions {
            subscription.listener.prepare(&request, call: self.number, attempt: number)
        }
        guard kinds.concernAttempts else { return nil }
        publish(.attemptStarted, request, attempt: number) { $0.gauges = gauges }
        return ListenedAttempt(number: number, of: self)
    }
}

/// An attempt of a call that has listeners. Listeners receive the head before the end, and the end once: the caller
/// reports the head, and the event loop may report the end earlier.
///
/// Events are published under the lock, so that they keep their order.
private final class ListenedAttempt: AttemptReporter {
    private struct Progress {
        var hasHead = false
        var hasEnded = false
    }

    let number: Int
    private let call: ListenedCall
    private let progress = Guarded(Progress())

    init(number: Int, of call: ListenedCall) {
        self.number = number
        self.call = call
    }

    func answered(_ request: CurlewRequest, _ response: CurlewResponse) {
        // A session reports the end of the exchange itself, unless a transport sent a different request.
        let endsLater = response.exchange?.isWatched(by: self) ?? false
        guard !endsLater || call.wants(.responseReceived) else { return }
        progress.withLock { progress in
            receive(response.head, request, &progress)
            if !endsLater { end(request, &progress) { $0.response = response.head } }
        }
    }

    func failed(_ request: CurlewRequest, _ error: any Error) {
        progress.withLock { progress in
            end(request, &progress) { event in
                event.response = (error as? CurlewError)?.response
                event.error = error
            }
        }
    }

    func ended(_ exchange: any ResponseExchange) {
        guard let exchange = exchange as? Exchange else { return }
        progress.withLock { progress in
            if let head = exchange.head { receive(head, exchange.request, &progress) }
            end(exchange.request, &progress) { event in
                event.response = exchange.head
                event.error = exchange.end
                event.metrics = exchange.metrics
            }
        }
    }

    private func receive(_ head: HTTPResponse, _ request: CurlewRequest, _ progress: inout Progress) {
        guard !progress.hasHead, !progress.hasEnded else { return }
        progress.hasHead = true
        call.publish(.responseReceived, request, attempt: number) { $0.response = head }
    }

    private func end(_ request: CurlewRequest, _ progress: inout Progress, _ describe: (inout CallEvent) -> Void) {
        guard !progress.hasEnded else { return }
        progress.hasEnded = true
        call.publish(.attemptEnded, request, attempt: number, describe)
    }
}

extension CallListener {
    /// Listens to a call: to the events of all inner links, and to its end.
    package func listen(
        to request: CurlewRequest, _ next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        var request = request
        let call = ListenedCall.add(self, .all, to: &request)
        let start = Instant.now
        receive(CallEvent(.callStarted, call: call.number, request))
        do {
            let response = try await next(request)
            var event = CallEvent(.callEnded, call: call.number, request)
            event.duration = start.duration(to: .now)
            event.response = response.head
            receive(event)
            return response
        } catch {
            var event = CallEvent(.callEnded, call: call.number, request)
            event.duration = start.duration(to: .now)
            event.response = (error as? CurlewError)?.response
            event.error = error
            receive(event)
            throw error
        }
    }
}
