/// The time limits of a transfer, and what it has waited for so far.
struct TransferClock {
    /// The limits in nanoseconds; the largest number is none.
    struct Limits {
        var connectionWait = Int64.max
        var head = Int64.max
        var idle = Int64.max
        var total = Int64.max
    }

    private let limits: Limits
    /// When the transfer fails, wherever it is then.
    var totalDeadline = Instant.distantFuture
    /// When a byte last went either way.
    private(set) var lastActivity = Instant(nanoseconds: 0)

    /// True if the attempt neither has a connection nor begins to make one.
    private(set) var isWaiting = false
    private var waitStart = Instant(nanoseconds: 0)
    private var waitDeadline = Instant.distantFuture
    private var waited: Int64 = 0

    /// Since when the head is awaited; nil before the request is sent, and once the head has begun.
    private(set) var headAwaitedSince: Instant?

    /// True if the last look found a limit exceeded.
    private var hasSeenExpiry = false

    init(_ limits: Limits) { self.limits = limits }

    mutating func noteActivity(at now: Instant) { lastActivity = now }

    // MARK: Waiting for a connection

    /// The engine has been given an attempt.
    mutating func beginWaiting(at now: Instant) {
        isWaiting = true
        waitStart = now
        waitDeadline = now.advanced(by: limits.connectionWait)
        waited = 0
        headAwaitedSince = nil
    }

    /// The attempt has a connection, or begins to make one.
    mutating func endWaiting(at now: Instant) {
        guard isWaiting else { return }
        waited = waitStart.nanoseconds(to: now)
        isWaiting = false
    }

    /// The attempt waits again, for as long as it has left.
    mutating func resumeWaiting(at now: Instant) {
        guard !isWaiting else { return }
        isWaiting = true
        waitStart = now.advanced(by: -waited)
        waitDeadline = waitStart.advanced(by: limits.connectionWait)
    }

    /// For how long the attempt has waited; each wait is reported once.
    mutating func takeWaited(at now: Instant) -> Duration {
        endWaiting(at: now)
        defer { waited = 0 }
        return .nanoseconds(waited)
    }

    // MARK: Waiting for the head

    /// The request is sent, as a whole.
    mutating func awaitHead(since now: Instant) { headAwaitedSince = now }

    /// The head has begun, or is not to be expected yet.
    mutating func endAwaitingHead() { headAwaitedSince = nil }

    /// The suspended task resumes: the limits that did not run meanwhile begin anew.
    mutating func restart(at now: Instant) {
        lastActivity = now
        waitDeadline = now.advanced(by: limits.connectionWait)
        if headAwaitedSince != nil { headAwaitedSince = now }
    }

    // MARK: Limits

    /// What has run out.
    enum Expiry {
        case total, connectionWait, idle, head

        /// The error that the transfer ends with.
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

    /// Where an attempt is, as far as the limits are concerned.
    struct Position {
        var stage: CurlewError.Stage
        var pauses: PauseReasons
        /// True if somebody has the response: a body that nobody has asked for has no reader to wait for.
        var isClaimed: Bool
    }

    /// The result of a look at the limits.
    enum Look {
        /// A limit is exceeded for the first time: it counts if it still is, a turn of the loop later. A thread that had no
        /// processor for a while reads first what has come meanwhile.
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

    /// The nearest moment at which something may have run out.
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

    /// The idle clock stands still until a connection is there, and while the reader, the user or a limit of rate holds the
    /// bytes back.
    private func idleDeadline(_ position: Position) -> Instant {
        let isExchanging = position.stage == .exchanging || position.stage == .receiving
        var exempting: PauseReasons = [.suspended, .sendingRate, .receivingRate]
        if position.isClaimed { exempting.insert(.reader) }
        guard isExchanging, position.pauses.isDisjoint(with: exempting) else { return .distantFuture }
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
