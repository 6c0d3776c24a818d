#if Service
internal import Curlew
internal import Synchronization

/// The reader of the gauges of a link: it counts the running calls, and reads the sessions at each interval while one
/// of them exists.
///
/// The reader is an object apart from ``MetricsCore``, because its task refers to it weakly. A weak reference makes
/// each retain slow, and every event of a call retains the core.
final class GaugeReader: Sendable {
    private struct WeakGauges: Sendable {
        weak var source: SessionGauges?
    }

    private struct Sessions {
        var list: [WeakGauges] = []
        /// The gauges of the session that was used last; most links have only one.
        weak var last: SessionGauges?
        var isTimed = false
    }

    let interval: Duration
    private let budget: Retry.Budget?
    private let report: @Sendable (MetricGauges) -> Void
    private let activeCalls = Atomic(0)
    private let sessions = Guarded(Sessions())

    /// - Parameter report: Receives the values of each reading.
    init(interval: Duration, budget: Retry.Budget?, report: @escaping @Sendable (MetricGauges) -> Void) {
        self.interval = interval
        self.budget = budget
        self.report = report
    }

    func callBegins() { activeCalls.wrappingAdd(1, ordering: .relaxed) }

    func callEnds() { activeCalls.wrappingSubtract(1, ordering: .relaxed) }

    /// Adds the gauges of a session, and starts the readings if there are none.
    func register(_ source: any AnyObject & Sendable) {
        let begins = sessions.withLock { sessions in
            // The session is usually the same as before. The check avoids a cast, which would cost more than the rest
            // of this function.
            guard sessions.last !== source || !sessions.isTimed else { return false }
            guard let gauges = source as? SessionGauges else { return false }
            sessions.last = gauges
            if !sessions.list.contains(where: { $0.source === gauges }) {
                sessions.list.removeAll { $0.source == nil }
                sessions.list.append(WeakGauges(source: gauges))
            }
            defer { sessions.isTimed = true }
            return !sessions.isTimed
        }
        if begins { scheduleReadings() }
    }

    private func scheduleReadings() {
        Task.detached { [weak self, interval] in
            while true {
                try? await ContinuousClock().sleep(for: interval)
                guard let self, self.goesOn() else { return }
                await self.read()
            }
        }
    }

    private func goesOn() -> Bool {
        sessions.withLock { sessions in
            sessions.isTimed = sessions.list.contains { $0.source != nil }
            return sessions.isTimed
        }
    }

    /// Reads the gauges of the sessions that exist, and reports them.
    func read() async {
        var figures: [SessionActor.Figures] = []
        for source in sessions.withLock({ $0.list.compactMap(\.source) }) { figures.append(await source.figures()) }
        report(
            MetricGauges(
                activeRequests: activeCalls.load(ordering: .relaxed), sessions: figures, budget: budget?.lowestLevel))
    }
}

/// The values of all sessions at one moment.
struct MetricGauges: Sendable {
    let activeRequests: Int
    let sessions: [SessionActor.Figures]
    let budget: Double?
}
#endif
