#if Service
public import Curlew
internal import HTTPTypes
public import Tracing

/// A link (middleware) that traces calls through swift-distributed-tracing, by OpenTelemetry's conventions for HTTP
/// clients. It makes a span for each call, and within it a span for each request on the wire.
///
/// It must come before all other links.
///
/// - The span of a call (kind internal) is named after the method, and after `RequestOptions.urlTemplate` if it is set.
///   The span has the events `redirect`, `retry` and `hedge`. It ends when all its requests have ended, including the
///   body of the response.
/// - The span of a request (kind client) has the status, the error, the server's address and the sizes of the bodies,
///   and an event `connect` if a connection was made. A response from the cache has no such span.
/// - The request carries the context of its span in the tracer's fields, which for most tracers is `traceparent` of W3C
///   Trace Context. ``propagates`` can exclude servers of other parties.
/// - The context of a call's span is the task's `ServiceContext` in all later links, so that their logs contain its
///   identifiers.
///
/// Attributes contain no fields, no bodies and no user information. A query is replaced by `REDACTED` unless the
/// request's `RequestOptions.showsQueries` is set.
///
/// Spans start in the task of the call. The link's own thread sets their attributes and ends them, so that a slow
/// tracer delays neither calls nor event loops. If more than 8,192 spans wait for the tracer, further spans are dropped
/// without an end. If the tracer records no span for a call, as most sampling tracers do, its requests have no spans
/// either, and carry the context of the call.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestTracing()
/// }
/// ```
public struct RequestTracing: CurlewMiddleware {
    /// The tracer; nil means `InstrumentationSystem.tracer` at the beginning of each call.
    public var tracer: (any Tracer)?
    /// A function that returns true if a request carries the context of its span. By default all requests do.
    public var propagates: @Sendable (CurlewURI) -> Bool = { _ in true }
    private let ends: DeferredQueue<SpanEnd>
    /// The maximum number of spans that wait for the tracer, and the delay in milliseconds.
    private static let endLimit = 8192
    private static let endDelay = 20

    /// - Parameter tracer: The tracer; nil means `InstrumentationSystem.tracer` at the beginning of each call.
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

    /// Adds the context of a span to a request.
    func inject(_ context: ServiceContext, into request: inout CurlewRequest) {
        guard propagates(request.uri) else { return }
        // The context belongs to an explicitly set tracer, so that tracer must write it.
        let instrument: any Instrument = tracer ?? InstrumentationSystem.instrument
        instrument.inject(context, into: &request.fields, using: FieldInjector())
    }

    /// Waits without a limit until the tracer has received the ends of all ended spans.
    public func flush() async { await ends.flush() }

    func end(_ end: SpanEnd) { ends.add(end) }
}

extension RequestOptions {
    private enum TemplateKey: Key {
        static let defaultValue: String? = nil
        static let affectsResponse = false
    }

    /// The template of the request's path, such as `/users/{id}`. `RequestTracing` names spans after the method and
    /// this template. The template should contain no value of a single user.
    public var urlTemplate: String? {
        get { self[TemplateKey.self] }
        set { self[TemplateKey.self] = newValue }
    }
}

/// The name of a span, with few distinct values (OpenTelemetry, HTTP spans).
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
