/// The queue in which requests wait for their turns, for ``ConcurrencyLimiter`` and ``RequestRateLimiter``.
public struct LoadQueue: Sendable, Hashable {
    /// The largest number of waiting requests of a group. 1,000 by default; 0 disables waiting.
    public var capacity: Int
    /// The longest wait. 10 seconds by default; ``Timeouts/unlimited`` means no limit. The call's
    /// ``RequestOptions/totalTimeout`` still applies.
    public var timeout: Duration
    /// True if a new request replaces a waiting one when the queue is full. False by default: the new request is
    /// refused.
    ///
    /// The replaced request is the oldest of those with the lowest priority, as its caller is the most likely to have
    /// given up. A new request with a lower priority than all waiting ones is refused.
    public var dropsOldest: Bool
    /// True if a call is refused at once when its ``RequestOptions/totalTimeout`` would expire before a response could
    /// arrive. True by default.
    ///
    /// The estimate uses the quickest response of the last 10 to 20 seconds, and the requests that are ahead in the
    /// queue.
    public var shedsLateCalls: Bool

    public init(
        capacity: Int = 1000, timeout: Duration = .seconds(10), dropsOldest: Bool = false, shedsLateCalls: Bool = true
    ) {
        self.capacity = max(0, capacity)
        self.timeout = max(.zero, timeout)
        self.dropsOldest = dropsOldest
        self.shedsLateCalls = shedsLateCalls
    }

    /// A queue without room: requests that cannot be sent at once are refused.
    public static let none = LoadQueue(capacity: 0)
}

/// The result of waiting for a turn.
enum TurnVerdict: Sendable {
    /// The request may be sent; the rate machine has counted it in a period.
    case goes(period: Int)
    /// A newer request has taken its place in the queue.
    case isDropped
    case isCancelled
    case isTimedOut
}

/// The requests that wait for their turns; each gets one verdict. The owner's lock guards the value, and the
/// continuations are resumed outside of the lock.
struct AwaitedTurns {
    private enum Turn {
        case isOpen
        case isAwaited(CheckedContinuation<TurnVerdict, Never>)
        case isDecided(TurnVerdict)
    }

    private var turns: [UInt64: Turn] = [:]

    /// True if every verdict has been delivered.
    var isEmpty: Bool { turns.isEmpty }

    mutating func open(_ number: UInt64) { turns[number] = .isOpen }

    /// - Returns: The continuation to resume; nil if the request does not wait yet.
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

    /// - Returns: The verdict, if it has been decided already.
    mutating func await(_ number: UInt64, by continuation: CheckedContinuation<TurnVerdict, Never>) -> TurnVerdict? {
        guard case .isDecided(let verdict)? = turns.removeValue(forKey: number) else {
            turns[number] = .isAwaited(continuation)
            return nil
        }
        return verdict
    }
}

/// Continuations that are resumed after a lock is released.
struct ResumedTurns {
    private var list: [(CheckedContinuation<TurnVerdict, Never>, TurnVerdict)] = []

    mutating func add(_ continuation: CheckedContinuation<TurnVerdict, Never>?, _ verdict: TurnVerdict) {
        if let continuation { list.append((continuation, verdict)) }
    }

    func resume() { for (continuation, verdict) in list { continuation.resume(returning: verdict) } }
}

/// The shared part of a link whose requests wait for their turns.
protocol LoadCore: AnyObject, Sendable {
    associatedtype State: WaitingState
    var groups: Guarded<LoadGroups<State>> { get }
    var queue: LoadQueue { get }
    var timekeeper: Timekeeper { get }
}

/// The state of a group whose requests may wait.
protocol WaitingState: LoadState {
    var turns: AwaitedTurns { get set }

    /// Removes a waiting request.
    /// - Returns: False if it was already admitted or dropped.
    mutating func leave(_ number: UInt64) -> Bool
}

extension LoadCore {
    /// The time in nanoseconds.
    var now: Int64 { timekeeper.nanoseconds() }

    /// Waits for a turn.
    /// - Returns: The period in which the request was counted.
    /// - Throws: ``CurlewError`` if the request does not get a turn.
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
            // A request that was admitted at the same moment keeps its turn.
            guard groups.holds(group), groups[group].leave(number) else { return nil }
            return groups[group].turns.decide(number, verdict)
        }
        continuation?.resume(returning: verdict)
    }
}
