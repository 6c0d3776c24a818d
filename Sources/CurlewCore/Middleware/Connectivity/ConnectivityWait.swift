/// Waits for the network if a request could not connect because the network is away, then sends the request again.
///
/// The request is sent first, whatever the reported status of the network. If it finds no connection (the host is not
/// found, there is no route, connecting times out), the link looks at the status of the network. If the network is not
/// reachable, the link waits for a change, for at most ``limit`` and no longer than ``RequestOptions/totalTimeout``
/// allows. Then it sends the request again, and may wait again for the rest of the limit. In all other cases, and after
/// the limit, the link throws the error.
///
/// The method of the request does not matter, as no byte of the request was sent. A request whose body can be read only
/// once does not wait.
///
/// A session waits by itself if ``SessionConfiguration/connectivityTimeout`` is set, for every attempt that the outer
/// links make. The link is for other transports, and for other sources of the status than the session's.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     ConnectivityWait(updates: try ReachabilityMonitor().updates, limit: .seconds(60))
/// }
/// ```
public struct ConnectivityWait: CurlewMiddleware {
    /// The limit on the sum of all waits. Zero or less disables waiting. ``RequestOptions/connectivityTimeout`` takes
    /// precedence.
    public var limit: Duration
    /// Called before each wait, with the request and the error that caused the wait.
    public var onWait: (@Sendable (CurlewRequest, CurlewError) -> Void)?
    private let watch: NetworkChanges
    private let timekeeper: Timekeeper

    /// - Parameters:
    ///   - updates: The status of the network: the present one first, then each change.
    ///   - limit: The limit on the sum of all waits.
    ///   - clock: The clock that measures the waits.
    public init(
        updates: some AsyncSequence<ReachabilityStatus, Never> & Sendable, limit: Duration,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(NetworkChanges(updates), limit: limit, Timekeeper(clock))
    }

    init(_ watch: NetworkChanges, limit: Duration, _ timekeeper: Timekeeper = .continuous) {
        self.limit = limit
        self.watch = watch
        self.timekeeper = timekeeper
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        let limit = request.options.connectivityTimeout ?? limit
        guard limit > .zero else { return try await next(request) }
        let start = timekeeper.elapsed()
        // Only the outermost link waits: disable the option for the rest of the chain.
        var request = request
        request.options.connectivityTimeout = .zero
        do {
            return try await next(request)
        } catch let error as CurlewError where Self.mayWait(error, request) {
            return try await waiting(
                request, after: error, limit, CallDeadline(request.options, timekeeper, start: start), next)
        }
    }

    private func waiting(
        _ request: CurlewRequest, after first: CurlewError, _ limit: Duration, _ deadline: CallDeadline,
        _ next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        var left = limit
        var error = first
        var again = request
        while true {
            let begun = timekeeper.elapsed()
            guard try await isBack(request, after: error, within: min(left, deadline.remaining ?? left)) else {
                throw error
            }
            left -= timekeeper.elapsed() - begun
            try deadline.limit(&again)
            do {
                return try await next(again)
            } catch let newer as CurlewError where left > .zero && Self.mayWait(newer, request) {
                error = newer
            }
        }
    }

    /// Waits until the network is back.
    /// - Returns: False if the network was not away, or does not come back in time.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cancelled``.
    private func isBack(_ request: CurlewRequest, after error: CurlewError, within limit: Duration) async throws -> Bool
    {
        guard limit > .zero else { return false }
        let isBack = await timekeeper.first(within: limit) {
            await watch.isBack { onWait?(request, error) }
        }
        guard !Task.isCancelled else {
            let context = CurlewError.Context(
                method: request.method, uri: request.uri, showsQuery: request.options.showsQueries)
            throw CurlewError(.cancelled, "the task was cancelled while it waited for the network", context: context)
        }
        return isBack ?? false
    }

    /// True if a missing network may be the reason of a failure, and the request can be sent again.
    private static func mayWait(_ error: CurlewError, _ request: CurlewRequest) -> Bool {
        error.stage == .connecting && error.code.mayLackNetwork && request.body.isReplayable
    }
}

extension RequestOptions {
    private enum WaitsForConnectivityKey: SourceKey { static let defaultValue: Duration? = nil }

    /// The longest wait for a missing network to come back; see ``ConnectivityWait``. nil selects the session's
    /// ``SessionConfiguration/connectivityTimeout``; zero disables waiting.
    public var connectivityTimeout: Duration? {
        get { self[WaitsForConnectivityKey.self] }
        set { self[WaitsForConnectivityKey.self] = newValue }
    }
}
