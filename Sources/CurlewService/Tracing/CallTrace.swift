#if Service
internal import Curlew
internal import HTTPTypes
internal import Tracing

/// The trace of one call: its span and the spans of its attempts.
final class CallTrace: CallListener {
    /// The span of an attempt that has not ended.
    struct Attempt {
        let number: Int
        let span: any Span
    }

    private struct State {
        var attempts: [Attempt] = []
        var result: CallResult?
        var hasEnded = false
    }

    let span: any Span
    let link: RequestTracing
    private let name: String
    private let tracer: any Tracer
    private let state = Guarded(State())

    init(span: any Span, name: String, tracer: any Tracer, link: RequestTracing) {
        self.span = span
        self.name = name
        self.tracer = tracer
        self.link = link
    }

    /// Records the result that the caller received: the head of the response or an error.
    func returned(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>) {
        settle { $0.result = CallResult(request, result) }
    }

    /// Ends the span when the caller has its result and all attempts have ended.
    private func settle(_ change: (inout State) -> Void) {
        let result = state.withLock { state -> CallResult? in
            change(&state)
            guard state.attempts.isEmpty, !state.hasEnded, let result = state.result else { return nil }
            state.hasEnded = true
            return result
        }
        if let result { link.end(.call(self, result, DefaultTracerClock.now)) }
    }

    // MARK: Events

    /// The events that the trace records.
    static let kinds = CallEvent.Kinds(.attemptEnded, .redirected, .retrying, .hedging)

    func prepare(_ request: inout CurlewRequest, call: UInt64, attempt: Int) {
        let span = tracer.startAnySpan(name, context: self.span.context, ofKind: .client)
        state.withLock { $0.attempts.append(Attempt(number: attempt, span: span)) }
        link.inject(span.context, into: &request)
    }

    func receive(_ event: CallEvent) {
        switch event.kind {
        case .attemptEnded: attemptEnded(event)
        case .redirected: redirected(event)
        case .retrying: retrying(event)
        case .hedging: hedging(event)
        default: break
        }
    }

    private func attemptEnded(_ event: CallEvent) {
        settle { state in
            guard let index = state.attempts.firstIndex(where: { $0.number == event.attempt }) else { return }
            let attempt = state.attempts.remove(at: index)
            // The attempt's span ends under the lock, so that the call's span ends later.
            link.end(.attempt(attempt.span, event, DefaultTracerClock.now))
        }
    }

    private func redirected(_ event: CallEvent) {
        var attributes = SpanAttributes()
        if let status = event.status { attributes["http.response.status_code"] = status.code }
        attributes["url.full"] = event.request.uri.text(showsQuery: event.request.options.showsQueries)
        span.addEvent(SpanEvent(name: "redirect", attributes: attributes))
    }

    private func retrying(_ event: CallEvent) {
        var attributes = SpanAttributes()
        if let status = event.status { attributes["http.response.status_code"] = status.code }
        if let code = event.errorCode { attributes["error.type"] = code.rawValue }
        if let wait = event.wait { attributes["curlew.wait.milliseconds"] = wait.nanosecondsClamped / 1_000_000 }
        attributes["curlew.attempt"] = event.number
        span.addEvent(SpanEvent(name: "retry", attributes: attributes))
    }

    private func hedging(_ event: CallEvent) {
        var attributes = SpanAttributes()
        attributes["curlew.attempt"] = event.number
        span.addEvent(SpanEvent(name: "hedge", attributes: attributes))
    }
}

/// The listener of a call without a recorded span; the call's requests carry its context.
final class UnrecordedCall: CallListener {
    private let context: ServiceContext
    private let link: RequestTracing

    init(context: ServiceContext, link: RequestTracing) {
        self.context = context
        self.link = link
    }

    func prepare(_ request: inout CurlewRequest, call: UInt64, attempt: Int) { link.inject(context, into: &request) }

    func receive(_ event: CallEvent) {}
}

/// Writes a context into the fields of a request. A name or value that is invalid in a field is skipped, without an
/// error.
struct FieldInjector: Injector {
    /// The parsed names of W3C Trace Context and Baggage, so that they are not parsed for every request.
    private static let known = Dictionary(
        uniqueKeysWithValues: ["traceparent", "tracestate", "baggage"].compactMap { key in
            HTTPField.Name(key).map { (key, $0) }
        })

    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        guard let name = Self.known[key] ?? HTTPField.Name(key), HTTPField.isValidValue(value) else { return }
        fields[name] = value
    }
}
#endif
