internal import HTTPTypes

/// The answer to a request that waits for its turn.
enum TurnVerdict: Sendable {
    case goes
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

/// A group of requests of which some wait for their turns.
protocol LoadGroup: AnyObject, Sendable {
    var name: String { get }
    var turns: AwaitedTurns { get set }

    /// One waits no more.
    /// - Returns: False if it has had its turn, or was dropped.
    func leave(_ number: UInt64) -> Bool
}

extension LoadGroup {
    /// For a sentence.
    var place: String { name.isEmpty ? "" : " at \(name)" }
}

/// What copies of a link share that lets requests wait for their turns.
protocol LoadCore: AnyObject, Sendable {
    associatedtype Group: LoadGroup
    var groups: Guarded<LoadGroups<Group>> { get }
    var queue: LoadQueue { get }
    var timekeeper: Timekeeper { get }
}

extension LoadCore {
    /// In nanoseconds.
    var now: Int64 { timekeeper.nanoseconds() }

    /// Waits for a turn.
    /// - Throws: ``CurlewError`` if there is none.
    func turn(of number: UInt64, in group: Group, _ request: CurlewRequest) async throws {
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
                let known = groups.withLock { _ in group.turns.await(number, by: continuation) }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            leave(number, group, .isCancelled)
        }
        switch verdict {
        case .goes: return
        case .isDropped:
            throw request.refusal(.overloaded, "a newer request took the place in the queue\(group.place)")
        case .isCancelled:
            throw request.refusal(.cancelled, "the task was cancelled while it waited for its turn")
        case .isTimedOut where limit < queue.timeout:
            throw request.refusal(.totalTimeout, "still waiting for its turn when its time was over")
        case .isTimedOut: throw request.refusal(.overloaded, "no turn within \(limit)\(group.place)")
        }
    }

    func leave(_ number: UInt64, _ group: Group, _ verdict: TurnVerdict) {
        let continuation = groups.withLock { _ in
            // Who had its turn in this very moment has it.
            group.leave(number) ? group.turns.decide(number, verdict) : nil
        }
        continuation?.resume(returning: verdict)
    }
}

/// What a response, or the lack of one, says about how much a server can take.
enum LoadOutcome {
    case isWell
    case isOverload
    /// Nothing: the request was refused here, or cancelled.
    case saysNothing

    init(_ response: CurlewResponse) {
        switch response.status.code {
        case 429, 503, 504: self = .isOverload
        default: self = .isWell
        }
    }

    init(_ error: any Error) {
        switch error {
        case let error as CurlewError:
            let code = error.code
            let isRefused = code == .connectionRefused || code == .connectionFailed || code == .connectionLost
            self = isRefused || code.isTimeout ? .isOverload : .saysNothing
        default: self = .saysNothing
        }
    }
}

extension CurlewRequest {
    /// Takes what a call has waited off its time limit.
    /// - Throws: ``CurlewError`` with ``ErrorCode/totalTimeout`` if nothing is left.
    mutating func shortenTotal(by waited: Duration) throws {
        guard let total = options.totalTimeout, !total.isUnlimited, waited > .zero else { return }
        guard waited < total else {
            throw CurlewError(
                .totalTimeout, "not finished within \(total), all of it spent waiting for a turn",
                context: CurlewError.Context(method: method, uri: uri))
        }
        options.totalTimeout = total - waited
    }

    /// The time that the call has left, in nanoseconds; nil without a limit.
    var remainingNanoseconds: Int64? {
        guard options.isAnySet, let total = options.totalTimeout, !total.isUnlimited else { return nil }
        return total.nanosecondsClamped
    }

    func refusal(_ code: ErrorCode, _ message: String) -> CurlewError {
        CurlewError(code, message, context: CurlewError.Context(method: method, uri: uri))
    }
}
