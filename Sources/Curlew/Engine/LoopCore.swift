internal import CLinux
internal import Glibc

/// The loop itself: one thread, one epoll, the queue of work handed to it, its timers.
///
/// The thread keeps the core alive; ``CurlewEventLoop`` is the handle whose end stops it. The thread ends when the handle is
/// gone, no multi handle is attached and no work is left.
///
/// `@unchecked Sendable`: what several threads touch is under `lock`; the rest belongs to the loop's thread.
final class LoopCore: SerialExecutor, @unchecked Sendable {
    /// At most so much work runs before sockets are looked at again, and so many sockets before work is.
    static let batchLimit = 256
    /// So often at most sockets are looked at again before observers are notified.
    private static let drainLimit = 4
    /// A queue that has grown larger gives its memory back when it is empty.
    private static let keptCapacity = 4096

    private let lock = Lock()
    // Under `lock`.
    @exclusivity(unchecked) private var inbox: [LoopWork] = []
    private var isAsleep = false
    private var isStopping = false
    private var attachments = 0
    // Written once, before the thread does anything, and read a dozen times a request.
    @exclusivity(unchecked) private var thread = pthread_t()

    /// The executor that names the loop for tasks that prefer it; the reference is never followed. Set once, before the
    /// first job.
    var taskExecutor: UnownedTaskExecutor?

    // Of the loop's thread alone.
    @exclusivity(unchecked) private var backlog: [LoopWork] = []
    private var backlogHead = 0
    @exclusivity(unchecked) private var local: [LoopWork] = []
    /// Empty outside of `runLocalBatch`. Two arrays change places, so that none is allocated in a turn.
    @exclusivity(unchecked) private var localBatch: [LoopWork] = []
    @exclusivity(unchecked) var timers = TimerHeap()
    /// The time as it was when the loop last looked: near enough for limits, and free.
    private(set) var now = Instant.now
    /// Multi handles with something new for their observers, who are notified at the end of a turn: so the threads that
    /// wait for them are woken once for many.
    @exclusivity(unchecked) private var pendingNotifications: [MultiHandle] = []
    /// Empty outside of `notifyObservers`.
    @exclusivity(unchecked) private var notifications: [MultiHandle] = []
    /// Those whose engines have been started, and not closed since.
    @exclusivity(unchecked) var engines: [MultiHandle] = []
    let poller: Poller

    init(name: String) throws {
        poller = try Poller()
        let context = Unmanaged.passRetained(self)
        // The thread waits for this lock before it does anything, so it sees `thread` set.
        let status = lock.withLock { startThread(context.toOpaque()) }
        guard status == 0 else {
            context.release()
            throw CurlewError(.resourcesExhausted, "no thread could be made for an event loop (\(describe(status)))")
        }
        _ = pthread_setname_np(thread, String(decoding: name.utf8.prefix(15), as: UTF8.self))
    }

    private func startThread(_ context: UnsafeMutableRawPointer) -> Int32 {
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<LoopCore>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
    }

    // MARK: Handing work over, from any thread

    var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

    /// Runs `block` on the loop, soon and in order.
    func execute(_ block: @escaping @Sendable () -> Void) { submit(.block(block)) }

    /// Has an exchange do something on the loop, soon and in order.
    func send(_ command: Transfer.Command, to transfer: Transfer) { submit(.command(command, transfer)) }

    func enqueue(_ job: consuming ExecutorJob) { submit(.job(UnownedJob(job))) }

    private func submit(_ work: LoopWork) {
        if isCurrent {
            local.append(work)
            return
        }
        let wakes = lock.withLock {
            inbox.append(work)
            defer { isAsleep = false }
            return isAsleep
        }
        if wakes { poller.wake() }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    func isIsolatingCurrentContext() -> Bool? { isCurrent }

    func checkIsolated() { precondition(isCurrent, "not on the event loop") }

    /// Ends the thread once nothing is attached and nothing is left to do.
    func stop() {
        let wakes = lock.withLock {
            isStopping = true
            defer { isAsleep = false }
            return isAsleep
        }
        if wakes { poller.wake() }
    }

    /// Keeps the thread alive until `detach`: what is attached has handles that only this thread may close.
    func attach() { lock.withLock { attachments += 1 } }

    func detach() { lock.withLock { attachments -= 1 } }

    // MARK: The thread

    /// A turn: what was handed over, timers, sockets that are ready at once, then the observers, and last the wait for more.
    /// Observers come last, when nothing of libcurl's is on the stack: they may begin, cancel and end transfers.
    private func run() {
        lock.withLock {}  // until `thread` is set
        var isDone = false
        while !isDone {
            let start = TurnWatch.turnBegins()
            runWork()
            runTimers()
            drainReadySockets()
            notifyObservers()
            isDone = wait()
            if let start { TurnWatch.turnEnds(after: start) }
        }
        detachSelf()
    }

    private func detachSelf() { pthread_detach(thread) }

    /// Runs a batch of what was handed over, oldest first, and with it what the loop has handed to itself: a task that prefers the
    /// loop takes a dozen steps for one request, and not each is worth a look at the sockets.
    private func runWork() {
        var budget = Self.batchLimit
        // What is left of it came before what others have handed over since.
        runLocalBatch()
        if backlogHead == backlog.count {
            backlog.removeAll(keepingCapacity: backlog.capacity <= Self.keptCapacity)
            backlogHead = 0
            lock.withLock { swap(&inbox, &backlog) }
        }
        while backlogHead < backlog.count, budget > 0 {
            let work = backlog[backlogHead]
            backlog[backlogHead] = .block {}
            backlogHead += 1
            budget -= 1
            perform(work)
        }
        runLocalWork()
    }

    /// Runs what the loop has handed to itself, in a budget of its own: it keeps nobody else's work waiting for long.
    private func runLocalWork() {
        var budget = Self.batchLimit
        while !local.isEmpty, budget > 0 {
            budget -= local.count
            runLocalBatch()
            now = .now
        }
    }

    private func runLocalBatch() {
        guard !local.isEmpty else { return }
        swap(&local, &localBatch)
        for work in localBatch { perform(work) }
        localBatch.removeAll(keepingCapacity: localBatch.capacity <= Self.keptCapacity)
    }

    private func perform(_ work: LoopWork) {
        switch work {
        case .job(let job):
            let serial = asUnownedSerialExecutor()
            if let taskExecutor {
                job.runSynchronously(isolatedTo: serial, taskExecutor: taskExecutor)
            } else {
                job.runSynchronously(on: serial)
            }
        case .command(let command, let transfer): transfer.perform(command)
        case .block(let block): block()
        }
    }

    /// Lets a multi handle notify its observers at the end of the turn.
    func scheduleNotification(by multi: MultiHandle) { pendingNotifications.append(multi) }

    /// Serves what has become ready meanwhile before anybody is woken: the more observers are notified at once, the fewer
    /// threads are woken for them. A few rounds at most, so that nobody waits long.
    private func drainReadySockets() {
        var rounds = 0
        while !pendingNotifications.isEmpty, rounds < Self.drainLimit,
            poller.poll(timeout: 0, afterWaiting: { now = .now }) > 0
        { rounds += 1 }
    }

    private func notifyObservers() {
        while !pendingNotifications.isEmpty {
            swap(&pendingNotifications, &notifications)
            for multi in notifications { multi.notifyObservers() }
            notifications.removeAll(keepingCapacity: true)
        }
    }

    private func runTimers() {
        guard !timers.isEmpty else { return }
        now = .now
        var budget = Self.batchLimit
        while budget > 0, let timer = timers.popDue(at: now) {
            budget -= 1
            timer.fire()
        }
    }

    /// Waits for sockets, work or the next timer, and serves the sockets. Returns whether the thread may end.
    private func wait() -> Bool {
        var outlook = Outlook.busy
        if local.isEmpty, backlogHead == backlog.count {
            outlook = lock.withLock {
                guard inbox.isEmpty else { return .busy }
                if isStopping, attachments == 0 { return .done }
                isAsleep = true
                return .idle
            }
        }
        switch outlook {
        case .done: return true
        case .busy: poller.poll(timeout: 0) { now = .now }
        case .idle:
            poller.poll(timeout: millisecondsToNextTimer()) { now = .now }
            lock.withLock { isAsleep = false }
        }
        return false
    }

    private enum Outlook { case busy, idle, done }

    private func millisecondsToNextTimer() -> Int32 {
        let deadline = timers.nextDeadline
        guard deadline < .distantFuture else { return -1 }
        let left = Instant.now.duration(to: deadline).millisecondsRoundedUp
        return Int32(clamping: left)
    }
}

/// A piece of work for the loop: a job of Swift's, a command to an exchange, or a closure of ours.
private enum LoopWork {
    case job(UnownedJob)
    case command(Transfer.Command, Transfer)
    case block(@Sendable () -> Void)
}
