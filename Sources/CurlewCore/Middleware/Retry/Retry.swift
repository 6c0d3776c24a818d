public import HTTPTypes

/// Retries a request after a failure that may be temporary.
///
/// A request is retried after a wait (``Policy/backoff``, plus the time that Retry-After asks for) in these cases:
/// - The response has one of the ``statuses``, and the request is idempotent (RFC 9110 §9.2.2) or marked so
///   (``RequestOptions/isIdempotent``).
/// - The response is 429 or 503 with a Retry-After, whatever the method, unless the request is marked as not
///   idempotent. The server reports that it has not processed the request, and when to retry.
/// - The error may be temporary, and the request is idempotent or marked so. A request that never had a connection is
///   retried whatever its method, as no byte of it was sent.
///
/// A request is not retried in these cases:
/// - Its body can be read only once.
/// - ``Policy/attempts`` are used up.
/// - The wait would last beyond ``Policy/totalTime`` or the caller's ``RequestOptions/totalTimeout``.
/// - The ``budget`` has no token for the host.
///
/// Then the caller gets the response or the error of the last attempt. ``CurlewResponse/attempts`` and
/// ``CurlewError/attempts`` count the attempts. A failure while the body is read is not retried: the caller already has
/// the head.
///
/// The article "HTTP behaviour" lists for every error code whether it is retried, and why.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     Retry(attempts: 5)
/// }
/// ```
public struct Retry: CurlewMiddleware {
    /// The number of attempts, and the waits between them: 3 attempts within 2 minutes by default. A request's
    /// ``RequestOptions/maximumAttempts`` takes precedence over ``Policy/attempts``.
    public var policy: Policy
    /// The statuses that are treated as temporary: 408, 429, 500, 502, 503 and 504 by default.
    public var statuses: Set<HTTPResponse.Status> = HTTPResponse.Status.transient
    /// The limit on the added load; nil means no limit. Copies of the link share it.
    public var budget: Retry.Budget?
    /// Decides after each failed attempt: after every error, and every response with a status of 400 or more. It takes
    /// precedence over the rules on statuses, errors and methods. The bounds on number, time, body and budget still
    /// hold. ``Retry/FailedAttempt/retryAfter`` is the wait that the server asks for. ``Retry/Decision/again`` respects
    /// it, within ``Policy/retryAfterLimit``; ``Retry/Decision/again(after:)`` does not.
    public var decide: (@Sendable (Retry.FailedAttempt) async -> Retry.Decision)?
    private let timekeeper: Timekeeper
    private var network: NetworkChanges?

    /// - Parameters:
    ///   - attempts: The largest number of attempts, including the first.
    ///   - budget: The limit on the added load.
    ///   - clock: The clock that measures the waits and the total time.
    public init(
        attempts: Int = 3, budget: Retry.Budget? = Retry.Budget(), clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(Policy(attempts: attempts, totalTime: .seconds(120)), budget: budget, clock: clock)
    }

    /// - Parameters:
    ///   - policy: The number of attempts, and the waits between them.
    ///   - budget: The limit on the added load.
    ///   - clock: The clock that measures the waits and the total time.
    public init(
        _ policy: Policy, budget: Retry.Budget? = Retry.Budget(), clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.policy = policy
        self.budget = budget
        timekeeper = Timekeeper(clock)
    }

    /// A copy of the link that ends a backoff early when the network changes: it comes back, or is replaced by another.
    ///
    /// Only waits after an error end early. A wait for Retry-After, or one that ``decide`` chooses, is never shortened.
    ///
    /// ```swift
    /// Retry(attempts: 5).waking(on: try ReachabilityMonitor().updates)
    /// ```
    /// - Parameter updates: The status of the network: the present one first, then each change.
    public func waking(on updates: some AsyncSequence<ReachabilityStatus, Never> & Sendable) -> Retry {
        var copy = self
        copy.network = NetworkChanges(updates)
        return copy
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await intercept(request, from: begin(request), next: next)
    }

    /// Counts the beginning of a call.
    /// - Returns: The time of the beginning.
    func begin(_ request: CurlewRequest) -> Duration { Start(self).begin(request) }

    /// The parts of a link that count the beginnings of calls. A copy of the link would cost more than the count.
    struct Start: Sendable {
        private let budget: Budget?
        private let timekeeper: Timekeeper

        init(_ link: Retry) {
            budget = link.budget
            timekeeper = link.timekeeper
        }

        /// - Returns: The time of the beginning.
        func begin(_ request: CurlewRequest) -> Duration {
            budget?.deposit(for: request.uri)
            return timekeeper.elapsed()
        }
    }

    func intercept(
        _ request: CurlewRequest, from start: Duration, next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        let failure: Failure
        do {
            let response = try await next(request)
            guard response.status.code >= 400 else { return response }
            failure = .response(response)
        } catch let error as CurlewError {
            failure = .error(error)
        }
        let deadline = CallDeadline(request.options, timekeeper, start: start)
        return try await repeating(request, after: failure, from: start, deadline, next)
    }

    /// The failure of an attempt.
    private enum Failure {
        case response(CurlewResponse)
        case error(CurlewError)

        var head: HTTPResponse? {
            if case .response(let response) = self { response.head } else { nil }
        }

        var error: CurlewError? {
            if case .error(let error) = self { error } else { nil }
        }

        /// The wait that the server asks for.
        var retryAfter: Duration? {
            // An inner link may have turned the status into an error.
            let refused = error?.code == .unacceptableStatus ? error?.response : nil
            return (head ?? refused).flatMap { RetryAfter.wait($0.headerFields) }
        }

        /// The response or the error that the caller gets.
        func outcome(attempts: Int) throws -> CurlewResponse {
            switch self {
            case .response(var response):
                response.attempts += attempts - 1
                return response
            case .error(let error): throw error.adding(CurlewError.Context(attempts: attempts))
            }
        }
    }

    private func repeating(
        _ request: CurlewRequest, after first: Failure, from start: Duration, _ deadline: CallDeadline,
        _ next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        var failure = first
        var again = request
        var number = 1
        while let wait = await wait(after: failure, number, request, from: start, deadline) {
            request.reporter?.retrying(request, failure.head?.status, failure.error, after: wait.duration, number)
            if case .response(let response) = failure { await response.discard() }
            try await pause(for: wait, request, after: failure, attempts: number)
            try deadline.limit(&again)
            again.options.isRepeated = true
            number += 1
            do {
                var response = try await next(again)
                guard response.status.code >= 400 else {
                    response.attempts += number - 1
                    return response
                }
                failure = .response(response)
            } catch let error as CurlewError {
                failure = .error(error)
            } catch {
                throw CurlewError(wrapping: error, request).adding(CurlewError.Context(attempts: number))
            }
        }
        return try failure.outcome(attempts: number)
    }

    private func pause(for wait: Wait, _ request: CurlewRequest, after failure: Failure, attempts: Int) async throws {
        do {
            if wait.mayEndEarly, failure.error != nil, let network {
                try await pause(for: wait.duration, orUntil: network.change)
            } else {
                try await timekeeper.sleep(for: wait.duration)
            }
            try Task.checkCancellation()
        } catch {
            let context = CurlewError.Context(
                method: request.method, uri: request.uri, attempts: attempts, showsQuery: request.options.showsQueries)
            throw CurlewError(.cancelled, "the task was cancelled before the next attempt", context: context)
        }
    }

    private func pause(for wait: Duration, orUntil change: @escaping @Sendable () async -> Bool) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { [timekeeper] in
                try await timekeeper.sleep(for: wait)
                return true
            }
            group.addTask { await change() }
            defer { group.cancelAll() }
            // Without further changes of the network only the sleep ends the wait.
            while let isOver = try await group.next(), !isOver {}
        }
    }

    /// The time before the next attempt.
    private struct Wait {
        var duration: Duration
        /// True if the wait is for the backoff alone.
        var mayEndEarly: Bool
    }

    /// The wait before the next attempt; nil if there is no further attempt.
    private func wait(
        after failure: Failure, _ number: Int, _ request: CurlewRequest, from start: Duration, _ deadline: CallDeadline
    ) async -> Wait? {
        guard number < request.options.maximumAttempts ?? policy.attempts, request.body.isReplayable else { return nil }
        guard failure.error?.code != .cancelled, !Task.isCancelled else { return nil }
        let asked = failure.retryAfter
        let proposed = mayRepeat(request, after: failure, asked) ? wait(asked, number) : nil
        var wait = proposed
        if let decide {
            let attempt = Retry.FailedAttempt(
                request: request, number: number, response: failure.head, error: failure.error, retryAfter: asked,
                proposedWait: proposed?.duration)
            switch await decide(attempt).kind {
            case .asProposed: break
            case .stop: wait = nil
            case .again(let chosen?): wait = Wait(duration: chosen, mayEndEarly: false)
            case .again(nil): wait = proposed ?? self.wait(asked, number)
            }
        }
        guard let wait, fits(wait.duration, from: start, deadline) else { return nil }
        guard let budget else { return wait }
        return budget.withdraw(for: request.uri) ? wait : nil
    }

    /// True if the rules on statuses, errors and methods allow another attempt.
    private func mayRepeat(_ request: CurlewRequest, after failure: Failure, _ asked: Duration?) -> Bool {
        switch failure {
        case .error(let error):
            // A request without a connection was not sent, so its method does not matter.
            let isTransient =
                error.code.isTransient || error.code == .totalTimeout && request.options.attemptTimeout != nil
            return isTransient && (error.stage == .connecting || request.isIdempotent)
        case .response(let response):
            guard statuses.contains(response.status) else { return false }
            if request.isIdempotent { return true }
            // A server that names a time for another attempt has not processed this one (RFC 6585 §4, RFC 9110
            // §15.6.4).
            return asked != nil && response.status.refusesUnprocessed && request.options.isIdempotent != false
        }
    }

    /// The wait that the server asks for plus the backoff; nil beyond the limit.
    private func wait(_ asked: Duration?, _ number: Int) -> Wait? {
        policy.wait(after: number, asked: asked).map { Wait(duration: $0, mayEndEarly: asked == nil) }
    }

    /// True if the remaining time allows the wait and an attempt after it.
    private func fits(_ wait: Duration, from start: Duration, _ deadline: CallDeadline) -> Bool {
        if let remaining = deadline.remaining, wait >= remaining { return false }
        return policy.allows(wait, elapsed: timekeeper.elapsed() - start)
    }
}

extension RequestOptions {
    private enum MaximumAttemptsKey: Key {
        static let defaultValue: Int? = nil
        static let affectsResponse = false
    }

    private enum IsRepeatedKey: Key {
        static let defaultValue = false
        static let affectsResponse = false
    }

    /// True if ``Retry`` may send the request again, so its failure may be temporary.
    package var isRepeated: Bool {
        get { self[IsRepeatedKey.self] }
        set { self[IsRepeatedKey.self] = newValue }
    }

    /// The largest number of attempts of ``Retry`` for this request, including the first; 1 disables retries. nil
    /// selects the link's ``Retry/Policy/attempts``.
    public var maximumAttempts: Int? {
        get { self[MaximumAttemptsKey.self] }
        set { self[MaximumAttemptsKey.self] = newValue }
    }
}

extension Retry {
    /// A failed attempt, as ``Retry/decide`` receives it.
    public struct FailedAttempt: Sendable {
        /// The request that was sent.
        public let request: CurlewRequest
        /// The number of the attempt, from 1.
        public let number: Int
        /// The head of the response, with a status of 400 or more; nil if there was no response.
        public let response: HTTPResponse?
        /// The error; nil if there was a response.
        public let error: CurlewError?
        /// The wait that the server asks for by Retry-After, in seconds or as a date, zero or more; nil without a
        /// readable Retry-After. It may exceed ``Retry/Policy/retryAfterLimit``.
        public let retryAfter: Duration?
        /// The wait that the rules propose, including the backoff; nil if they propose no further attempt.
        public let proposedWait: Duration?
    }
}

extension Retry {
    /// The decision after a failed attempt.
    public struct Decision: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case asProposed
            case stop
            case again(Duration?)
        }

        let kind: Kind

        /// The rules decide.
        public static let asProposed = Retry.Decision(kind: .asProposed)
        /// No further attempt: the caller gets the response or the error.
        public static let stop = Retry.Decision(kind: .stop)
        /// Another attempt after the wait of Retry-After plus the backoff, or after the backoff alone without
        /// Retry-After. There is no further attempt if Retry-After exceeds ``Retry/Policy/retryAfterLimit``.
        public static let again = Retry.Decision(kind: .again(nil))
        /// Another attempt after the given wait, whatever the server asks for.
        public static func again(after wait: Duration) -> Retry.Decision { Retry.Decision(kind: .again(wait)) }
    }
}
