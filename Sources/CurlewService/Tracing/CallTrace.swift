#if Service
internal import Curlew
internal import HTTPTypes
internal import Tracing

/// The trace of one call: its span, and those of the requests that are sent for it.
final class CallTrace: CallObserver {
    private struct State {
        var attempts = 0
        /// Requests whose spans have not ended.
        var open = 0
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

    /// The caller has the head of the response, or an error.
    func returned(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>) {
        settle { $0.result = CallResult(request, result) }
    }

    fileprivate func attemptEnded() { settle { $0.open -= 1 } }

    /// Ends the span once the caller has its result and no request is under way any more.
    private func settle(_ change: (inout State) -> Void) {
        let result = state.withLock { state -> CallResult? in
            change(&state)
            guard state.open == 0, !state.hasEnded, let result = state.result else { return nil }
            state.hasEnded = true
            return result
        }
        if let result { link.end(.call(self, result, DefaultTracerClock.now)) }
    }

    // MARK: What happens on the way

    func willSend(_ request: inout CurlewRequest, over transport: any Sendable) -> (any AttemptObserver)? {
        let number = state.withLock { state in
            state.open += 1
            state.attempts += 1
            return state.attempts
        }
        let span = tracer.startAnySpan(name, context: self.span.context, ofKind: .client)
        link.inject(span.context, into: &request)
        return AttemptTrace(span: span, call: self, resends: number - 1)
    }

    func redirected(_ status: HTTPResponse.Status, to request: CurlewRequest, number: Int) {
        var attributes = SpanAttributes()
        attributes["http.response.status_code"] = status.code
        attributes["url.full"] = request.uri.text(showsQuery: request.options.showsQueries)
        span.addEvent(SpanEvent(name: "redirect", attributes: attributes))
    }

    func retrying(
        _ request: CurlewRequest, _ status: HTTPResponse.Status?, _ code: ErrorCode?, after wait: Duration,
        _ attempt: Int
    ) {
        var attributes = SpanAttributes()
        if let status { attributes["http.response.status_code"] = status.code }
        if let code { attributes["error.type"] = code.rawValue }
        attributes["curlew.wait.milliseconds"] = wait.nanosecondsClamped / 1_000_000
        attributes["curlew.attempt"] = attempt
        span.addEvent(SpanEvent(name: "retry", attributes: attributes))
    }

    func hedging(_ request: CurlewRequest, attempt: Int) {
        var attributes = SpanAttributes()
        attributes["curlew.attempt"] = attempt
        span.addEvent(SpanEvent(name: "hedge", attributes: attributes))
    }
}

/// A call whose span is not recorded: its requests carry its context, and that is all.
final class UnrecordedCall: CallObserver {
    private let context: ServiceContext
    private let link: RequestTracing

    init(context: ServiceContext, link: RequestTracing) {
        self.context = context
        self.link = link
    }

    func willSend(_ request: inout CurlewRequest, over transport: any Sendable) -> (any AttemptObserver)? {
        link.inject(context, into: &request)
        return nil
    }

    func redirected(_ status: HTTPResponse.Status, to request: CurlewRequest, number: Int) {}

    func retrying(
        _ request: CurlewRequest, _ status: HTTPResponse.Status?, _ code: ErrorCode?, after wait: Duration,
        _ attempt: Int
    ) {}

    func hedging(_ request: CurlewRequest, attempt: Int) {}
}

/// The span of one request on the wire. It ends once.
final class AttemptTrace: ExchangeObserver {
    let span: any Span
    let call: CallTrace
    let resends: Int
    private let hasEnded = Guarded(false)

    init(span: any Span, call: CallTrace, resends: Int) {
        self.span = span
        self.call = call
        self.resends = resends
    }

    /// On an event loop.
    func exchangeEnded(_ exchange: EndedExchange) { end(AttemptResult(exchange)) }

    func answered(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>) {
        switch result {
        case .success(let response):
            // A session reports the end of the exchange by itself, unless another transport has sent it another request.
            if response.task?.request.attemptObservers.contains(where: { $0 === self }) == true { return }
            end(AttemptResult(request, status: response.status.code))
        case .failure(let error):
            let failure = error as? CurlewError
            end(AttemptResult(request, status: failure?.response?.status.code ?? 0, code: ErrorCode(of: error)))
        }
    }

    private func end(_ result: AttemptResult) {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        guard isFirst else { return }
        call.link.end(.attempt(self, result, DefaultTracerClock.now))
        call.attemptEnded()
    }
}

/// Writes a context into the fields of a request. What may not stand there is left out, and costs the request nothing.
struct FieldInjector: Injector {
    /// Names that are not to be read again for each request: those of W3C Trace Context and Baggage.
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
