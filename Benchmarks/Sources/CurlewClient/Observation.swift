internal import CurlewService
internal import Metrics
internal import Synchronization
internal import Tracing

/// A backend that accumulates values in memory, as an exporter's does between two exports.
struct Totals: MetricsFactory {
    private final class Handler: CounterHandler, RecorderHandler, TimerHandler {
        private let count = Atomic<Int64>(0)
        private let sum = Atomic<Int64>(0)

        private func add(_ value: Int64) {
            count.wrappingAdd(1, ordering: .relaxed)
            sum.wrappingAdd(value, ordering: .relaxed)
        }

        func increment(by amount: Int64) { add(amount) }
        func reset() {}
        func record(_ value: Int64) { add(value) }
        func record(_ value: Double) { add(Int64(value)) }
        func recordNanoseconds(_ duration: Int64) { add(duration) }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { Handler() }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Handler()
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { Handler() }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

/// A span that records its data. `@unchecked Sendable`: one thread at a time writes it, because the benchmark has one
/// thread that ends spans.
final class RecordedSpan: Span, @unchecked Sendable {
    let context: ServiceContext
    let isRecording: Bool
    var operationName: String
    var attributes = SpanAttributes()
    private var events: [SpanEvent] = []
    private var status: SpanStatus?

    init(_ name: String, _ context: ServiceContext, records: Bool) {
        operationName = name
        self.context = context
        isRecording = records
    }

    func setStatus(_ status: SpanStatus) { self.status = status }
    func addEvent(_ event: SpanEvent) { events.append(event) }
    func addLink(_ link: SpanLink) {}
    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {}
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {}
}

/// A tracer that records every span, or none, and forgets spans when they end.
struct ForgetfulTracer: Tracer {
    let records: Bool

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RecordedSpan { RecordedSpan(operationName, context(), records: records) }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        injector.inject(
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", forKey: "traceparent", into: &carrier)
    }
}
