/// What a monitor knows of the host that it watches.
final class HostState {
    /// Its addresses; nil as long as they are not known.
    var destinations: [ReachabilityTarget.Destination]?
    /// Why they are not.
    var failure: CurlewError?
    /// The number of the look-up that is under way, or was the last.
    var number: UInt64 = 0
    var isAsked = false
    /// Whether the network has changed since the look-up that is under way began.
    var isOutdated = false
    var begun = Instant(nanoseconds: 0)
    var failures = 0
    var timer: MonitorTimer?
    var limit: MonitorTimer?
}

extension ReachabilityMonitor {
    /// How the host can be reached; nil while that is not known for the first time.
    func hostStatus(_ survey: NetworkSurvey) throws -> ReachabilityStatus? {
        failure = host.failure
        if let destinations = host.destinations { return try survey.any(of: destinations) }
        guard host.failure != nil else { return nil }
        // Without a network nobody could be asked for the address.
        return try survey.everything().isReachable ? .unknown : .notReachable
    }

    /// Has the host looked up again soon, but not too often.
    func scheduleLookup() {
        guard !host.isAsked else {
            host.isOutdated = true
            return
        }
        host.failures = 0
        let times = source.times
        let moment = max(Instant.now.advanced(by: times.lookupDelay), host.begun.advanced(by: times.lookupSpacing))
        // It moves with each change, so that it is the last one that counts, but not for ever.
        let isLate = host.begun.advanced(by: times.lookupLimit) < moment
        if isLate, let timer = host.timer, timer.isSet, timer.deadline <= moment { return }
        set(&host.timer, to: moment) { $0.beginLookup() }
    }

    func beginLookup() {
        guard case .host(let name) = target, !host.isAsked else { return }
        host.isAsked = true
        host.isOutdated = false
        host.begun = .now
        host.number += 1
        let number = host.number
        set(&host.limit, to: host.begun.advanced(by: source.times.lookupLimit)) { $0.lookupIsOverdue() }
        source.lookup.begin(name) { [weak self, loop] answer in
            loop.core.execute { [weak self] in self?.enter((number, answer)) { $0.lookupEnded($1.0, $1.1) } }
        }
    }

    /// The system goes on looking, and what it finds will count; until then nothing is known.
    private func lookupIsOverdue() {
        host.destinations = nil
        host.failure = CurlewError(
            .hostNotFound, "the host was not found in \(source.times.lookupLimit / 1_000_000) ms")
        look()
    }

    private func lookupEnded(_ number: UInt64, _ answer: HostLookup.Answer) {
        // One of before, when others listened.
        guard number == host.number, host.isAsked else { return }
        host.isAsked = false
        if let limit = host.limit { loop.core.timers.remove(limit) }
        switch answer {
        case .success(let destinations):
            host.destinations = destinations
            host.failure = nil
            host.failures = 0
        case .failure(let error):
            host.destinations = nil
            host.failure = error
            host.failures += 1
            if host.failures <= source.times.failureLimit {
                let wait = source.times.wait(afterFailures: host.failures)
                set(&host.timer, to: Instant.now.advanced(by: wait)) { $0.beginLookup() }
            }
        }
        if host.isOutdated { scheduleLookup() }
        look()
    }

    /// Nobody listens any more. What is under way is not waited for.
    func forgetHost() {
        host.destinations = nil
        host.failure = nil
        host.failures = 0
        host.isAsked = false
        host.isOutdated = false
        host.number += 1
        for timer in [host.timer, host.limit] { timer.map { loop.core.timers.remove($0) } }
    }

    private func set(
        _ timer: inout MonitorTimer?, to moment: Instant, _ action: @escaping (isolated ReachabilityMonitor) -> Void
    ) {
        let made = timer ?? MonitorTimer(self, action)
        timer = made
        loop.core.timers.set(made, to: moment)
    }
}
