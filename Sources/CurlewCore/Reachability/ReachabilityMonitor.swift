/// A monitor of the reachability of the network, an address or a host.
///
/// ```swift
/// for await status in try ReachabilityMonitor().updates {
///     print(status)
/// }
/// ```
///
/// The monitor reports the knowledge of the machine: interfaces, their carriers, addresses and routes. It sends
/// nothing. Its status is a hint, not a condition for sending: send a request without asking the monitor first. Use the
/// status to decide when a failed request is worth another attempt.
///
/// The kernel reports each change (rtnetlink(7)). The monitor then queries the route; without changes there are no
/// queries. The monitor works while ``updates`` has listeners. It then holds two descriptors, otherwise none. All
/// monitors share a thread.
///
/// The article <doc:Reachability> defines the conditions of reachability.
public actor ReachabilityMonitor: LoopActor {
    package nonisolated let loop: CurlewEventLoop
    private let target: ReachabilityTarget
    private let source: NetworkSource
    /// The buffer of a listener holds one status, the newest.
    private nonisolated let listeners = Broadcaster<ReachabilityStatus>(bufferSize: 1)

    /// The reason for the status ``ReachabilityStatus/unknown``, or for which a host counts as not reachable; nil
    /// otherwise.
    public internal(set) var failure: CurlewError?

    /// The last published status; nil at first.
    private var current: ReachabilityStatus?
    private var watch: NetworkWatch?
    private var lastLook = Instant(nanoseconds: 0)
    private var failures = 0
    private let host = HostState()
    private lazy var lookTimer = MonitorTimer(self) { $0.look() }
    private lazy var settleTimer = MonitorTimer(self) { $0.look() }
    private lazy var openTimer = MonitorTimer(self) { $0.open() }

    /// Watches the network in general: the existence of a route to the Internet.
    ///
    /// The route must use a running interface and a source address that is valid beyond a single network link. Loopback
    /// is ignored.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if the monitors' thread cannot be started.
    public init() throws { try self.init(.everything) }

    /// Watches the route to an address.
    /// - Parameter address: IPv4 as four decimal numbers, or IPv6 without brackets; a link-local address may name its
    ///   interface after a percent sign.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for any other text.
    public init(address: String) throws { try self.init(ReachabilityTarget(address: address)) }

    /// Watches the routes to a host. The host is reachable if any of its addresses is.
    ///
    /// The host is resolved at first and after each change of the network, at most once a second, and for at most five
    /// seconds. A failed resolution is repeated five times with growing waits, 31 seconds in all. If the host cannot be
    /// resolved, it is not reachable without a network; with a network its status is ``ReachabilityStatus/unknown``.
    /// - Parameter host: A name or an address.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for any other text.
    public init(host: String) throws { try self.init(ReachabilityTarget(host: host)) }

    init(_ target: ReachabilityTarget, source: NetworkSource = NetworkSource()) throws {
        self.target = target
        self.source = source
        loop = try source.loop ?? NetworkLoop.shared()
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The present status, followed by each change, for any number of listeners.
    public nonisolated var updates: ReachabilityMonitor.Updates { ReachabilityMonitor.Updates(monitor: self) }

    /// The present status. A host may have to be resolved first.
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

    /// True if the monitor has open sockets.
    var isWatching: Bool { watch != nil }

    /// Makes the loop check the listeners. Changes before that are combined.
    private nonisolated func attend(isNew: Bool) {
        loop.core.execute { self.enter(isNew) { $0.listenersChanged(hasNew: $1) } }
    }

    private func listenersChanged(hasNew: Bool) {
        if !listeners.hasListeners {
            stop()
        } else if watch == nil {
            if !openTimer.isSet { open() }
        } else if hasNew, current != nil {
            // The first element has to be the present status, even if kernel messages are still unread.
            look()
        }
        // A new listener needs the status, although it has not changed for the other listeners.
        if hasNew, let current { listeners.publish(current) }
    }

    // MARK: Lifecycle

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

    /// Handles a failed query. It is repeated if the failure may be temporary.
    private func fail(_ error: any Error) {
        let error = error as? CurlewError ?? CurlewError(.reachabilityUnavailable, "\(error)")
        watch?.close(loop.core.poller)
        watch = nil
        failure = error
        publish(.unknown)
        failures += 1
        let wait = source.times.wait(afterFailures: min(failures, source.times.failureLimit + 1))
        // A refusal by the kernel is usually permanent, so it is retried only a few times; a lack of resources always.
        let mayPass = error.code == .resourcesExhausted || failures <= source.times.failureLimit
        if mayPass { loop.core.timers.set(openTimer, to: Instant.now.advanced(by: wait)) }
    }

    private func publish(_ status: ReachabilityStatus) {
        guard status != current else { return }
        current = status
        listeners.publish(status)
    }

    // MARK: Queries

    /// Called when the kernel has reported a change, or has lost reports.
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

    /// Called when the reports of the kernel cannot be read any more.
    func networkFailed(_ error: CurlewError) { fail(error) }

    /// Queries the kernel for the present state, and publishes a changed status.
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
    /// The addresses of the host; nil while they are unknown.
    var destinations: [ReachabilityTarget.Destination]?
    /// The reason for which the addresses are unknown.
    var failure: CurlewError?
    /// The number of the present or the last resolution.
    var number: UInt64 = 0
    var isAsked = false
    /// True if the network has changed since the present resolution began.
    fileprivate var isOutdated = false
    var begun = Instant(nanoseconds: 0)
    var failures = 0
    var timer: MonitorTimer?
    var limit: MonitorTimer?
}

extension ReachabilityMonitor {
    /// The status of the host; nil until it is first known.
    private func hostStatus(_ survey: NetworkSurvey) throws -> ReachabilityStatus? {
        failure = host.failure
        if let destinations = host.destinations { return try survey.any(of: destinations) }
        guard host.failure != nil else { return nil }
        // Without a network the resolution cannot succeed.
        return try survey.everything().isReachable ? .unknown : .notReachable
    }

    /// Schedules a new resolution of the host, within the limits of frequency.
    private func scheduleLookup() {
        guard !host.isAsked else {
            host.isOutdated = true
            return
        }
        host.failures = 0
        let times = source.times
        let moment = max(Instant.now.advanced(by: times.lookupDelay), host.begun.advanced(by: times.lookupSpacing))
        // Each change moves the resolution, so that the last change counts, but only up to a limit.
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

    /// Ends the wait for a resolution. The system continues it, and a late result counts; until then the addresses are
    /// unknown.
    private func lookupIsOverdue() {
        host.destinations = nil
        host.failure = CurlewError(
            .hostNotFound, "the host was not found in \(source.times.lookupLimit / 1_000_000) ms")
        look()
    }

    private func lookupEnded(_ number: UInt64, _ answer: HostLookup.Answer) {
        // The answer belongs to an earlier resolution, before the listeners changed.
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

    /// Discards the state of the host after the last listener. A running resolution is ignored.
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

/// A timer of a monitor, on its loop.
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
