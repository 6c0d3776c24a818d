/// The place where requests wait for their turns, for ``ConcurrencyLimiter`` and ``RequestRateLimiter``.
public struct LoadQueue: Sendable, Hashable {
    /// The most requests of a group that wait. 1,000 by default; 0 lets none wait.
    public var capacity: Int
    /// The longest wait. 10 seconds by default; ``Timeouts/unlimited`` is no limit. The call's own
    /// ``RequestOptions/totalTimeout`` holds all the same.
    public var timeout: Duration
    /// True if a newcomer takes the place of whoever has waited longest of those with the least priority when the queue is full:
    /// under lasting overload its caller has given up soonest. A newcomer of less priority than all that wait is refused. False by
    /// default: the newcomer is refused.
    public var dropsOldest: Bool
    /// True if a call is refused at once whose ``RequestOptions/totalTimeout`` would be over before an answer could come, as far as
    /// that is known from those before: the quickest answer of the last 10 to 20 seconds, and those who are ahead in the queue. True by default.
    public var shedsLateCalls: Bool

    public init(
        capacity: Int = 1000, timeout: Duration = .seconds(10), dropsOldest: Bool = false, shedsLateCalls: Bool = true
    ) {
        self.capacity = max(0, capacity)
        self.timeout = max(.zero, timeout)
        self.dropsOldest = dropsOldest
        self.shedsLateCalls = shedsLateCalls
    }

    /// Nobody waits: what has no place is refused.
    public static let none = LoadQueue(capacity: 0)
}

/// The answer to a request that waits for its turn.
enum TurnVerdict: Sendable {
    /// It may go; a machine of rates has counted it in a period.
    case goes(period: Int)
    /// Another has taken its place in the queue.
    case isDropped
    case isCancelled
    case isTimedOut
}

/// The requests that wait for their turns, each of which gets one answer. Its owner's lock guards it, and the continuations are resumed
/// outside of that.
struct AwaitedTurns {
    private enum Turn {
        case isOpen
        case isAwaited(CheckedContinuation<TurnVerdict, Never>)
        case isDecided(TurnVerdict)
    }

    private var turns: [UInt64: Turn] = [:]

    mutating func open(_ number: UInt64) { turns[number] = .isOpen }

    /// - Returns: Whom to resume; nil if nobody waits yet.
    mutating func decide(_ number: UInt64, _ verdict: TurnVerdict) -> CheckedContinuation<TurnVerdict, Never>? {
        switch turns[number] {
        case .isOpen: turns[number] = .isDecided(verdict)
        case .isAwaited(let continuation):
            turns[number] = nil
            return continuation
        case .isDecided, nil: break
        }
        return nil
    }

    /// - Returns: The answer, if it is there already.
    mutating func await(_ number: UInt64, by continuation: CheckedContinuation<TurnVerdict, Never>) -> TurnVerdict? {
        guard case .isDecided(let verdict)? = turns.removeValue(forKey: number) else {
            turns[number] = .isAwaited(continuation)
            return nil
        }
        return verdict
    }
}

/// Continuations to be resumed once a lock is open.
struct ResumedTurns {
    private var list: [(CheckedContinuation<TurnVerdict, Never>, TurnVerdict)] = []

    mutating func add(_ continuation: CheckedContinuation<TurnVerdict, Never>?, _ verdict: TurnVerdict) {
        if let continuation { list.append((continuation, verdict)) }
    }

    func resume() { for (continuation, verdict) in list { continuation.resume(returning: verdict) } }
}

/// The part that copies of a link share, where requests wait for their turns.
protocol LoadCore: AnyObject, Sendable {
    associatedtype State: WaitingState
    var groups: Guarded<LoadGroups<State>> { get }
    var queue: LoadQueue { get }
    var timekeeper: Timekeeper { get }
}

/// The state of a group of which requests may wait.
protocol WaitingState: LoadState {
    var turns: AwaitedTurns { get set }

    /// One waits no more.
    /// - Returns: False if it has had its turn, or was dropped.
    mutating func leave(_ number: UInt64) -> Bool
}

extension LoadCore {
    /// In nanoseconds.
    var now: Int64 { timekeeper.nanoseconds() }

    /// Waits for a turn.
    /// - Returns: The period that the request was counted in.
    /// - Throws: ``CurlewError`` if there is none.
    func turn(of number: UInt64, in group: LoadGroup, _ request: CurlewRequest) async throws -> Int {
        let limit = min(queue.timeout, request.options.totalTimeout ?? Timeouts.unlimited)
        let timer =
            limit.isUnlimited
            ? nil
            : Task { [timekeeper] in
                try await timekeeper.sleep(for: limit)
                leave(number, group, .isTimedOut)
            }
        defer { timer?.cancel() }
        let verdict = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = groups.withLock { $0[group].turns.await(number, by: continuation) }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            leave(number, group, .isCancelled)
        }
        switch verdict {
        case .goes(let period): return period
        case .isDropped:
            throw request.refusal(.overloaded, "a newer request took the place in the queue\(group.place)")
        case .isCancelled:
            throw request.refusal(.cancelled, "the task was cancelled while it waited for its turn")
        case .isTimedOut where limit < queue.timeout:
            throw request.refusal(.totalTimeout, "still waiting for its turn when its time was over")
        case .isTimedOut: throw request.refusal(.overloaded, "no turn within \(limit.text)\(group.place)")
        }
    }

    private func leave(_ number: UInt64, _ group: LoadGroup, _ verdict: TurnVerdict) {
        let continuation = groups.withLock { groups -> CheckedContinuation<TurnVerdict, Never>? in
            // Who had its turn in this very moment has it.
            guard groups.holds(group), groups[group].leave(number) else { return nil }
            return groups[group].turns.decide(number, verdict)
        }
        continuation?.resume(returning: verdict)
    }
}
