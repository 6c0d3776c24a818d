internal import HTTPTypes

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
            self = (isRefused || code.isTimeout) && !error.isOfOwnWait ? .isOverload : .saysNothing
        default: self = .saysNothing
        }
    }
}

extension CurlewError {
    /// True if time ran out in a queue of ours, or in that of the session: nothing of the request was sent.
    var isOfOwnWait: Bool { code == .connectionWaitTimeout || (code == .totalTimeout && stage == .preparing) }
}

extension CurlewResponse {
    private enum TurnWaitKey: Key { static let defaultValue: Int64 = 0 }

    /// The time, in nanoseconds, for which links of ours let the request wait: it is not the server's.
    var turnWait: Int64 {
        get { self[TurnWaitKey.self] }
        set { self[TurnWaitKey.self] = newValue }
    }
}

/// Time that never runs backwards, whatever the clock does: after a step back it goes on from where it was. In nanoseconds.
struct SteadyTime: Sendable {
    private var latest: Int64 = .min
    private var offset: Int64 = 0
    /// Threads may read the clock in one order and come here in another; that is no step.
    private static let tolerance: Int64 = 1_000_000_000

    mutating func at(_ moment: Int64) -> Int64 {
        let time = moment.clampedAdding(offset)
        guard time < latest else {
            latest = time
            return time
        }
        let (step, isTooLarge) = latest.subtractingReportingOverflow(time)
        if isTooLarge || step > Self.tolerance { offset = isTooLarge ? .max : offset.clampedAdding(step) }
        return latest
    }
}

extension Int64 {
    /// The sum with what is not negative, and the largest number where that is too large.
    func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension CurlewRequest {
    /// Takes what a call has waited off its time limit.
    /// - Throws: ``CurlewError`` with ``ErrorCode/totalTimeout`` if nothing is left.
    mutating func shortenTotal(by waited: Duration) throws {
        guard let total = options.totalTimeout, !total.isUnlimited, waited > .zero else { return }
        guard waited < total else {
            throw CurlewError(
                .totalTimeout, "not finished within \(total.text), all of it spent waiting for a turn",
                context: CurlewError.Context(method: method, uri: uri, showsQuery: options.showsQueries))
        }
        options.totalTimeout = total - waited
    }

    /// The time that the call has left, in nanoseconds; nil without a limit.
    var remainingNanoseconds: Int64? {
        guard options.isAnySet, let total = options.totalTimeout, !total.isUnlimited else { return nil }
        return total.nanosecondsClamped
    }

    func refusal(_ code: ErrorCode, _ message: String) -> CurlewError {
        CurlewError(
            code, message, context: CurlewError.Context(method: method, uri: uri, showsQuery: options.showsQueries))
    }
}
