/// Sends a request a second time if its response is slow, and returns the response that arrives first.
///
/// It shortens the rare long waits for a service that usually responds quickly, at the price of some extra requests.
/// Only requests that are idempotent, or marked so (``RequestOptions/isIdempotent``), and whose body can be read again
/// are sent twice. The first head wins, whatever its status. An error does not win as long as another attempt is
/// running. The other attempts are cancelled.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     Retry()
///     Hedging(after: .milliseconds(300))
/// }
/// ```
///
/// ``CurlewResponse/attempts`` counts all attempts.
public struct Hedging: CurlewMiddleware {
    /// The time after the start of an attempt at which the next one begins.
    public var delay: Duration
    /// The largest number of attempts, including the first.
    public var maximum: Int
    /// The limit on the added load. It must not be the budget of a ``Retry`` for the same calls, as both would count
    /// each call.
    public var budget: Retry.Budget?
    private let timekeeper: Timekeeper

    /// - Parameters:
    ///   - delay: The time after the start of an attempt at which the next one begins. The time in which 19 of 20
    ///     responses arrive is a good value.
    ///   - maximum: The largest number of attempts, including the first.
    ///   - budget: The limit on the added load.
    ///   - clock: The clock that measures the delay.
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
        // The group ends before this function returns, so that no attempt calls the chain afterwards.
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
                // A second attempt that is joined with the first would wait for the same response.
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
