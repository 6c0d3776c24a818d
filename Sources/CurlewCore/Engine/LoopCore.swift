internal import CLinux
internal import CurlewPlatform
internal import Synchronization

/// The event loop: one thread, one epoll, a queue of submitted work, and timers.
///
/// While the thread sleeps, a caller's thread may run the loop briefly (``start(_:)``). Only the thread that runs the
/// loop, which holds `ownership`, accesses the loop's state.
///
/// The thread keeps the core alive; the end of its ``CurlewEventLoop`` stops it. The thread ends after the event loop
/// is released, no multi handle is attached and no work is left.
///
/// `@unchecked Sendable`: state that several threads access at a time is under `lock`; the rest is under `ownership`.
final class LoopCore: SerialExecutor, @unchecked Sendable {
    /// The greatest number of work items before sockets are checked again, and of sockets before work runs.
    static let batchLimit = 256
    /// The greatest number of further socket checks before observers are notified.
    private static let drainLimit = 4
    /// A caller's thread runs the loop only below this number of running exchanges.
    private static let entryLimit = 4
    /// The capacity above which an empty queue releases its memory.
    private static let keptCapacity = 4096

    private let lock = Lock()
    // Under `lock`.
    @exclusivity(unchecked) private var inbox: [LoopWork] = []
    private var isAsleep = false
    private var isStopping = false
    private var attachments = 0

    /// The lock of the thread that runs the loop.
    private let ownership = Lock()
    /// The thread that runs the loop; 0 for none.
    private let owner = Atomic<pthread_t>(0)
    private var thread = pthread_t()

    /// The executor that identifies the loop for tasks that prefer it; the reference is never dereferenced. Set once,
    /// before the first job.
    var taskExecutor: UnownedTaskExecutor?

    // State of the thread that runs the loop.
    @exclusivity(unchecked) private var backlog: [LoopWork] = []
    private var backlogHead = 0
    @exclusivity(unchecked) private var local: [LoopWork] = []
    /// The running batch; empty outside of `runLocalBatch`. Two arrays are swapped, so that a turn allocates none.
    @exclusivity(unchecked) private var localBatch: [LoopWork] = []
    @exclusivity(unchecked) var timers = TimerHeap()
    /// The time of the loop's last check: accurate enough for limits, and free.
    private(set) var now = Instant.now
    /// Multi handles with news for their observers, which are notified at the end of a turn. The threads that wait for
    /// them are then woken once for many events.
    @exclusivity(unchecked) private var pendingNotifications: [MultiHandle] = []
    /// The notified handles; empty outside of `notifyObservers`.
    @exclusivity(unchecked) private var notifications: [MultiHandle] = []
    /// The multi handles whose engines are started and not closed.
    @exclusivity(unchecked) var engines: [MultiHandle] = []
    /// The number of running exchanges of the engines, without upgraded connections.
    @exclusivity(unchecked) var activeCount = 0
    /// The time at which the loop's thread wakes by itself. It may be earlier than the next timer.
    private var sleepsUntil = Instant.distantFuture
    let poller: SystemPoller
    /// A buffer for reading the sockets that libcurl does not read. It is used for the time of a call.
    private(set) lazy var receiveSpace = ReceiveSpace()

    /// The objects of other modules, one of each type.
    var locals: [ObjectIdentifier: AnyObject] = [:]

    init(name: String) throws {
        poller = try SystemPoller()
        let context = Unmanaged.passRetained(self)
        // The thread waits for this lock first, so it sees `thread` set.
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

    // MARK: Submission from any thread

    var isCurrent: Bool { owner.load(ordering: .relaxed) == pthread_self() }

    /// Runs `block` on the loop, soon and in order.
    func execute(_ block: @escaping @Sendable () -> Void) { submit(.block(block)) }

    /// Makes an exchange perform a command on the loop, soon and in order.
    func send(_ command: Transfer.Command, to transfer: Transfer) { submit(.command(command, transfer)) }

    /// Starts an exchange: immediately in the caller's thread if the loop sleeps, otherwise soon and in order.
    func start(_ transfer: Transfer) {
        guard owner.load(ordering: .relaxed) == 0, enter(toStart: transfer) else {
            return submit(.command(.start, transfer))
        }
    }

    /// Runs the loop in the caller's thread until the request is written. That saves waking the loop's thread, which is
    /// half of the time of a single request. With several running exchanges the loop is awake anyway, and serves many
    /// in a turn. New connections, tasks and nearer timers are left to the loop's thread.
    /// - Returns: False if another thread runs the loop, or is about to.
    private func enter(toStart transfer: Transfer) -> Bool {
        var wakes = false
        let hasEntered = ownership.withLockIfAvailable {
            // The queue of a sleeping loop is empty, so no other work is overtaken.
            guard activeCount < Self.entryLimit, lock.withLock({ isAsleep }) else { return false }
            let moment = Instant.now
            // A late loop checks its sockets before it judges timeouts.
            guard timers.nextDeadline > moment else { return false }
            now = moment
            owner.store(pthread_self(), ordering: .relaxed)
            defer { owner.store(0, ordering: .relaxed) }
            transfer.perform(.start)
            if !transfer.isWaiting {
                fireTimers()
                notifyObservers()
            }
            let isNearer = timers.nextDeadline < sleepsUntil
            wakes = lock.withLock {
                let wakes = !local.isEmpty || !pendingNotifications.isEmpty || isNearer || isStopping
                // The next caller must not overtake work that is left to the loop's thread.
                if wakes { isAsleep = false }
                return wakes
            }
            return true
        }
        if wakes { poller.wake() }
        return hasEntered ?? false
    }

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

    /// Ends the thread once no handle is attached and no work is left.
    func stop() {
        let wakes = lock.withLock {
            isStopping = true
            defer { isAsleep = false }
            return isAsleep
        }
        if wakes { poller.wake() }
    }

    /// Keeps the thread alive until `detach`, because only this thread may close the attached handles.
    func attach() { lock.withLock { attachments += 1 } }

    func detach() {
        let wakes = lock.withLock {
            attachments -= 1
            // A stopping thread waits for the last detachment.
            guard isStopping, attachments == 0 else { return false }
            defer { isAsleep = false }
            return isAsleep
        }
        if wakes { poller.wake() }
    }

    // MARK: Thread

    private func run() {
        lock.withLock {}  // The lock is held until `thread` is set.
        var ready = 0
        while true {
            let outlook = ownership.withLock {
                owner.store(thread, ordering: .relaxed)
                defer { owner.store(0, ordering: .relaxed) }
                return turn(ready)
            }
            switch outlook {
            case .done: return detachSelf()
            case .busy: ready = poller.wait(milliseconds: 0)
            case .idle(let milliseconds):
                ready = poller.wait(milliseconds: milliseconds)
                lock.withLock { isAsleep = false }
            }
        }
    }

    /// Runs a turn: ready sockets, submitted work, timers, and sockets that have become ready meanwhile. Observers come
    /// last, when libcurl is not on the stack: they may begin, cancel and end transfers.
    private func turn(_ readySockets: Int) -> Outlook {
        let start = TurnWatch.turnBegins()
        now = .now
        poller.deliver(readySockets)
        runWork()
        runTimers()
        drainReadySockets()
        notifyObservers()
        if let start { TurnWatch.turnEnds(after: start) }
        return outlook()
    }

    private func detachSelf() { pthread_detach(thread) }

    /// Runs a batch of submitted work, oldest first, and work that the loop has submitted to itself. A task that
    /// prefers the loop takes a dozen steps for one request, and not every step justifies a check of the sockets.
    private func runWork() {
        var budget = Self.batchLimit
        // The rest of the loop's own work precedes later submissions of other threads.
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

    /// Runs the work that the loop has submitted to itself. Its budget is separate, so that other work does not wait
    /// long.
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

    /// Schedules a multi handle to notify its observers at the end of the turn.
    func scheduleNotification(by multi: MultiHandle) { pendingNotifications.append(multi) }

    /// Serves sockets that have become ready meanwhile, before observers are notified. The more observers are notified
    /// at once, the fewer threads are woken. The number of rounds is limited, so that no observer waits long.
    private func drainReadySockets() {
        var rounds = 0
        while !pendingNotifications.isEmpty, rounds < Self.drainLimit {
            let ready = poller.wait(milliseconds: 0)
            now = .now
            guard ready > 0 else { return }
            poller.deliver(ready)
            rounds += 1
        }
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
        fireTimers()
    }

    private func fireTimers() {
        var budget = Self.batchLimit
        while budget > 0, let timer = timers.popDue(at: now) {
            budget -= 1
            timer.fire()
        }
    }

    /// The thread's next step after a turn.
    private enum Outlook {
        /// The loop has more work.
        case busy
        /// The loop waits this number of milliseconds for sockets or work; -1 means forever.
        case idle(Int32)
        case done
    }

    private func outlook() -> Outlook {
        guard local.isEmpty, backlogHead == backlog.count else { return .busy }
        // A removed deadline is kept: the next exchange usually has a later one, and need not wake the thread.
        let deadline = timers.nextDeadline
        if deadline < sleepsUntil || sleepsUntil <= now { sleepsUntil = deadline }
        return lock.withLock {
            guard inbox.isEmpty else { return .busy }
            if isStopping, attachments == 0 { return .done }
            isAsleep = true
            return .idle(millisecondsToWake())
        }
    }

    private func millisecondsToWake() -> Int32 {
        guard sleepsUntil < .distantFuture else { return -1 }
        return Int32(clamping: Instant.now.duration(to: sleepsUntil).millisecondsRoundedUp)
    }
}

/// A buffer that belongs to a loop.
final class ReceiveSpace {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    deinit { bytes.deallocate() }
}

/// A piece of work for the loop: a Swift job, a command to an exchange, or a closure.
private enum LoopWork {
    case job(UnownedJob)
    case command(Transfer.Command, Transfer)
    case block(@Sendable () -> Void)
}
