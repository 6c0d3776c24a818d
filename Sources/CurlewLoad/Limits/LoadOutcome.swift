internal import HTTPTypes

/// The outcome of a request as a sign of the load of its server.
enum LoadOutcome {
    case isWell
    case isOverload
    /// No sign: the request was refused locally, or cancelled.
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
    /// True if the time ran out in a local queue of a link or of the session: the request was not sent.
    var isOfOwnWait: Bool { code == .connectionWaitTimeout || (code == .totalTimeout && stage == .preparing) }
}

extension CurlewResponse {
    private enum TurnWaitKey: Key { static let defaultValue: Int64 = 0 }

    /// The time, in nanoseconds, that links let the request wait. It does not count as the server's.
    var turnWait: Int64 {
        get { self[TurnWaitKey.self] }
        set { self[TurnWaitKey.self] = newValue }
    }
}

/// Monotonic time in nanoseconds: after a step back of the clock it continues from its last value.
struct SteadyTime: Sendable {
    private var latest: Int64 = .min
    private var offset: Int64 = 0
    /// The largest difference, a second, that is not a step: threads may read the clock in one order and arrive here in
    /// another.
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
    /// The sum with a nonnegative number; the largest integer on overflow.
    func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension CurlewRequest {
    /// Subtracts a wait from the call's time limit.
    /// - Throws: ``CurlewError`` with ``ErrorCode/totalTimeout`` if no time remains.
    mutating func shortenTotal(by waited: Duration) throws {
        guard let total = options.totalTimeout, !total.isUnlimited, waited > .zero else { return }
        guard waited < total else {
            throw CurlewError(
                .totalTimeout, "not finished within \(total.text), all of it spent waiting for a turn",
                context: CurlewError.Context(method: method, uri: uri, showsQuery: options.showsQueries))
        }
        options.totalTimeout = total - waited
    }

    /// The remaining time of the call, in nanoseconds; nil without a limit.
    var remainingNanoseconds: Int64? {
        guard options.isAnySet, let total = options.totalTimeout, !total.isUnlimited else { return nil }
        return total.nanosecondsClamped
    }

    func refusal(_ code: ErrorCode, _ message: String) -> CurlewError {
        CurlewError(
            code, message, context: CurlewError.Context(method: method, uri: uri, showsQuery: options.showsQueries))
    }
}
