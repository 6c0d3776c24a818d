#if Images
public import Curlew

/// A monitor of network activity for an indicator. The indicator turns on when requests have run for one second, and
/// off 0.17 seconds after the last one ends, so that it does not flicker.
///
/// ```swift
/// let monitor = ActivityMonitor()
/// await monitor.follow(api)
/// for await isActive in await monitor.updates { spinner.isHidden = !isActive }
/// ```
public actor ActivityMonitor {
    /// A state of the indicator.
    public enum State: Sendable, Hashable {
        /// The indicator is off, and no task runs.
        case notActive
        /// The indicator is off, and a task has begun to run.
        case delayingStart
        /// The indicator is on.
        case active
        /// The indicator is on, and no task runs any more.
        case delayingEnd
    }

    /// The state of the indicator.
    public private(set) var state = State.notActive
    /// The number of running tasks.
    public private(set) var activeCount = 0
    /// True if the indicator is enabled; false keeps it off. True by default, whereas AFNetworking's shared monitor
    /// begins disabled.
    public private(set) var isEnabled = true
    private let activationDelay: Duration
    private let completionDelay: Duration
    private let clock: any Clock<Duration>
    private var timer: Task<Void, Never>?
    private var timerNumber = 0
    private var followers: [Int: Task<Void, Never>] = [:]
    private var followerCount = 0
    private let visibility = Broadcaster<Bool>(bufferSize: 1)
    private let counts = Broadcaster<Int>(bufferSize: 1)

    /// - Parameters:
    ///   - activationDelay: The time that a task has to run before the indicator turns on. 1 s by default.
    ///   - completionDelay: The time that the indicator stays on after the last task has ended. 0.17 s by default.
    ///   - clock: The clock of the delays.
    public init(
        activationDelay: Duration = .seconds(1), completionDelay: Duration = .milliseconds(170),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.activationDelay = activationDelay
        self.completionDelay = completionDelay
        self.clock = clock
    }

    deinit {
        timer?.cancel()
        for follower in followers.values { follower.cancel() }
        visibility.finish()
        counts.finish()
    }

    /// True while the indicator is on.
    public var isActive: Bool { state == .active || state == .delayingEnd }

    /// The visibility of the indicator as a sequence: the current value first, then every change. A slow reader gets
    /// only the newest value.
    public var updates: AsyncStream<Bool> { visibility.listen(from: isActive) }

    /// The number of running tasks as a sequence, without delays: the current number first, then every change. A slow
    /// reader gets only the newest number.
    public var activeCounts: AsyncStream<Int> { counts.listen(from: activeCount) }

    /// Counts the running tasks of a client's session for as long as both exist. A suspended task does not count.
    /// - Returns: False for a client without a session, such as a stub.
    @discardableResult
    public func follow(_ client: HTTPSession) -> Bool {
        guard let session = client.session else { return false }
        let events = session.events.makeAsyncIterator()
        let bufferSize = max(1, session.configuration.eventBufferSize)
        followerCount += 1
        let number = followerCount
        followers[number] =
            Task { [weak self, weak session] in
                var events = events
                var running: Set<TaskActor.Identifier> = []
                var count = 0
                while let event = await events.next() {
                    count += 1
                    // A slow listener loses the oldest events, including ends. The session knows the current tasks.
                    if count.isMultiple(of: bufferSize), let tasks = await session?.tasks() {
                        let gone = running.subtracting(tasks.map(\.id))
                        running.subtract(gone)
                        await self?.change(by: -gone.count)
                    }
                    guard let task = event.task else { continue }
                    switch event.kind {
                    case .resumed where running.insert(task.id).inserted: await self?.change(by: 1)
                    case .suspended, .completed:
                        if running.remove(task.id) != nil { await self?.change(by: -1) }
                    default: break
                    }
                }
                await self?.change(by: -running.count)
                await self?.forget(number)
            }
        return true
    }

    private func forget(_ number: Int) { followers[number] = nil }

    /// Enables or disables the indicator. When it is enabled again, it follows the active count.
    public func setEnabled(_ isEnabled: Bool) {
        guard self.isEnabled != isEnabled else { return }
        self.isEnabled = isEnabled
        if isEnabled {
            countChanged()
        } else {
            enter(.notActive)
        }
    }

    /// Adds to the active count, for work other than a session's tasks: 1 when it begins, -1 when it ends. The count
    /// never falls below zero.
    public func change(by count: Int) {
        let (sum, isOverflow) = activeCount.addingReportingOverflow(count)
        let new = isOverflow ? Int.max : max(0, sum)
        if new != activeCount { counts.publish(new) }
        activeCount = new
        countChanged()
    }

    private func countChanged() {
        guard isEnabled else { return }
        switch state {
        case .notActive: if activeCount > 0 { enter(.delayingStart) }
        case .delayingStart: break
        case .active: if activeCount == 0 { enter(.delayingEnd) }
        case .delayingEnd: if activeCount > 0 { enter(.active) }
        }
    }

    private func enter(_ new: State) {
        let wasActive = isActive
        state = new
        timer?.cancel()
        timer = nil
        timerNumber += 1
        switch new {
        case .delayingStart: startTimer(activationDelay)
        case .delayingEnd: startTimer(completionDelay)
        case .active, .notActive: break
        }
        if isActive != wasActive { visibility.publish(isActive) }
    }

    private func startTimer(_ delay: Duration) {
        let number = timerNumber
        timer = Task { [weak self, clock] in
            guard (try? await clock.sleep(for: delay)) != nil else { return }
            await self?.timerFired(number)
        }
    }

    private func timerFired(_ number: Int) {
        guard number == timerNumber else { return }
        switch state {
        case .delayingStart: enter(activeCount > 0 ? .active : .notActive)
        case .delayingEnd: enter(.notActive)
        case .active, .notActive: break
        }
    }
}
#endif
