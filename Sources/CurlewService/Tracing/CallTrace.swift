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
    private let request: CurlewRequest
    private let state = Guarded(State())

    init(span: any Span, name: String, tracer: any Tracer, link: RequestTracing, request: CurlewRequest) {
        self.span = span
        self.name = name
        self.tracer = tracer
        self.link = link
        self.request = request
    }

    /// The caller has the head of the response, or an error.
    func returned(_ result: Result<CurlewResponse, any Error>) {
        let outcome: CallResult
        switch result {
        case .success(let response):
            outcome = CallResult(
                status: response.status.code, attempts: response.attempts, redirects: response.history.count,
                cacheStatus: response.cacheStatus)
        case .failure(let error):
            let failure = error as? CurlewError
            outcome = CallResult(
                code: ErrorCode(of: error), status: failure?.response?.status.code ?? 0,
                attempts: failure?.attempts ?? 1, redirects: failure?.history.count ?? 0)
        }
        settle { $0.result = outcome }
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
        guard let result else { return }
        link.end(SpanEnd(span: span, time: DefaultTracerClock.now, kind: .call(request, result, link.masksQueries)))
    }

    // MARK: What happens on the way

    func willSend(_ request: inout CurlewRequest, over transport: any Transport) {
        let number = state.withLock { state in
            state.open += 1
            state.attempts += 1
            return state.attempts
        }
        let span = tracer.startAnySpan(name, context: self.span.context, ofKind: .client)
        let attempt = AttemptTrace(span: span, call: self, resends: number - 1)
        request.options.attemptTrace = attempt
        if transport is SessionActor { request.options.exchangeObservers.append(attempt) }
        guard link.propagates(request.uri) else { return }
        // A tracer that somebody has given is the one whose context it is.
        let instrument: any Instrument = link.tracer ?? InstrumentationSystem.instrument
        instrument.inject(span.context, into: &request.fields, using: FieldInjector())
    }

    func didSend(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>) {
        guard let attempt = request.options.attemptTrace else { return }
        switch result {
        case .success(let response):
            // A session reports the end of the exchange by itself.
            guard response.task == nil else { return }
            attempt.end(AttemptResult(request, status: response.status.code))
        case .failure(let error):
            let failure = error as? CurlewError
            attempt.end(
                AttemptResult(request, status: failure?.response?.status.code ?? 0, code: ErrorCode(of: error)))
        }
    }

    func redirected(_ status: HTTPResponse.Status, to request: CurlewRequest, number: Int) {
        guard span.isRecording else { return }
        var attributes = SpanAttributes()
        attributes["http.response.status_code"] = status.code
        attributes["url.full"] = request.uri.text(masksQuery: link.masksQueries)
        span.addEvent(SpanEvent(name: "redirect", attributes: attributes))
    }

    func retrying(
        _ request: CurlewRequest, _ status: HTTPResponse.Status?, _ code: ErrorCode?, after wait: Duration,
        _ attempt: Int
    ) {
        guard span.isRecording else { return }
        var attributes = SpanAttributes()
        if let status { attributes["http.response.status_code"] = status.code }
        if let code { attributes["error.type"] = code.rawValue }
        attributes["curlew.wait.milliseconds"] = wait.nanosecondsClamped / 1_000_000
        attributes["curlew.attempt"] = attempt
        span.addEvent(SpanEvent(name: "retry", attributes: attributes))
    }

    func hedging(_ request: CurlewRequest, attempt: Int) {
        guard span.isRecording else { return }
        var attributes = SpanAttributes()
        attributes["curlew.attempt"] = attempt
        span.addEvent(SpanEvent(name: "hedge", attributes: attributes))
    }
}

/// The span of one request on the wire. It ends once.
final class AttemptTrace: ExchangeObserver {
    private let span: any Span
    private let call: CallTrace
    private let resends: Int
    private let hasEnded = Guarded(false)

    init(span: any Span, call: CallTrace, resends: Int) {
        self.span = span
        self.call = call
        self.resends = resends
    }

    /// On an event loop.
    func exchangeEnded(_ exchange: EndedExchange) { end(AttemptResult(exchange)) }

    func end(_ result: AttemptResult) {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        guard isFirst else { return }
        let kind = SpanEnd.Kind.attempt(result, resends: resends, masksQuery: call.link.masksQueries)
        call.link.end(SpanEnd(span: span, time: DefaultTracerClock.now, kind: kind))
        call.attemptEnded()
    }
}

/// Writes a context into the fields of a request. What may not stand there is left out, and costs the request nothing.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        guard let name = HTTPField.Name(key), HTTPField.isValidValue(value) else { return }
        fields[name] = value
    }
}

extension RequestOptions {
    private enum AttemptTraceKey: Key {
        static let defaultValue: AttemptTrace? = nil
        static let affectsResponse = false
    }

    /// The span of the request.
    fileprivate var attemptTrace: AttemptTrace? {
        get { self[AttemptTraceKey.self] }
        set { self[AttemptTraceKey.self] = newValue }
    }
}
#endif
