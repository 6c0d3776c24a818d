#if Service
import Curlew
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import Dispatch
import HTTPTypes
import InMemoryTracing
import Logging
import Testing
import Tracing

/// A client with traces, and its server.
private struct TracingScene {
    let tracer = InMemoryTracer()
    let server: MockServer
    let tracing: RequestTracing
    let api: HTTPSession

    init(
        chain: StandardChain.Options? = .quick(), adjust: (inout RequestTracing) -> Void = { _ in },
        answer: @escaping @Sendable (InboundRequest) async throws -> MockResponse
    ) async throws {
        server = try await MockServer.start { try await answer($0) }
        var tracing = RequestTracing(tracer: tracer)
        adjust(&tracing)
        self.tracing = tracing
        api = try HTTPSession(configuration: testConfiguration(), chain: chain) { [tracing] in tracing }
    }

    /// The spans after the end of all exchanges, inner ones first.
    func spans() async -> [FinishedInMemorySpan] {
        await api.shutdown()
        await tracing.flush()
        return tracer.finishedSpans
    }
}

extension FinishedInMemorySpan {
    fileprivate func text(_ name: String) -> String? {
        guard let value = attributes.get(name) else { return nil }
        switch value {
        case .string(let text): return text
        case .int64(let number): return "\(number)"
        case .int32(let number): return "\(number)"
        case .bool(let flag): return "\(flag)"
        default: return "\(value)"
        }
    }
}

@Suite("Traces of calls", .noLeaks, .timeLimit(.minutes(5)))
struct RequestTracingTests {
    @Test("a call has a span, with a span of its request in it that has OpenTelemetry's attributes")
    func call() async throws {
        let scene = try await TracingScene { _ in MockResponse(body: "0123456789") }
        let url = scene.server.url("/birds?token=secret")
        _ = try await scene.api.get(.raw(url)).body.collect(upTo: 10)
        let spans = await scene.spans()
        try #require(spans.count == 2)
        let (request, call) = (spans[0], spans[1])
        #expect(call.kind == .internal && request.kind == .client)
        #expect(call.operationName == "GET" && request.operationName == "GET")
        #expect(request.parentSpanID == call.spanID && request.traceID == call.traceID)
        for span in spans {
            #expect(span.text("http.request.method") == "GET")
            #expect(span.text("http.response.status_code") == "200")
            #expect(span.text("server.address") == "127.0.0.1")
            #expect(span.text("server.port") == "\(scene.server.port)")
            #expect(span.text("url.scheme") == "http")
            #expect(span.text("url.full") == scene.server.url("/birds") + "?REDACTED")
            #expect(span.status == nil && span.errors.isEmpty)
        }
        #expect(request.text("network.peer.address") == "127.0.0.1")
        #expect(request.text("network.peer.port") == "\(scene.server.port)")
        #expect(request.text("network.protocol.version") == "1.1")
        #expect(request.text("http.response.body.size") == "10")
        #expect(request.text("http.request.body.size") == nil)
        #expect(request.events.map(\.name) == ["connect"])
        #expect(request.startInstant.nanosecondsSinceEpoch <= request.events[0].nanosecondsSinceEpoch)
        #expect(request.events[0].nanosecondsSinceEpoch <= request.endInstant.nanosecondsSinceEpoch)
        #expect(request.endInstant.nanosecondsSinceEpoch <= call.endInstant.nanosecondsSinceEpoch)
    }

    @Test("each request carries the context of its span, instead of one that the caller has set")
    func propagation() async throws {
        let scene = try await TracingScene { _ in MockResponse(body: "x") }
        let name = HTTPField.Name(InMemoryTracer.spanIDKey)!
        _ = try await scene.api.get(.raw(scene.server.url()), fields: [name: "old"]).body.collect(upTo: 10)
        let received = try #require(await scene.server.takeRequest())
        let spans = await scene.spans()
        #expect(received.fields[name] == spans.first?.spanID)
        #expect(received.fields[HTTPField.Name(InMemoryTracer.traceIDKey)!] == spans.first?.traceID)
    }

    @Test("a server that is excluded from propagation receives no context")
    func noPropagation() async throws {
        let scene = try await TracingScene {
            $0.propagates = { uri in uri.path != "/foreign" }
        } answer: { _ in
            MockResponse(body: "x")
        }
        for path in ["/foreign", "/own"] {
            _ = try await scene.api.get(.raw(scene.server.url(path))).body.collect(upTo: 10)
            let fields = await scene.server.takeRequest()?.fields
            #expect((fields?[HTTPField.Name(InMemoryTracer.spanIDKey)!] != nil) == (path == "/own"))
        }
        #expect(await scene.spans().count == 4)
    }

    @Test("redirects and retries are events of the call, and each request has a span")
    func events() async throws {
        let scene = try await TracingScene { _ in MockResponse(body: "x") }
        scene.server.enqueue(
            MockResponse(status: .found, fields: [.location: "/end?code=secret"]),
            MockResponse(status: .serviceUnavailable))
        _ = try await scene.api.get(.raw(scene.server.url())).body.collect(upTo: 10)
        let spans = await scene.spans()
        try #require(spans.count == 4)
        let call = spans[3]
        #expect(call.events.map(\.name) == ["redirect", "retry"])
        #expect(call.text("curlew.attempts") == "2" && call.text("curlew.redirects") == "1")
        #expect(spans[0...2].map { $0.text("http.response.status_code") } == ["302", "503", "200"])
        #expect(spans[0...2].map { $0.text("http.request.resend_count") } == [nil, "1", "2"])
        #expect(spans[1].text("error.type") == "503" && spans[1].status?.code == .error)
        #expect(spans[2].text("curlew.connection.reused") == "true")
        #expect(!"\(spans)".contains("secret"))
        let article = try Article("InProduction")
        let rows = try article.rows(of: "Spans").joined()
        for span in spans {
            span.attributes.forEach { name, _ in #expect(rows.contains("`\(name)`"), "\(name)") }
            for event in span.events {
                #expect(rows.contains("| `\(event.name)` |"))
                event.attributes.forEach { name, _ in #expect(rows.contains("`\(name)`"), "\(name)") }
            }
        }
    }

    @Test("an error is recorded as its code, without text of the server")
    func failure() async throws {
        let scene = try await TracingScene { _ in MockResponse(status: .notFound, body: "secret") }
        await #expect(throws: CurlewError.self) { try await scene.api.get(.raw(scene.server.url()), as: String.self) }
        let server = try await MockServer.start { _ in MockResponse() }
        let url = server.url()
        await server.shutdown()
        await #expect(throws: CurlewError.self) {
            try await scene.api.get(.raw(url), options: RequestOptions().setting(\.maximumAttempts, to: 1))
        }
        let spans = await scene.spans()
        let codes = spans.compactMap { $0.text("error.type") }.sorted()
        #expect(codes == ["404", "404", "connection-refused", "connection-refused"])
        #expect(spans.allSatisfy { $0.status?.code == .error })
        #expect(!"\(spans)".contains("secret"))
    }

    @Test("a refused request and a cancelled request end their spans")
    func ends() async throws {
        let scene = try await TracingScene(chain: .quick(1)) { _ in
            try await Gate().wait()
            return MockResponse()
        }
        await #expect(throws: CurlewError.self) {
            try await scene.api.get(.raw(scene.server.url()), options: RequestOptions(idleTimeout: .zero))
        }
        let task = Task { try await scene.api.get(.raw(scene.server.url())).body.collect(upTo: 1) }
        try await scene.server.waitForRequests(1)
        task.cancel()
        _ = await task.result
        let spans = await scene.spans()
        let codes = spans.map { $0.text("error.type") }
        #expect(codes == ["invalid-request", "invalid-request", "cancelled", "cancelled"])
        #expect(scene.tracer.activeSpans.isEmpty)
    }

    @Test("a call's span ends with the body")
    func body() async throws {
        let gate = Gate()
        let scene = try await TracingScene { _ in
            MockResponse(
                body: .stream { writer in
                    try await writer.write("begin")
                    try await gate.wait()
                    try await writer.write("end")
                })
        }
        let response = try await scene.api.get(.raw(scene.server.url()))
        await scene.tracing.flush()
        #expect(scene.tracer.finishedSpans.isEmpty && scene.tracer.activeSpans.count == 2)
        gate.open()
        #expect(try await response.body.collect(upTo: 10).count == 8)
        #expect(await scene.spans().count == 2)
    }

    @Test("a body that breaks off is an error of the request's span, not of the call's span")
    func brokenBody() async throws {
        let scene = try await TracingScene { _ in
            MockResponse(
                body: .stream(length: 10) { writer in
                    try await writer.write("short")
                    throw CancellationError()
                })
        }
        await #expect(throws: CurlewError.self) {
            _ = try await scene.api.get(.raw(scene.server.url())).body.collect(upTo: 10)
        }
        let spans = await scene.spans()
        #expect(spans.map { $0.text("error.type") != nil } == [true, false])
    }

    @Test("a response from a cache has only the span of the call")
    func cache() async throws {
        let scene = try await TracingScene(chain: .caching()) { _ in
            MockResponse(fields: [.cacheControl: "max-age=60"], body: "x")
        }
        for _ in 0..<2 { _ = try await scene.api.get(.raw(scene.server.url())).body.collect(upTo: 10) }
        let spans = await scene.spans()
        // The hit may precede the loop's report of the end of the miss.
        let results = spans.map { $0.text("curlew.cache.result") ?? "\($0.kind)" }.sorted()
        #expect(results == ["\(SpanKind.client)", "hit", "miss"].sorted())
    }

    @Test("spans are named after a template, if present, and never after an unregistered method")
    func names() async throws {
        let scene = try await TracingScene(chain: .bare) { _ in MockResponse(body: "x") }
        var options = RequestOptions()
        options.urlTemplate = "/birds/{id}"
        _ = try await scene.api.get(.raw(scene.server.url("/birds/7")), options: options).body.collect(upTo: 10)
        // The server's parser has a list of methods, which includes this one.
        let response = try await scene.api.send(HTTPRequest.Method("PURGE")!, .raw(scene.server.url()))
        #expect(response.status == .ok)
        _ = try await response.body.collect(upTo: 10)
        let spans = await scene.spans()
        #expect(Set(spans.map(\.operationName)) == ["GET /birds/{id}", "HTTP"])
        #expect(spans.contains { $0.text("http.request.method_original") == "PURGE" })
    }

    @Test("the task's tracer is the default, and its context is set for the links after the tracing link")
    func taskLocal() async throws {
        let tracer = InMemoryTracer()
        let tracing = RequestTracing()
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        let seen = Guarded<String?>(nil)
        let api = try HTTPSession(configuration: testConfiguration(), chain: .bare) {
            tracing
            SeeingContext { context in
                seen.withLock { $0 = context.flatMap { tracer.activeSpan(identifiedBy: $0)?.spanID } }
            }
        }
        try await withTracer(tracer) {
            try await tracer.withSpan("outer") { _ in
                _ = try await api.get(.raw(server.url())).body.collect(upTo: 10)
            }
        }
        await api.shutdown()
        await tracing.flush()
        let spans = tracer.finishedSpans
        let outer = try #require(spans.first { $0.operationName == "outer" })
        let call = try #require(spans.first { $0.kind == .internal && $0.operationName == "GET" })
        #expect(call.parentSpanID == outer.spanID)
        #expect(seen.withLock { $0 } == call.spanID)
    }

    @Test("log lines within the call carry the metadata of the task's logger")
    func logs() async throws {
        let lines = Guarded<[Logger.Metadata]>([])
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        let api = try HTTPSession(configuration: testConfiguration()) { RequestTracing(tracer: InMemoryTracer()) }
        var logger = Logger(label: "test") { _ in LineLog(lines: lines) }
        logger.logLevel = .debug
        logger[metadataKey: "request.id"] = "7"
        try await withLogger(logger) { _ in _ = try await api.get(.raw(server.url())).body.collect(upTo: 10) }
        #expect(lines.withLock { $0.count } == 2)
        #expect(lines.withLock { $0.allSatisfy { $0["request.id"] == "7" } })
        await api.shutdown()
    }

    @Test(
        "spans end over a transport that forwards a request, or a copy of it, to a session",
        arguments: [true, false])
    func wrappedTransport(_ isSame: Bool) async throws {
        let tracer = InMemoryTracer()
        let tracing = RequestTracing(tracer: tracer)
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        let session = try SessionActor(configuration: testConfiguration())
        let api = try HTTPSession(transport: Forwarding(session: session, isSame: isSame), chain: .bare) { tracing }
        _ = try await api.get(.raw(server.url())).body.collect(upTo: 10)
        await session.shutdown()
        await tracing.flush()
        #expect(tracer.activeSpans.isEmpty && tracer.finishedSpans.count == 2)
        let hasPeer = tracer.finishedSpans.contains { $0.text("network.peer.address") != nil }
        #expect(hasPeer == isSame)
    }

    @Test("a tracer that blocks at the end of spans delays no call, and receives every end")
    func blockingTracer() async throws {
        let tracer = BlockingTracer()
        let tracing = RequestTracing(tracer: tracer)
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        let api = try HTTPSession(configuration: testConfiguration(), chain: .bare) { tracing }
        _ = try await api.get(.raw(server.url())).body.collect(upTo: 10)
        try await eventually("the tracer blocks") { tracer.ends.withLock { $0.isBlocked } }
        for _ in 0..<100 { _ = try await api.get(.raw(server.url())).body.collect(upTo: 10) }
        await api.shutdown()
        #expect(tracer.ends.withLock { $0.kinds.isEmpty })
        tracer.gate.signal()
        await tracing.flush()
        await tracing.flush()
        let kinds = tracer.ends.withLock { $0.kinds }
        #expect(kinds.count == 202 && kinds.first == .client)
        #expect(kinds.count { $0 == .internal } == 101)
    }

    @Test("a request is sent without trace fields if the tracer writes an invalid value")
    func badInjection() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "x") }
        let tracing = RequestTracing(tracer: GarbageTracer())
        let api = try HTTPSession(configuration: testConfiguration(), chain: .bare) { tracing }
        _ = try await api.get(.raw(server.url())).body.collect(upTo: 10)
        let fields = await server.takeRequest()?.fields
        #expect(fields?[HTTPField.Name("good")!] == "1" && fields?[HTTPField.Name("bad")!] == nil)
        await api.shutdown()
        await tracing.flush()
    }
}

/// A link that records the context of the task.
private struct SeeingContext: CurlewMiddleware {
    let see: @Sendable (ServiceContext?) -> Void

    func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws -> CurlewResponse {
        see(ServiceContext.current)
        return try await next(request)
    }
}

private struct LineLog: LogHandler {
    let lines: Guarded<[Logger.Metadata]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        lines.withLock { $0.append(all) }
    }
}

/// A transport over a session.
private struct Forwarding: Transport {
    let session: SessionActor
    let isSame: Bool

    func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        try await session.send(isSame ? request : CurlewRequest(request.method, request.uri, fields: request.fields))
    }
}

/// A tracer whose spans block at their ends until they are released.
private final class BlockingTracer: Tracer {
    struct Ends {
        var isBlocked = false
        var kinds: [SpanKind] = []
    }

    struct BlockingSpan: Tracing.Span {
        let tracer: BlockingTracer
        let kind: SpanKind
        let context: ServiceContext
        var isRecording: Bool { true }
        var operationName: String {
            get { "" }
            nonmutating set {}
        }
        var attributes: SpanAttributes {
            get { [:] }
            nonmutating set {}
        }

        func setStatus(_ status: SpanStatus) {}
        func addEvent(_ event: SpanEvent) {}
        func addLink(_ link: SpanLink) {}
        func recordError<Instant: TracerInstant>(
            _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
        ) {}

        func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
            tracer.ends.withLock { $0.isBlocked = true }
            tracer.gate.wait()
            tracer.gate.signal()
            tracer.ends.withLock { $0.kinds.append(kind) }
        }
    }

    let ends = Guarded(Ends())
    let gate = DispatchSemaphore(value: 0)

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> BlockingSpan { BlockingSpan(tracer: self, kind: kind, context: context()) }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {}
}

/// A tracer whose context contains invalid field values.
private struct GarbageTracer: Tracer {
    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> NoOpTracer.NoOpSpan { NoOpTracer.NoOpSpan(context: context()) }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        injector.inject("1\r\nEvil: 1", forKey: "bad", into: &carrier)
        injector.inject("1", forKey: "no name", into: &carrier)
        injector.inject("1", forKey: "good", into: &carrier)
    }
}
#endif
