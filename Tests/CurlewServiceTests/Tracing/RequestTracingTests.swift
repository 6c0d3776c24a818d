#if Service
import Curlew
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import InMemoryTracing
import Testing
import Tracing

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
}
#endif
