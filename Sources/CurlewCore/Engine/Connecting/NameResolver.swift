// CLinux is not imported here: a whole-module build would take `timespec` from it, and other files would lack that
// import.
internal import CurlewPlatform

/// Looks names up on its own threads, because `getaddrinfo` blocks.
///
/// Threads are made on demand, at most ``Limits/threads``, and end after a time without work. Look-ups without a thread
/// wait in a queue of at most ``Limits/queue``, the oldest first. Callers that request the same name and family
/// meanwhile share one look-up.
///
/// The threads are detached and hold no lock during a look-up: a process ends without waiting for them. A child process
/// after `fork` has none of them, as it has no event loop.
///
/// `@unchecked Sendable`: the state is accessed under the monitor only.
final class NameResolver: @unchecked Sendable {
    struct Limits: Sendable {
        /// The greatest number of threads. It is high enough that silent name servers do not soon delay other look-ups.
        var threads = 64
        /// The greatest number of look-ups that wait for a thread.
        var queue = 10_000
        /// The time without work after which a thread ends, in nanoseconds.
        var idleTime: Int64 = 5_000_000_000
    }

    /// The number of threads, of idle threads, and of look-ups that wait for a thread.
    struct Load: Sendable, Equatable {
        var threads = 0
        var idle = 0
        var waiting = 0
    }

    typealias Completion = @Sendable (NameLookUp.Answer) -> Void

    static let shared = NameResolver()

    private let limits: Limits
    private let resolve: @Sendable (NameQuery) -> NameLookUp.Answer
    private let monitor = Monitor()
    // Under the monitor.
    private var lookUps: [NameQuery: LookUp] = [:]
    private var queue = LookUpQueue()
    private var threads = 0
    private var idleThreads = 0

    /// - Parameter resolve: The look-up itself, which may block.
    init(
        limits: Limits = Limits(),
        resolve: @escaping @Sendable (NameQuery) -> NameLookUp.Answer = { NameLookUp.addresses(of: $0) }
    ) {
        self.limits = limits
        self.resolve = resolve
    }

    var load: Load { monitor.withLock { Load(threads: threads, idle: idleThreads, waiting: queue.count) } }

    /// Looks a name up, and calls `completion` once on the loop of `core`; on that loop never before the function
    /// returns.
    ///
    /// An address or a name of this machine needs no thread.
    /// - Returns: The caller's interest in the look-up. Releasing a ticket does not cancel it.
    func lookUp(
        _ name: String, family: ConnectionRoute.AddressFamily, on core: LoopCore, _ completion: @escaping Completion
    ) -> Ticket {
        let query = NameQuery(name, family)
        let ticket = Ticket(query, self, core, completion)
        if let answer = NameLookUp.knownAnswer(name, family) {
            ticket.deliver(answer)
        } else {
            add(ticket)
        }
        return ticket
    }

    private enum Admission { case waits, needsThread, refused }

    private func add(_ ticket: Ticket) {
        switch monitor.withLock({ admit(ticket) }) {
        case .waits: break
        case .needsThread: startThread()
        case .refused:
            ticket.deliver(.failure(NameFailure(.resourcesExhausted, "\(limits.queue) look-ups are waiting")))
        }
    }

    private func admit(_ ticket: Ticket) -> Admission {
        if let known = lookUps[ticket.query] {
            known.add(ticket)
            return .waits
        }
        guard queue.count < limits.queue else { return .refused }
        let lookUp = LookUp(ticket, number: queue.nextNumber)
        lookUps[ticket.query] = lookUp
        queue.append(lookUp)
        if queue.count > idleThreads, threads < limits.threads {
            threads += 1
            return .needsThread
        }
        monitor.signal()
        return .waits
    }

    /// Removes a waiting look-up whose callers have all cancelled.
    fileprivate func noteCancellation(of ticket: Ticket) {
        monitor.withLock {
            guard let lookUp = lookUps[ticket.query], lookUp.number == ticket.number else { return }
            guard lookUp.removeOne(), queue.remove(lookUp) else { return }
            lookUps[ticket.query] = nil
        }
    }

    // MARK: Threads

    private func startThread() {
        let context = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<NameResolver>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, context.toOpaque())
        if status == 0 {
            pthread_detach(thread)
        } else {
            context.release()
            noteMissingThread(status)
        }
    }

    /// Records a failure to make a thread. The look-ups wait for another thread if there is one, and fail otherwise.
    private func noteMissingThread(_ status: Int32) {
        let stranded = monitor.withLock {
            threads -= 1
            guard threads == 0 else { return [Ticket]() }
            var tickets: [Ticket] = []
            while let lookUp = queue.popFirst() {
                lookUps[lookUp.query] = nil
                tickets += lookUp.tickets
            }
            return tickets
        }
        let failure = NameFailure(.resourcesExhausted, "no thread for a look-up (\(describe(status)))")
        for ticket in stranded { ticket.deliver(.failure(failure)) }
    }

    private func work() {
        NameLookUp.nameThread()
        while let lookUp = next() {
            let answer = resolve(lookUp.query)
            let tickets = monitor.withLock {
                lookUps[lookUp.query] = nil
                return lookUp.tickets
            }
            for ticket in tickets { ticket.deliver(answer) }
        }
    }

    /// - Returns: nil if the thread has been idle long enough to end.
    private func next() -> LookUp? {
        monitor.withLock {
            let end = Instant.now.advanced(by: limits.idleTime)
            while true {
                if let lookUp = queue.popFirst() { return lookUp }
                idleThreads += 1
                let isSignalled = monitor.wait(until: end)
                idleThreads -= 1
                guard isSignalled || queue.count > 0 else {
                    threads -= 1
                    return nil
                }
            }
        }
    }
}

extension NameResolver {
    /// The interest of one caller in a look-up.
    ///
    /// `@unchecked Sendable`: its number is accessed under the resolver's monitor only.
    final class Ticket: @unchecked Sendable {
        fileprivate let query: NameQuery
        /// The number of its look-up.
        fileprivate var number = UInt64.max
        private let resolver: NameResolver
        private let core: Guarded<LoopCore?>
        private let completion: Guarded<Completion?>

        fileprivate init(
            _ query: NameQuery, _ resolver: NameResolver, _ core: LoopCore, _ completion: @escaping Completion
        ) {
            self.query = query
            self.resolver = resolver
            self.core = Guarded(core)
            self.completion = Guarded(completion)
        }

        /// Ends the interest. After a call on the loop the completion is not called; a call on another thread may
        /// overlap with it. A look-up that has begun continues.
        func cancel() {
            guard completion.withLock({ $0.take() }) != nil else { return }
            if core.withLock({ $0 }) != nil { resolver.noteCancellation(of: self) }
        }

        /// Delivers the answer. The core is released before it holds the ticket: an ended loop would keep both.
        fileprivate func deliver(_ answer: NameLookUp.Answer) {
            guard let core = core.withLock({ $0.take() }) else { return }
            core.execute { [self] in completion.withLock { $0.take() }?(answer) }
        }

        fileprivate var isCancelled: Bool { completion.withLock { $0 == nil } }
    }
}

/// A look-up, shared by all its callers. Accessed under the monitor only.
private final class LookUp {
    /// The number of cancelled tickets that may exceed twice the interested ones before they are removed.
    private static let spare = 16

    let query: NameQuery
    /// The number among all look-ups of the resolver, and the place in the queue.
    let number: UInt64
    private(set) var tickets: [NameResolver.Ticket] = []
    private var interested = 0

    init(_ ticket: NameResolver.Ticket, number: UInt64) {
        query = ticket.query
        self.number = number
        add(ticket)
    }

    func add(_ ticket: NameResolver.Ticket) {
        ticket.number = number
        tickets.append(ticket)
        interested += 1
    }

    /// Counts a cancelled ticket.
    /// - Returns: True if no caller is left.
    func removeOne() -> Bool {
        interested -= 1
        if tickets.count > 2 * interested + Self.spare { tickets.removeAll { $0.isCancelled } }
        return interested == 0
    }
}

/// A queue whose elements can also be removed from its middle.
private struct LookUpQueue {
    private var lookUps: [UInt64: LookUp] = [:]
    private var first: UInt64 = 0
    /// The number of the next appended look-up.
    private(set) var nextNumber: UInt64 = 0

    var count: Int { lookUps.count }

    mutating func append(_ lookUp: LookUp) {
        lookUps[nextNumber] = lookUp
        nextNumber += 1
    }

    mutating func popFirst() -> LookUp? {
        while first < nextNumber {
            defer { first += 1 }
            if let lookUp = lookUps.removeValue(forKey: first) { return lookUp }
        }
        return nil
    }

    /// - Returns: False if the look-up was not in the queue.
    mutating func remove(_ lookUp: LookUp) -> Bool { lookUps.removeValue(forKey: lookUp.number) != nil }
}

/// A mutex and a condition variable.
///
/// `@unchecked Sendable`: both stay at one address from `init` to `deinit`, and are designed for sharing.
private final class Monitor: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func withLock<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    func signal() { pthread_cond_signal(condition) }

    /// Waits under the lock, which is released during the wait.
    /// - Returns: False after a timeout.
    func wait(until end: Instant) -> Bool {
        var time = timespec(
            tv_sec: Int(end.nanoseconds / 1_000_000_000), tv_nsec: Int(end.nanoseconds % 1_000_000_000))
        return pthread_cond_timedwait(condition, mutex, &time) == 0
    }
}
