#if Images
public import Curlew

/// Whether sessions are busy, as an indicator on a screen shows it: it comes on when requests have been under way for a while, and goes off a
/// moment after the last one, so that it does not flicker.
///
/// ```swift
/// let monitor = ActivityMonitor()
/// await monitor.follow(api)
/// for await isActive in await monitor.updates { spinner.isHidden = !isActive }
/// ```
public actor ActivityMonitor {
    /// What the monitor shows, and what it waits for.
    public enum State: Sendable, Hashable {
        /// Nothing is shown, and nothing is under way.
        case notActive
        /// Something is under way, and not shown yet.
        case delayingStart
        /// Shown.
        case active
        /// Nothing is under way any more, and it is still shown.
        case delayingEnd
    }

    /// Where the monitor is.
    public private(set) var state = State.notActive
    /// The number of tasks that are under way.
    public private(set) var activeCount = 0
    /// False shows nothing, whatever is under way. True by default.
    public private(set) var isEnabled = true
    private let activationDelay: Duration
    private let completionDelay: Duration
    private let clock: any Clock<Duration>
    private var timer: Task<Void, Never>?
    private var timerNumber = 0
    private var followers: [Task<Void, Never>] = []
    private var listeners: [Int: AsyncStream<Bool>.Continuation] = [:]
    private var listenerCount = 0

    /// - Parameters:
    ///   - activationDelay: How long something has to be under way before it is shown. 1 s by default.
    ///   - completionDelay: How long it is shown after the last has ended. 0.17 s by default.
    ///   - clock: What the delays are measured by.
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
        for follower in followers { follower.cancel() }
        for listener in listeners.values { listener.finish() }
    }

    /// True while something is to be shown.
    public var isActive: Bool { state == .active || state == .delayingEnd }

    /// Whether something is to be shown: first how it is now, then each change.
    public var updates: AsyncStream<Bool> {
        let number = listenerCount
        listenerCount += 1
        let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(isActive)
        continuation.onTermination = { [weak self] _ in Task { await self?.forget(number) } }
        listeners[number] = continuation
        return stream
    }

    private func forget(_ number: Int) { listeners[number] = nil }

    /// Counts the tasks of a client's session, as long as both are there: one that starts or resumes counts, one that is suspended or ends does not.
    /// - Returns: False for a client that has no session, such as a stub.
    @discardableResult
    public func follow(_ client: HTTPSession) -> Bool {
        guard let session = client.session else { return false }
        let events = session.events.makeAsyncIterator()
        let bufferSize = max(1, session.configuration.eventBufferSize)
        followers.append(
            Task { [weak self, weak session] in
                var events = events
                var running: Set<TaskActor.Identifier> = []
                var count = 0
                while let event = await events.next() {
                    count += 1
                    // A listener that was behind has lost the oldest, ends among them: what is under way is known to the session.
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
            })
        return true
    }

    /// Shows nothing any more, or shows again what is under way.
    public func setEnabled(_ isEnabled: Bool) {
        guard self.isEnabled != isEnabled else { return }
        self.isEnabled = isEnabled
        if isEnabled {
            countChanged()
        } else {
            enter(.notActive)
        }
    }

    /// Something else than a session's task begins (1) or ends (-1); never below zero.
    public func change(by count: Int) {
        activeCount = max(0, activeCount + count)
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
        if isActive != wasActive { for listener in listeners.values { listener.yield(isActive) } }
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
