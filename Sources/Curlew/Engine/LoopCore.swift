internal import CLinux
internal import Glibc
internal import Synchronization

/// The loop itself: one thread, one epoll, the queue of work handed to it, its timers.
///
/// While the thread sleeps, a caller's thread may run the loop for a moment (``start(_:)``). Whatever belongs to the loop
/// is touched by the thread alone that runs it, which holds `ownership`.
///
/// The thread keeps the core alive; ``CurlewEventLoop`` is the handle whose end stops it. The thread ends when the handle is
/// gone, no multi handle is attached and no work is left.
///
/// `@unchecked Sendable`: what several threads touch at a time is under `lock`; the rest is under `ownership`.
final class LoopCore: SerialExecutor, @unchecked Sendable {
    /// At most so much work runs before sockets are looked at again, and so many sockets before work is.
    static let batchLimit = 256
    /// So often at most sockets are looked at again before observers are notified.
    private static let drainLimit = 4
    /// A caller's thread runs the loop only while fewer exchanges than this are under way.
    private static let entryLimit = 4
    /// A queue that has grown larger gives its memory back when it is empty.
    private static let keptCapacity = 4096

    private let lock = Lock()
    // Under `lock`.
    @exclusivity(unchecked) private var inbox: [LoopWork] = []
    private var isAsleep = false
    private var isStopping = false
    private var attachments = 0

    /// Held by the thread that runs the loop.
    private let ownership = Lock()
    /// The thread that runs the loop; 0 if none does.
    private let owner = Atomic<pthread_t>(0)
    private var thread = pthread_t()

    /// The executor that names the loop for tasks that prefer it; the reference is never followed. Set once, before the
    /// first job.
    var taskExecutor: UnownedTaskExecutor?

    // Of the thread that runs the loop.
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
    /// The number of exchanges that the engines carry. Upgraded connections do not count.
    @exclusivity(unchecked) var activeCount = 0
    /// The moment at which the loop's thread wakes by itself. It may be earlier than the next timer.
    private var sleepsUntil = Instant.distantFuture
    let poller: Poller
    /// Memory to read sockets into that libcurl does not read, for the time of a call.
    private(set) lazy var receiveSpace = ReceiveSpace()

    /// Objects of other modules, one of each type.
    var locals: [ObjectIdentifier: AnyObject] = [:]

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

    var isCurrent: Bool { owner.load(ordering: .relaxed) == pthread_self() }

    /// Runs `block` on the loop, soon and in order.
    func execute(_ block: @escaping @Sendable () -> Void) { submit(.block(block)) }

    /// Has an exchange do something on the loop, soon and in order.
    func send(_ command: Transfer.Command, to transfer: Transfer) { submit(.command(command, transfer)) }

    /// Starts an exchange: at once in the caller's thread if the loop sleeps, else soon and in order.
    func start(_ transfer: Transfer) {
        guard owner.load(ordering: .relaxed) == 0, enter(toStart: transfer) else {
            return submit(.command(.start, transfer))
        }
    }

    /// Runs the loop in the caller's thread until the request is written. That saves waking the loop's thread, half of what
    /// a request by itself takes. With several exchanges under way the loop is awake anyway, and serves many in a turn.
    /// New connections, tasks and nearer timers are left to the loop's thread.
    /// - Returns: False if another thread runs the loop, or is about to.
    private func enter(toStart transfer: Transfer) -> Bool {
        var wakes = false
        let hasEntered = ownership.withLockIfAvailable {
            // The queue of a loop that sleeps is empty: nothing is overtaken.
            guard activeCount < Self.entryLimit, lock.withLock({ isAsleep }) else { return false }
            let moment = Instant.now
            // A loop that is late looks at its sockets before it judges what has taken too long.
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
                // The next caller does not overtake what is left to the loop's thread.
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

    private func run() {
        lock.withLock {}  // until `thread` is set
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

    /// A turn: the sockets that are ready, what was handed over, timers, sockets that have become ready meanwhile, and last
    /// the observers, when nothing of libcurl's is on the stack: they may begin, cancel and end transfers.
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
        /// There is more to be done.
        case busy
        /// It waits so many milliseconds for sockets or work; -1 is for ever.
        case idle(Int32)
        case done
    }

    private func outlook() -> Outlook {
        guard local.isEmpty, backlogHead == backlog.count else { return .busy }
        // A deadline that is gone is kept: the next exchange mostly has a later one, and need not wake the thread.
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

/// Memory that belongs to a loop.
final class ReceiveSpace {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    deinit { bytes.deallocate() }
}

/// A piece of work for the loop: a job of Swift's, a command to an exchange, or a closure of ours.
private enum LoopWork {
    case job(UnownedJob)
    case command(Transfer.Command, Transfer)
    case block(@Sendable () -> Void)
}
