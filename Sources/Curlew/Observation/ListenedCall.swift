internal import HTTPTypes
internal import Synchronization

/// A call that has listeners. It makes their events of the reports of links, of the end of the chain, and of exchanges.
package final class ListenedCall: CallReporter {
    private static let count = Atomic<UInt64>(0)

    /// The number of the call.
    package let number: UInt64
    /// The listeners, the outermost first.
    package let listeners: [any CallListener]
    private let attempts: AttemptCount

    /// The attempts of a call, by whichever link its listeners were added.
    private final class AttemptCount: Sendable {
        private let count = Atomic(0)

        func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
    }

    private init(number: UInt64, listeners: [any CallListener], attempts: AttemptCount) {
        self.number = number
        self.listeners = listeners
        self.attempts = attempts
    }

    /// Adds a listener to the call of a request.
    /// - Parameter replaced: The listener whose place it takes.
    /// - Returns: The call, with the number that it had before.
    @discardableResult
    package static func add(
        _ listener: any CallListener, to request: inout CurlewRequest, replacing replaced: (any CallListener)? = nil
    ) -> ListenedCall {
        let call: ListenedCall
        if let outer = request.reporter as? ListenedCall {
            let others = replaced.map { replaced in outer.listeners.filter { $0 !== replaced } } ?? outer.listeners
            call = ListenedCall(number: outer.number, listeners: others + [listener], attempts: outer.attempts)
        } else {
            let number = count.wrappingAdd(1, ordering: .relaxed).newValue
            call = ListenedCall(number: number, listeners: [listener], attempts: AttemptCount())
        }
        request.reporter = call
        return call
    }

    fileprivate func publish(_ event: CallEvent) { for listener in listeners { listener.receive(event) } }

    // MARK: Reports of links

    func redirected(_ status: HTTPResponse.Status, to request: CurlewRequest, number: Int) {
        var event = CallEvent(.redirected, call: self.number, request)
        event.status = status
        event.number = number
        publish(event)
    }

    func retrying(
        _ request: CurlewRequest, _ status: HTTPResponse.Status?, _ error: CurlewError?, after wait: Duration,
        _ attempt: Int
    ) {
        var event = CallEvent(.retrying, call: number, request)
        event.status = status
        event.error = error
        event.wait = wait
        event.number = attempt
        publish(event)
    }

    func hedging(_ request: CurlewRequest, attempt: Int) {
        var event = CallEvent(.hedging, call: number, request)
        event.number = attempt
        publish(event)
    }

    func circuitChanged(_ transition: CircuitTransition, _ request: CurlewRequest) {
        var event = CallEvent(.circuitChanged, call: number, request)
        event.circuit = transition
        publish(event)
    }

    // MARK: Attempts

    func attemptBegins(
        _ request: inout CurlewRequest, over session: (any AnyObject & Sendable)?
    ) -> any AttemptReporter {
        let attempt = ListenedAttempt(number: attempts.next(), of: self)
        for listener in listeners { listener.prepare(&request, call: number, attempt: attempt.number) }
        request.watchers.append(attempt)
        var event = CallEvent(.attemptStarted, call: number, attempt: attempt.number, request)
        event.session = session
        publish(event)
        return attempt
    }
}

/// One attempt of a call that has listeners. They are told of its head before its end, and of its end once: the head is the caller's to
/// report, and the event loop may report the end before it does.
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
        // A session reports the end of the exchange by itself, unless another transport has sent it another request.
        let endsLater = response.exchange?.request.watchers.contains { $0 === self } ?? false
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
        let exchange = exchange as? Exchange
        guard let request = exchange?.request else { return }
        progress.withLock { progress in
            if let head = exchange?.head { receive(head, request, &progress) }
            end(request, &progress) { event in
                event.response = exchange?.head
                event.error = exchange?.end
                event.metrics = exchange?.metrics
            }
        }
    }

    private func receive(_ head: HTTPResponse, _ request: CurlewRequest, _ progress: inout Progress) {
        guard !progress.hasHead, !progress.hasEnded else { return }
        progress.hasHead = true
        var event = CallEvent(.responseReceived, call: call.number, attempt: number, request)
        event.response = head
        call.publish(event)
    }

    private func end(_ request: CurlewRequest, _ progress: inout Progress, _ describe: (inout CallEvent) -> Void) {
        guard !progress.hasEnded else { return }
        progress.hasEnded = true
        var event = CallEvent(.attemptEnded, call: call.number, attempt: number, request)
        describe(&event)
        call.publish(event)
    }
}

extension CallListener {
    /// Listens to a call: to all that the links further in do, and to its end.
    package func listen(
        to request: CurlewRequest, _ next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        var request = request
        let call = ListenedCall.add(self, to: &request)
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
