/// Hands the newest progress to whoever waits for it, on the loop, and no more often than asked.
///
/// Not `Sendable`: it belongs to its task.
final class ProgressPublisher: LoopTimer {
    struct Waiter {
        let ticket: Ticket
        let continuation: UnsafeContinuation<ProgressPublisher.Element, Never>
    }
    /// A value and its number; the number grows with each change.
    typealias Element = (value: TaskProgress, version: UInt64)?

    private(set) var latest: TaskProgress
    private(set) var version: UInt64 = 1
    private let core: LoopCore
    private let interval: Duration
    private var earliest = Instant(nanoseconds: 0)
    private var waiters: [Waiter] = []

    init(_ latest: TaskProgress, timers core: LoopCore, interval: Duration) {
        self.latest = latest
        self.core = core
        self.interval = interval
    }

    func publish(_ progress: TaskProgress) {
        latest = progress
        version += 1
        guard !waiters.isEmpty else { return }
        if earliest <= core.now { fire() } else { core.timers.set(self, to: earliest) }
    }

    func finish(_ progress: TaskProgress) {
        latest = progress
        version += 1
        fire()
    }

    /// Tells all who wait.
    override func fire() {
        core.timers.remove(self)
        let told = waiters
        waiters = []
        earliest = core.now.advanced(by: interval.nanosecondsClamped)
        for waiter in told { resume(waiter, with: (latest, version)) }
    }

    func wait(after seen: UInt64, ticket: Ticket, _ continuation: UnsafeContinuation<Element, Never>) {
        if ticket.isCancelled { return resume(Waiter(ticket: ticket, continuation: continuation), with: nil) }
        if seen < version, latest.isFinished || seen == 0 || earliest <= core.now {
            earliest = core.now.advanced(by: interval.nanosecondsClamped)
            resume(Waiter(ticket: ticket, continuation: continuation), with: (latest, version))
            return
        }
        waiters.append(Waiter(ticket: ticket, continuation: continuation))
        if seen < version { core.timers.set(self, to: earliest) }
    }

    func cancel(_ ticket: Ticket) {
        guard let index = waiters.firstIndex(where: { $0.ticket === ticket }) else { return }
        resume(waiters.remove(at: index), with: nil)
    }

    private func resume(_ waiter: Waiter, with element: Element) {
        waiter.ticket.rendezvous()
        waiter.continuation.resume(returning: element)
    }

    /// Stands for one waiting.
    final class Ticket: Sendable {
        private let state = Guarded(false)

        var isCancelled: Bool { state.withLock { $0 } }

        func cancel() { state.withLock { $0 = true } }

        /// See ``BodyChannel/rendezvous()``.
        func rendezvous() { state.withLock { _ in } }
    }
}
