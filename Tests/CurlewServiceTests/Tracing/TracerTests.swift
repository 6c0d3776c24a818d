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

@Suite("Tracers, and the context of calls", .noLeaks, .timeLimit(.minutes(5)))
struct TracerTests {
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
