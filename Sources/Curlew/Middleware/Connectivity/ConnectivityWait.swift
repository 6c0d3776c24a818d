/// Waits for the network when a request could not connect because there is none, then sends it again.
///
/// The request is sent first, whatever is known of the network. Only if no connection came about (the host was not found,
/// there was no route, the time for connecting was over) the network is looked at; only if it is not reachable the link
/// waits for a change, ``limit`` at most and no longer than ``RequestOptions/totalTimeout`` allows. Then it tries again, and
/// waits again if need be, for what is left. In all other cases, and when the time is over, the caller gets the error.
///
/// Nothing of the request was sent in the meantime, so its method does not matter; but a body that can be read only once
/// ends the matter.
///
/// A session does this by itself if ``SessionConfiguration/connectivityTimeout`` says so, for every attempt of the links
/// around it. The link is for other transports, and for watching something else than the session would.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     ConnectivityWait(updates: try ReachabilityMonitor().updates, limit: .seconds(60))
/// }
/// ```
public struct ConnectivityWait: CurlewMiddleware {
    /// The longest wait, in all. Zero and less wait for nothing; ``RequestOptions/connectivityTimeout`` goes
    /// before it.
    public var limit: Duration
    /// Called before each wait, with the request and the error that it waits after.
    public var onWait: (@Sendable (CurlewRequest, CurlewError) -> Void)?
    private let watch: NetworkChanges
    private let timekeeper: Timekeeper

    /// - Parameters:
    ///   - updates: The status of the network: first as it is now, then each change.
    ///   - limit: How long is waited at most, in all.
    ///   - clock: What measures the waits.
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
        // One waits, and not one after the other: whatever follows is not to wait as well.
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
    /// - Returns: False if it was not away, or does not come back in time.
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

    /// True if a lack of network may be the reason of a failure, and the request can be sent once more.
    private static func mayWait(_ error: CurlewError, _ request: CurlewRequest) -> Bool {
        error.stage == .connecting && error.code.mayLackNetwork && request.body.isReplayable
    }
}

extension RequestOptions {
    private enum WaitsForConnectivityKey: SourceKey { static let defaultValue: Duration? = nil }

    /// The longest wait for the network to come back if there is none; see ``ConnectivityWait``. nil is the session's
    /// ``SessionConfiguration/connectivityTimeout``; zero waits for nothing.
    public var connectivityTimeout: Duration? {
        get { self[WaitsForConnectivityKey.self] }
        set { self[WaitsForConnectivityKey.self] = newValue }
    }
}
