#if Service
internal import Curlew
internal import HTTPTypes
internal import Tracing

/// The result that the caller of a call received.
struct CallResult: Sendable {
    let request: CurlewRequest
    /// The code of the error; nil if there was a response.
    var code: ErrorCode?
    /// The status code; 0 without a response.
    var status = 0
    var attempts = 1
    var redirects = 0
    var cacheStatus: HTTPCache.Status?

    init(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>) {
        self.request = request
        switch result {
        case .success(let response):
            status = response.status.code
            attempts = response.attempts
            redirects = response.history.count
            cacheStatus = response.cacheStatus
        case .failure(let error):
            let failure = error as? CurlewError
            code = ErrorCode(of: error)
            status = failure?.response?.status.code ?? 0
            attempts = failure?.attempts ?? 1
            redirects = failure?.history.count ?? 0
        }
    }
}

/// The end of a span, with all data for its attributes.
enum SpanEnd: Sendable {
    case call(CallTrace, CallResult, DefaultTracerClock.Timestamp)
    case attempt(any Span, CallEvent, DefaultTracerClock.Timestamp)

    func perform() {
        switch self {
        case .call(let call, let result, let time):
            SpanDescription(span: call.span, time: time).end(result)
        case .attempt(let span, let event, let time):
            SpanDescription(span: span, time: time).end(event)
        }
    }
}

/// Sets the attributes of a span and ends it.
private struct SpanDescription {
    let span: any Span
    let time: DefaultTracerClock.Timestamp

    func end(_ result: CallResult) {
        var attributes = result.request.attributes
        if result.attempts > 1 { attributes["curlew.attempts"] = result.attempts }
        if result.redirects > 0 { attributes["curlew.redirects"] = result.redirects }
        if let status = result.cacheStatus { attributes["curlew.cache.result"] = status.rawValue }
        setOutcome(result.status, result.code, &attributes)
        end(attributes)
    }

    func end(_ event: CallEvent) {
        var attributes = event.request.attributes
        if event.attempt > 1 { attributes["http.request.resend_count"] = event.attempt - 1 }
        setOutcome(event.response?.status.code ?? 0, event.errorCode, &attributes)
        if let metrics = event.metrics { describe(metrics, event, &attributes) }
        end(attributes)
    }

    private func describe(_ metrics: TaskMetrics, _ event: CallEvent, _ attributes: inout SpanAttributes) {
        if !event.request.body.isNone { attributes["http.request.body.size"] = metrics.sentBodyBytes }
        if event.response != nil { attributes["http.response.body.size"] = metrics.receivedBodyBytes }
        guard let attempt = metrics.last else { return }
        if let address = attempt.remoteAddress {
            attributes["network.peer.address"] = address
            attributes["network.peer.port"] = attempt.remotePort
        }
        if let version = attempt.version { attributes["network.protocol.version"] = version.networkName }
        attributes["curlew.connection.reused"] = attempt.isReused
        let wait = attempt.queued + attempt.waited
        if wait > .milliseconds(1) { attributes["curlew.connection.wait.milliseconds"] = wait.milliseconds }
        guard let connect = attempt.connect else { return }
        // The start of the attempt has no wall-clock time; it is computed from the end.
        let begin = time.nanosecondsSinceEpoch &- UInt64(max(0, attempt.total.nanosecondsClamped))
        let taken = (attempt.nameLookup ?? .zero) + connect + (attempt.tls ?? .zero)
        let end = begin &+ UInt64(max(0, (attempt.waited + taken).nanosecondsClamped))
        var details = SpanAttributes()
        if let lookup = attempt.nameLookup { details["curlew.name_lookup.milliseconds"] = lookup.milliseconds }
        details["curlew.connect.milliseconds"] = connect.milliseconds
        if let tls = attempt.tls { details["curlew.tls.milliseconds"] = tls.milliseconds }
        if let version = attempt.tlsVersion { details["tls.protocol.version"] = "\(version)" }
        let moment = DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: min(end, time.nanosecondsSinceEpoch))
        span.addEvent(SpanEvent(name: "connect", at: moment, attributes: details))
    }

    private func setOutcome(_ status: Int, _ code: ErrorCode?, _ attributes: inout SpanAttributes) {
        if status > 0 { attributes["http.response.status_code"] = status }
        if let code {
            attributes["error.type"] = code.rawValue
            span.setStatus(SpanStatus(code: .error, message: code.rawValue))
        } else if status >= 400 {
            attributes["error.type"] = "\(status)"
            span.setStatus(SpanStatus(code: .error))
        }
    }

    private func end(_ attributes: SpanAttributes) {
        // Attributes that the tracer has set itself remain.
        span.updateAttributes { $0.merge(attributes) }
        span.end(at: time)
    }
}

extension CurlewRequest {
    /// The attributes of both kinds of spans.
    fileprivate var attributes: SpanAttributes {
        var attributes = SpanAttributes()
        if SpanName.isKnown(method) {
            attributes["http.request.method"] = method.rawValue
        } else {
            attributes["http.request.method"] = "_OTHER"
            attributes["http.request.method_original"] = method.rawValue
        }
        attributes["url.scheme"] = uri.scheme
        attributes["url.full"] = uri.text(showsQuery: options.showsQueries)
        if let template = options.urlTemplate { attributes["url.template"] = template }
        attributes["server.address"] = uri.host
        attributes["server.port"] = uri.port
        return attributes
    }
}

extension CurlewURI {
    /// The URI for an attribute: without user information and fragment, and with `REDACTED` as its query unless
    /// `showsQuery` is true.
    func text(showsQuery: Bool) -> String {
        let text = "\(scheme)://\(authority)\(path)"
        guard let query else { return text }
        return showsQuery ? "\(text)?\(query)" : text + "?REDACTED"
    }
}

extension HTTPProtocolVersion {
    /// The version in OpenTelemetry's spelling.
    fileprivate var networkName: String {
        let name = "\(self)"
        return name.hasPrefix("HTTP/") ? String(name.dropFirst(5)) : name
    }
}

extension Duration {
    fileprivate var milliseconds: Double { Double(nanosecondsClamped / 1000) / 1000 }
}
#endif
