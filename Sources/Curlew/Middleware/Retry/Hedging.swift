/// Sends a request a second time if its answer is slow in coming, and takes the answer that comes first.
///
/// It cuts off the rare long waits of a service whose requests mostly are quick, for the price of some more of them. Only
/// requests that are idempotent, or marked so (``RequestOptions/isIdempotent``), are sent twice, and only with a body that can
/// be read again. The first head wins, whatever its status; an error does not, as long as another attempt is under way. The
/// others are cancelled.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     Retry()
///     Hedging(after: .milliseconds(300))
/// }
/// ```
///
/// ``CurlewResponse/attempts`` counts them all.
public struct Hedging: CurlewMiddleware {
    /// The time that an attempt is given before the next begins.
    public var delay: Duration
    /// The largest number of attempts, the first included.
    public var maximum: Int
    /// The limit on the load that this adds. One of its own, unless no ``Retry`` counts its calls in the same.
    public var budget: Retry.Budget?
    private let timekeeper: Timekeeper

    /// - Parameters:
    ///   - delay: How long an attempt is waited for before the next begins: about what 19 of 20 answers take.
    ///   - maximum: How many attempts there are at most, the first included.
    ///   - budget: What limits the load that this adds.
    ///   - clock: What measures the delay.
    public init(
        after delay: Duration, maximum: Int = 2, budget: Retry.Budget? = Retry.Budget(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.delay = delay
        self.maximum = maximum
        self.budget = budget
        timekeeper = Timekeeper(clock)
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        budget?.deposit(for: request.uri)
        guard maximum > 1, request.isIdempotent, request.body.isReplayable else { return try await next(request) }
        // The group ends before this returns, so that nothing calls the chain afterwards.
        return try await withoutActuallyEscaping(next) { next in try await race(request, next) }
    }

    private enum Event: Sendable {
        case response(CurlewResponse)
        case failure(any Error)
        case delayIsOver
    }

    private func race(_ request: CurlewRequest, _ next: @escaping Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await withThrowingTaskGroup(of: Event.self) { group in
            var started = 0
            var underWay = 0
            func start() {
                started += 1
                underWay += 1
                var attempt = request
                // Joined with the first it would wait for the same answer.
                if started > 1, attempt.options.dispatch != nil { attempt.options.dispatch = nil }
                group.addTask { [attempt] in await Self.attempt(attempt, next) }
                guard started < maximum else { return }
                group.addTask { [delay, timekeeper] in
                    try? await timekeeper.sleep(for: delay)
                    return .delayIsOver
                }
            }
            defer { group.cancelAll() }
            start()
            while let event = try await group.next() {
                switch event {
                case .response(var response):
                    response.attempts += started - 1
                    return response
                case .failure(let error):
                    underWay -= 1
                    if underWay == 0 { throw Self.counted(error, attempts: started) }
                case .delayIsOver:
                    guard !Task.isCancelled, budget?.withdraw(for: request.uri) != false else { continue }
                    request.reporter?.hedging(request, attempt: started + 1)
                    start()
                }
            }
            throw CurlewError(.cancelled, "the task was cancelled")
        }
    }

    private static func attempt(_ request: CurlewRequest, _ next: Next<CurlewRequest, CurlewResponse>) async -> Event {
        do { return .response(try await next(request)) } catch { return .failure(error) }
    }

    private static func counted(_ error: any Error, attempts: Int) -> any Error {
        guard let error = error as? CurlewError else { return error }
        return error.adding(CurlewError.Context(attempts: attempts))
    }
}
