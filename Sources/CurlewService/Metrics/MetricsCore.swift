#if Service
internal import Curlew
internal import HTTPTypes

/// The shared state of a link's copies: the notes of calls, and the reader of gauges.
final class MetricsCore: Sendable {
    let hostLimit: Int
    var gaugeInterval: Duration { gauges.interval }
    private let notes: DeferredQueue<MetricNote>
    private let gauges: GaugeReader
    /// The maximum number of notes that wait for the backend, and the delay in milliseconds.
    private static let noteLimit = 8192
    private static let noteDelay = 50

    init(_ recorder: MetricsRecorder, hostLimit: Int, gaugeInterval: Duration, budget: Retry.Budget?) {
        self.hostLimit = hostLimit
        let notes = DeferredQueue<MetricNote>(
            label: "curlew.metrics", limit: Self.noteLimit, milliseconds: Self.noteDelay
        ) {
            recorder.record($0, dropped: $1)
        }
        self.notes = notes
        gauges = GaugeReader(interval: gaugeInterval, budget: budget) { gauges in
            notes.perform { recorder.record(gauges) }
        }
    }

    // MARK: Calls

    func begin() -> Instant {
        gauges.callBegins()
        return .now
    }

    func end(_ request: CurlewRequest, since start: Instant, _ result: Result<CurlewResponse, any Error>) {
        gauges.callEnds()
        let duration = start.nanoseconds(to: .now)
        switch result {
        case .success(let response):
            let call = MetricNote.Call(
                method: request.method.rawValue, duration: duration, cacheStatus: response.cacheStatus)
            notes.add(MetricNote(.call(call), request.uri, status: response.status.code))
        case .failure(let error):
            let call = MetricNote.Call(method: request.method.rawValue, duration: duration, cacheStatus: nil)
            notes.add(MetricNote(.call(call), request.uri, code: ErrorCode(of: error)))
        }
    }

    func flush() async {
        await gauges.read()
        await notes.flush()
    }
}

extension MetricsCore: CallListener {
    /// The events that are counted.
    static let kinds = CallEvent.Kinds(
        .attemptStarted, .attemptEnded, .redirected, .retrying, .hedging, .circuitChanged)

    func receive(_ event: CallEvent) {
        switch event.kind {
        case .attemptStarted: if let source = event.gauges { gauges.register(source) }
        case .attemptEnded: if let metrics = event.metrics { note(event, metrics) }
        case .redirected: notes.add(MetricNote(.redirect, event.request.uri))
        case .retrying:
            notes.add(
                MetricNote(.retry, event.request.uri, status: event.status?.code ?? 0, code: event.errorCode))
        case .hedging: notes.add(MetricNote(.hedge, event.request.uri))
        case .circuitChanged:
            // A circuit that is not for a single origin has no server labels.
            guard let transition = event.circuit, transition.group == event.request.uri.origin else { return }
            notes.add(MetricNote(.circuit(transition.to), event.request.uri))
        default: break
        }
    }

    private func note(_ event: CallEvent, _ metrics: TaskMetrics) {
        let attempt = metrics.last
        let note = MetricNote.Exchange(
            duration: metrics.duration.nanosecondsClamped,
            wait: ((attempt?.queued ?? .zero) + (attempt?.waited ?? .zero)).nanosecondsClamped,
            sentBytes: event.request.body.isNone ? -1 : metrics.sentBodyBytes,
            receivedBytes: event.response == nil ? -1 : metrics.receivedBodyBytes,
            opened: attempt?.connect != nil)
        notes.add(
            MetricNote(
                .exchange(note), event.request.uri, status: event.response?.status.code ?? 0, code: event.errorCode))
    }
}

extension ErrorCode {
    /// The code of an error that a chain has thrown; `_OTHER` for a user-defined error.
    init(of error: any Error) {
        if error is CancellationError {
            self = .cancelled
        } else {
            self = (error as? CurlewError)?.code ?? ErrorCode(rawValue: "_OTHER")
        }
    }
}
#endif
