#if Service
public import Curlew
internal import HTTPTypes
public import Tracing

/// A link that traces calls through swift-distributed-tracing: a span for each call, and one within it for each request on the wire,
/// by OpenTelemetry's conventions for HTTP clients.
///
/// It stands before all other links.
///
/// - The span of a call (kind internal) is named after the method, and `RequestOptions.urlTemplate` if there is one. It has the
///   events `redirect`, `retry` and `hedge`, and ends when all its requests have ended, the body of the response included.
/// - The span of a request (kind client) has the status, the error, the address of the server and the sizes of the bodies, and an event
///   `connect` if a connection was made. A response that a cache has given has none.
/// - The context of a request's span goes with the request, as the tracer writes it: `traceparent` of W3C Trace Context with
///   most. ``propagates`` keeps it from servers of others.
/// - The context of a call's span is the task's `ServiceContext` in the links behind, so that what they log has its identifiers.
///
/// Attributes have no fields, no bodies and no user information, and `REDACTED` in the place of a query unless the request's
/// `RequestOptions.showsQueries` is set.
///
/// Spans are started where the call runs, and get their attributes and their end from a thread of the link's own: a tracer that is
/// slow to end spans holds up neither calls nor event loops. Beyond 8,192 spans that wait for it they are dropped, unended. Where
/// the tracer records no span for a call, as most do that take samples, the requests have none either, and carry the context of
/// the call.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestTracing()
/// }
/// ```
public struct RequestTracing: CurlewMiddleware {
    /// The tracer; nil is `InstrumentationSystem.tracer`, as it is when a call begins.
    public var tracer: (any Tracer)?
    /// Decides whether a request carries the context of its span. All do by default.
    public var propagates: @Sendable (CurlewURI) -> Bool = { _ in true }
    private let ends: DeferredQueue<SpanEnd>
    /// So many spans wait for the tracer, and so long.
    private static let endLimit = 8192
    private static let endDelay = 20

    /// - Parameter tracer: What the spans are started by; nil is `InstrumentationSystem.tracer`, as it is when a call begins.
    public init(tracer: (any Tracer)? = nil) {
        self.tracer = tracer
        ends = DeferredQueue(label: "curlew.tracing", limit: Self.endLimit, milliseconds: Self.endDelay) { batch, _ in
            for end in batch { end.perform() }
        }
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        let parent = ServiceContext.current ?? .topLevel
        let tracer = tracer ?? InstrumentationSystem.tracer
        let name = SpanName.text(request)
        let span = tracer.startAnySpan(name, context: parent, ofKind: .internal)
        var traced = request
        guard span.isRecording else {
            defer { span.end() }
            ListenedCall.add(UnrecordedCall(context: span.context, link: self), [], to: &traced)
            return try await pass(traced, span.context, next)
        }
        let call = CallTrace(span: span, name: name, tracer: tracer, link: self)
        ListenedCall.add(call, CallTrace.kinds, to: &traced)
        do {
            let response = try await pass(traced, span.context, next)
            call.returned(request, .success(response))
            return response
        } catch {
            call.returned(request, .failure(error))
            throw error
        }
    }

    private func pass(_ request: CurlewRequest, _ context: ServiceContext, _ next: Next<CurlewRequest, CurlewResponse>)
        async throws -> CurlewResponse
    {
        try await ServiceContext.$current.withValue(context) { try await next(request) }
    }

    /// Gives a request the context of a span.
    func inject(_ context: ServiceContext, into request: inout CurlewRequest) {
        guard propagates(request.uri) else { return }
        // A tracer that somebody has given is the one whose context it is.
        let instrument: any Instrument = tracer ?? InstrumentationSystem.instrument
        instrument.inject(context, into: &request.fields, using: FieldInjector())
    }

    /// Waits until the tracer has got the ends of all spans that have ended. It waits for as long as the tracer takes.
    public func flush() async { await ends.flush() }

    func end(_ end: SpanEnd) { ends.add(end) }
}

extension RequestOptions {
    private enum TemplateKey: Key {
        static let defaultValue: String? = nil
        static let affectsResponse = false
    }

    /// The template of the request's path, such as `/users/{id}`: what `RequestTracing` names spans after, beside the method. It
    /// should have no values of a single user.
    public var urlTemplate: String? {
        get { self[TemplateKey.self] }
        set { self[TemplateKey.self] = newValue }
    }
}

/// The name of a span: of few different ones (OpenTelemetry, HTTP spans).
enum SpanName {
    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]

    static func isKnown(_ method: HTTPRequest.Method) -> Bool { methods.contains(method.rawValue) }

    static func text(_ request: CurlewRequest) -> String {
        let method = isKnown(request.method) ? request.method.rawValue : "HTTP"
        guard let template = request.options.urlTemplate else { return method }
        return "\(method) \(template)"
    }
}
#endif
