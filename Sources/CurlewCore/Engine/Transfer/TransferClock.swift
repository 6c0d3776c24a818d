/// The time limits of a transfer, and its waits so far.
struct TransferClock {
    /// The limits in nanoseconds; the largest number is unlimited.
    struct Limits {
        var connectionWait = Int64.max
        var head = Int64.max
        var idle = Int64.max
        var total = Int64.max
    }

    private let limits: Limits
    /// The time at which the transfer fails, in whatever state it is.
    var totalDeadline = Instant.distantFuture
    /// The time of the last byte in either direction.
    private(set) var lastActivity = Instant(nanoseconds: 0)

    /// True if the attempt has no connection and has not begun to make one.
    private(set) var isWaiting = false
    private var waitStart = Instant(nanoseconds: 0)
    private var waitDeadline = Instant.distantFuture
    private var waited: Int64 = 0

    /// The start of the wait for the head; nil before the request is sent, and after the head has begun.
    private(set) var headAwaitedSince: Instant?

    /// False once the connection uses another protocol.
    private var hasLimits = true

    /// True if the last check found a limit exceeded.
    private var hasSeenExpiry = false

    init(_ limits: Limits) { self.limits = limits }

    mutating func noteActivity(at now: Instant) { lastActivity = now }

    /// Removes the limits of the exchange, once its connection uses another protocol.
    mutating func endLimits() {
        hasLimits = false
        totalDeadline = .distantFuture
        endAwaitingHead()
    }

    // MARK: Wait for a connection

    /// Begins the wait of an attempt.
    mutating func beginWaiting(at now: Instant) {
        isWaiting = true
        waitStart = now
        waitDeadline = now.advanced(by: limits.connectionWait)
        waited = 0
        headAwaitedSince = nil
    }

    /// Ends the wait: the attempt has a connection, or begins to make one.
    mutating func endWaiting(at now: Instant) {
        guard isWaiting else { return }
        waited = waitStart.nanoseconds(to: now)
        isWaiting = false
    }

    /// Resumes the wait, with the remaining time.
    mutating func resumeWaiting(at now: Instant) {
        guard !isWaiting else { return }
        isWaiting = true
        waitStart = now.advanced(by: -waited)
        waitDeadline = waitStart.advanced(by: limits.connectionWait)
    }

    /// The time for which the attempt has waited; each wait is reported once.
    mutating func takeWaited(at now: Instant) -> Duration {
        endWaiting(at: now)
        defer { waited = 0 }
        return .nanoseconds(waited)
    }

    // MARK: Wait for the head

    /// Begins the wait for the head, because the request is completely sent.
    mutating func awaitHead(since now: Instant) { headAwaitedSince = now }

    /// Ends the wait: the head has begun, or cannot be expected yet.
    mutating func endAwaitingHead() { headAwaitedSince = nil }

    /// Restarts the limits that were stopped while the task was suspended.
    mutating func restart(at now: Instant) {
        lastActivity = now
        waitDeadline = now.advanced(by: limits.connectionWait)
        if headAwaitedSince != nil { headAwaitedSince = now }
    }

    // MARK: Limits

    /// The exceeded limit.
    enum Expiry {
        case total, connectionWait, idle, head

        /// The error of the transfer.
        func error(_ timeouts: Timeouts) -> CurlewError {
            switch self {
            case .total: CurlewError(.totalTimeout, "not finished within \(timeouts.total.text)")
            case .connectionWait:
                CurlewError(.connectionWaitTimeout, "no connection was free within \(timeouts.connectionWait.text)")
            case .idle: CurlewError(.idleTimeout, "no byte either way for \(timeouts.idle.text)")
            case .head: CurlewError(.headTimeout, "no byte of an answer within \(timeouts.head.text) of the request")
            }
        }
    }

    /// The state of an attempt, as far as it affects the limits.
    struct Position {
        var stage: CurlewError.Stage
        var pauses: PauseReasons
        /// True if the response has a reader. A body without a reader does not wait for one.
        var isClaimed: Bool
    }

    /// The result of a check of the limits.
    enum Look {
        /// A limit is exceeded for the first time. It counts if it is still exceeded one turn of the loop later: a
        /// thread that had no processor time first reads the bytes that have arrived meanwhile.
        case again
        case found(Expiry?)
    }

    mutating func look(at now: Instant, _ position: Position) -> Look {
        let expiry = expiry(at: now, position)
        hasSeenExpiry = expiry != nil && !hasSeenExpiry
        return hasSeenExpiry ? .again : .found(expiry)
    }

    func expiry(at now: Instant, _ position: Position) -> Expiry? {
        if totalDeadline <= now { return .total }
        if waitingDeadline(position) <= now { return .connectionWait }
        if idleDeadline(position) <= now { return .idle }
        return headDeadline(position) <= now ? .head : nil
    }

    /// The nearest time at which a limit may be exceeded.
    func nearestDeadline(_ position: Position) -> Instant {
        switch position.stage {
        case .preparing, .connecting: min(totalDeadline, waitingDeadline(position))
        default: min(totalDeadline, idleDeadline(position), headDeadline(position))
        }
    }

    private func waitingDeadline(_ position: Position) -> Instant {
        isWaiting && !position.pauses.contains(.suspended) ? waitDeadline : .distantFuture
    }

    private func headDeadline(_ position: Position) -> Instant {
        guard let headAwaitedSince, position.stage == .exchanging, !position.pauses.contains(.suspended) else {
            return .distantFuture
        }
        return headAwaitedSince.advanced(by: limits.head)
    }

    /// The deadline of the idle timeout. The timeout is stopped until a connection exists, and while the reader, the
    /// user or a rate limit pauses the bytes.
    private func idleDeadline(_ position: Position) -> Instant {
        let isExchanging = position.stage == .exchanging || position.stage == .receiving
        var exempting: PauseReasons = [.suspended, .sendingRate, .receivingRate]
        if position.isClaimed { exempting.insert(.reader) }
        guard hasLimits, isExchanging, position.pauses.isDisjoint(with: exempting) else { return .distantFuture }
        return lastActivity.advanced(by: limits.idle)
    }
}

extension TransferClock.Limits {
    init(_ timeouts: Timeouts) {
        connectionWait = timeouts.connectionWait.limitInNanoseconds
        head = timeouts.head.limitInNanoseconds
        idle = timeouts.idle.limitInNanoseconds
        total = timeouts.total.limitInNanoseconds
    }
}
