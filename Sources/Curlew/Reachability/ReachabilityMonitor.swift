/// Watches whether the network, an address or a host can be reached.
///
/// ```swift
/// for await status in try ReachabilityMonitor().updates {
///     print(status)
/// }
/// ```
///
/// It reports what the machine knows by itself: interfaces, their carriers, addresses and routes. Nothing is sent.
/// So it is a hint and never a gate: do not ask it before a request; send the request. It says when a request that failed
/// is worth another try.
///
/// The kernel reports each change (rtnetlink(7)), and is then asked for the route; nothing is asked while nothing changes.
/// The monitor works while anybody listens to ``updates``, and holds two descriptors then, else none. All monitors share a
/// thread.
///
/// The article <doc:Reachability> says what counts as reachable.
public actor ReachabilityMonitor: LoopActor {
    package nonisolated let loop: CurlewEventLoop
    private let target: ReachabilityTarget
    private let source: NetworkSource
    /// A listener has room for one status, the newest.
    private nonisolated let listeners = Broadcaster<ReachabilityStatus>(bufferSize: 1)

    /// The reason for which the status is ``ReachabilityStatus/unknown``, or a host counts as not reachable; nil if all
    /// is well.
    public internal(set) var failure: CurlewError?

    /// The last status that was published; nil before there is one.
    private var current: ReachabilityStatus?
    private var watch: NetworkWatch?
    private var lastLook = Instant(nanoseconds: 0)
    private var failures = 0
    private let host = HostState()
    private lazy var lookTimer = MonitorTimer(self) { $0.look() }
    private lazy var settleTimer = MonitorTimer(self) { $0.look() }
    private lazy var openTimer = MonitorTimer(self) { $0.open() }

    /// Watches the network in general: whether there is a way to the Internet.
    ///
    /// That is a route to its addresses over an interface that runs, from an address that is good beyond one link. Loopback
    /// does not count.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if the monitors' thread cannot be started.
    public init() throws { try self.init(.everything) }

    /// Watches the way to an address.
    /// - Parameter address: IPv4 in four decimal numbers, or IPv6 without brackets; a link-local one may name its interface
    ///   behind a percent sign.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for any other text.
    public init(address: String) throws { try self.init(ReachabilityTarget(address: address)) }

    /// Watches the way to a host: there is one as soon as there is one to any of its addresses.
    ///
    /// The host is looked up at first and after each change of the network, at most once a second, and for five seconds at
    /// most; a look-up that failed is tried again five times at growing distances, 31 seconds in all. A host that cannot be
    /// looked up is not reachable where there is no network, else that is ``ReachabilityStatus/unknown``.
    /// - Parameter host: A name, or an address.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for what can be neither.
    public init(host: String) throws { try self.init(ReachabilityTarget(host: host)) }

    init(_ target: ReachabilityTarget, source: NetworkSource = NetworkSource()) throws {
        self.target = target
        self.source = source
        loop = try source.loop ?? NetworkLoop.shared()
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The status now, then each change, for any number of listeners.
    public nonisolated var updates: ReachabilityMonitor.Updates { ReachabilityMonitor.Updates(monitor: self) }

    /// The status now. A host may have to be looked up first.
    ///
    /// ``ReachabilityStatus/unknown`` if the waiting task is cancelled.
    public nonisolated var status: ReachabilityStatus {
        get async {
            var iterator = updates.makeAsyncIterator()
            return await iterator.next() ?? .unknown
        }
    }

    // MARK: Listeners

    nonisolated func listen() -> AsyncStream<ReachabilityStatus> {
        let stream = listeners.listen { self.attend(isNew: false) }
        attend(isNew: true)
        return stream
    }

    nonisolated var listenerCount: Int { listeners.listenerCount }

    /// True if it has sockets.
    var isWatching: Bool { watch != nil }

    /// Has the loop see who listens. Who came and went meanwhile does not matter.
    private nonisolated func attend(isNew: Bool) {
        loop.core.execute { self.enter(isNew) { $0.listenersChanged(hasNew: $1) } }
    }

    private func listenersChanged(hasNew: Bool) {
        if !listeners.hasListeners {
            stop()
        } else if watch == nil {
            if !openTimer.isSet { open() }
        } else if hasNew, current != nil {
            // The first element is the status now, whatever waits to be read.
            look()
        }
        // The newest listener has to hear of it as well, though nothing changed for the others.
        if hasNew, let current { listeners.publish(current) }
    }

    // MARK: Life

    private func open() {
        do {
            let opened = try NetworkWatch(source, monitor: self, poller: loop.core.poller)
            watch = opened
        } catch {
            return fail(error)
        }
        if case .host = target, !host.isAsked { beginLookup() }
        look()
    }

    private func stop() {
        watch?.close(loop.core.poller)
        watch = nil
        current = nil
        failures = 0
        for timer in [lookTimer, settleTimer, openTimer] { loop.core.timers.remove(timer) }
        forgetHost()
    }

    /// The kernel cannot be asked. That is tried again if it may pass.
    private func fail(_ error: any Error) {
        let error = error as? CurlewError ?? CurlewError(.reachabilityUnavailable, "\(error)")
        watch?.close(loop.core.poller)
        watch = nil
        failure = error
        publish(.unknown)
        failures += 1
        let wait = source.times.wait(afterFailures: min(failures, source.times.failureLimit + 1))
        // Whom the kernel refuses is refused the next time, too.
        let mayPass = error.code == .resourcesExhausted || failures <= source.times.failureLimit
        if mayPass { loop.core.timers.set(openTimer, to: Instant.now.advanced(by: wait)) }
    }

    private func publish(_ status: ReachabilityStatus) {
        guard status != current else { return }
        current = status
        listeners.publish(status)
    }

    // MARK: Looking

    /// Called when the kernel has reported a change, or when reports were lost.
    func networkChanged() {
        guard watch != nil else { return }
        let now = Instant.now
        loop.core.timers.set(settleTimer, to: now.advanced(by: source.times.settling))
        let earliest = lastLook.advanced(by: source.times.spacing)
        if earliest <= now {
            look()
        } else if !lookTimer.isSet {
            loop.core.timers.set(lookTimer, to: earliest)
        }
        if case .host = target { scheduleLookup() }
    }

    /// The kernel cannot be heard any more.
    func networkFailed(_ error: CurlewError) { fail(error) }

    /// Asks the kernel for the present state, and publishes what is new.
    func look() {
        guard let survey = watch?.survey, listeners.hasListeners else { return }
        loop.core.timers.remove(lookTimer)
        lastLook = .now
        do {
            let status = try status(survey)
            failures = 0
            if let status { publish(status) }
        } catch {
            fail(error)
        }
    }

    private func status(_ survey: NetworkSurvey) throws -> ReachabilityStatus? {
        switch target {
        case .everything:
            failure = nil
            return try survey.everything()
        case .address(let destination):
            failure = nil
            return try survey.any(of: [destination])
        case .host: return try hostStatus(survey)
        }
    }
}

/// The state of the host that a monitor watches.
private final class HostState {
    /// Its addresses; nil as long as they are not known.
    var destinations: [ReachabilityTarget.Destination]?
    /// The reason for which they are not known.
    var failure: CurlewError?
    /// The number of the look-up that is under way, or was the last.
    var number: UInt64 = 0
    var isAsked = false
    /// True if the network has changed since the look-up that is under way began.
    fileprivate var isOutdated = false
    var begun = Instant(nanoseconds: 0)
    var failures = 0
    var timer: MonitorTimer?
    var limit: MonitorTimer?
}

extension ReachabilityMonitor {
    /// The status of the host; nil while that is not known for the first time.
    private func hostStatus(_ survey: NetworkSurvey) throws -> ReachabilityStatus? {
        failure = host.failure
        if let destinations = host.destinations { return try survey.any(of: destinations) }
        guard host.failure != nil else { return nil }
        // Without a network nobody could be asked for the address.
        return try survey.everything().isReachable ? .unknown : .notReachable
    }

    /// Has the host looked up again soon, but not too often.
    private func scheduleLookup() {
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

    private func beginLookup() {
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

    /// The system continues to look, and what it finds will count; until then nothing is known.
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
    private func forgetHost() {
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

/// A timer of a monitor's, on its loop.
private final class MonitorTimer: LoopTimer {
    private weak var monitor: ReachabilityMonitor?
    private let action: (isolated ReachabilityMonitor) -> Void

    init(_ monitor: ReachabilityMonitor, _ action: @escaping (isolated ReachabilityMonitor) -> Void) {
        self.monitor = monitor
        self.action = action
    }

    fileprivate var isSet: Bool { deadline < .distantFuture }

    override func fire() { monitor?.enter(action) { $1($0) } }
}
