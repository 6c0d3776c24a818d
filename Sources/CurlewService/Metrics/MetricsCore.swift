#if Service
internal import Curlew
internal import Dispatch
internal import HTTPTypes
internal import Synchronization

/// The shared state of a link's copies: the notes of calls, and the sessions whose gauges are read.
final class MetricsCore: Sendable {
    private struct WeakSession: Sendable {
        weak var session: SessionActor?
    }

    private struct Sessions {
        var list: [WeakSession] = []
        /// The session that was used last; most links have only one.
        weak var last: SessionActor?
        var isTimed = false
    }

    let hostLimit: Int
    let gaugeInterval: Duration
    private let budget: Retry.Budget?
    private let recorder: MetricsRecorder
    private let notes: DeferredQueue<MetricNote>
    private let active = Atomic(0)
    private let sessions = Guarded(Sessions())
    /// The maximum number of notes that wait for the backend, and the delay in milliseconds.
    private static let noteLimit = 8192
    private static let noteDelay = 50

    init(_ recorder: MetricsRecorder, hostLimit: Int, gaugeInterval: Duration, budget: Retry.Budget?) {
        self.hostLimit = hostLimit
        self.gaugeInterval = gaugeInterval
        self.budget = budget
        self.recorder = recorder
        notes = DeferredQueue(label: "curlew.metrics", limit: Self.noteLimit, milliseconds: Self.noteDelay) {
            recorder.record($0, dropped: $1)
        }
    }

    // MARK: Calls

    func begin() -> Instant {
        active.wrappingAdd(1, ordering: .relaxed)
        return .now
    }

    func end(_ request: CurlewRequest, since start: Instant, _ result: Result<CurlewResponse, any Error>) {
        active.wrappingSubtract(1, ordering: .relaxed)
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

    // MARK: Gauges

    private func register(_ carrier: any AnyObject & Sendable) {
        let begins = sessions.withLock { sessions in
            // The session is usually the same as before. The check avoids a cast, which would cost more than the rest
            // of this function.
            guard sessions.last !== carrier || !sessions.isTimed else { return false }
            guard let session = carrier as? SessionActor else { return false }
            sessions.last = session
            if !sessions.list.contains(where: { $0.session === session }) {
                sessions.list.removeAll { $0.session == nil }
                sessions.list.append(WeakSession(session: session))
            }
            defer { sessions.isTimed = true }
            return !sessions.isTimed
        }
        if begins { scheduleGauges() }
    }

    private var liveSessions: [SessionActor] { sessions.withLock { $0.list.compactMap(\.session) } }

    /// Reads the gauges at each interval while a session exists.
    private func scheduleGauges() {
        Task.detached { [weak self, gaugeInterval] in
            while true {
                try? await ContinuousClock().sleep(for: gaugeInterval)
                guard let self, self.goesOn() else { return }
                await self.readGauges()
            }
        }
    }

    private func goesOn() -> Bool {
        sessions.withLock { sessions in
            sessions.isTimed = sessions.list.contains { $0.session != nil }
            return sessions.isTimed
        }
    }

    private func readGauges() async {
        var figures: [SessionActor.Figures] = []
        for session in liveSessions { figures.append(await session.figures()) }
        let gauges = MetricGauges(
            activeRequests: active.load(ordering: .relaxed), sessions: figures, budget: budget?.lowestLevel)
        notes.perform { [recorder] in recorder.record(gauges) }
    }

    func flush() async {
        await readGauges()
        await notes.flush()
    }
}

extension MetricsCore: CallListener {
    /// The events that are counted.
    static let kinds = CallEvent.Kinds(
        .attemptStarted, .attemptEnded, .redirected, .retrying, .hedging, .circuitChanged)

    func receive(_ event: CallEvent) {
        switch event.kind {
        case .attemptStarted: if let session = event.session { register(session) }
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

/// The values of all sessions at one moment.
struct MetricGauges: Sendable {
    let activeRequests: Int
    let sessions: [SessionActor.Figures]
    let budget: Double?
}
#endif
