public import HTTPTypes

/// An attempt that failed, for the closure that decides whether there is another: ``Retry/decide``.
public struct FailedAttempt: Sendable {
    /// The request that was sent.
    public let request: Request
    /// The number of the attempt, from 1.
    public let number: Int
    /// The head of the answer, its status 400 or more; nil if none came.
    public let response: HTTPResponse?
    /// The error; nil if there was an answer.
    public let error: CurlewError?
    /// What the rules say: the wait before the next attempt; nil if there is to be none.
    public let proposedWait: Duration?
}

/// What is done after a failed attempt.
public struct RetryDecision: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case asProposed
        case stop
        case again(Duration?)
    }

    let kind: Kind

    /// What the rules say.
    public static let asProposed = RetryDecision(kind: .asProposed)
    /// No further attempt: the answer, or the error, goes to the caller.
    public static let stop = RetryDecision(kind: .stop)
    /// Another attempt after the wait that the rules propose, or that of the backoff.
    public static let again = RetryDecision(kind: .again(nil))
    /// Another attempt after a wait.
    public static func again(after wait: Duration) -> RetryDecision { RetryDecision(kind: .again(wait)) }
}
