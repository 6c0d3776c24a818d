internal import HTTPTypes

/// A link that spreads the requests to a host over its addresses, such as those of a headless service in Kubernetes.
///
/// libcurl reuses a connection, and so an address, for as long as possible. This link resolves a host itself, with the
/// system's resolver (`getaddrinfo`), and selects an address for each request: in turn, or with the fewest requests in
/// flight.
///
/// - Addresses are used for ``lifetime`` and then resolved again in the background. Meanwhile, and while the resolution
///   fails, requests use the old addresses. A request waits only for a host that was not resolved for ten lifetimes.
///   Simultaneous callers share a resolution. If the first resolution fails or takes more than five seconds, the
///   request is sent as without the link.
/// - An address that cannot be connected to is excluded for ten seconds, then for twice as long, and so on, up to five
///   minutes. The request tries the next address at once if its body is replayable, because nothing was sent. An
///   untrusted server does not count as such a failure.
/// - If every address is excluded, excluded addresses are used.
/// - A request is in flight from its start to the end of its response's body; over another transport than a session, to
///   the response's head.
/// - Requests to a host that is written as an address, with their own route, through a proxy or over a Unix socket are
///   passed on unchanged. The same holds for such settings of the session. ``ConnectionRoute/addressFamily`` and
///   ``AddressPolicy`` are obeyed.
///
/// ``ConnectionLimits/perHost`` applies to each address. The link stands after ``StandardChain``, so that it processes
/// each request, and an attempt of ``Retry`` uses another address:
///
/// ```swift
/// let api = try HTTPSession(baseURL: "http://birds.default.svc.cluster.local:8080/") {
///     StandardChain()
///     AddressBalancing(.leastPending)
/// }
/// ```
public struct AddressBalancing: CurlewMiddleware {
    /// The rule for selecting an address.
    public struct Strategy: RawRepresentable, Sendable, Hashable, Codable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Each address in turn.
        public static let roundRobin = Strategy(rawValue: "round-robin")
        /// The address with the fewest requests of this link in flight; equal ones in turn.
        public static let leastPending = Strategy(rawValue: "least-pending")
    }

    /// The most hosts whose addresses are kept. Beyond it, the least recently used host is evicted.
    public static let hostLimit = 1000
    /// The most addresses of a host that are used.
    public static let addressLimit = HostLookup.addressLimit

    /// The rule for selecting an address.
    public let strategy: Strategy
    /// The time after which addresses are resolved again.
    public let lifetime: Duration
    private let pool: AddressPool
    private let timekeeper: Timekeeper
    /// The longest wait for the first resolution of a host.
    private static let patience = Duration.seconds(5)

    /// - Parameters:
    ///   - strategy: The rule for selecting an address.
    ///   - lifetime: The time after which addresses are resolved again. 30 seconds by default.
    ///   - clock: The clock for these times.
    public init(
        _ strategy: Strategy = .roundRobin, lifetime: Duration = .seconds(30),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(strategy, lifetime: lifetime, lookup: HostLookup(), Timekeeper(clock))
    }

    init(_ strategy: Strategy, lifetime: Duration, lookup: HostLookup, _ timekeeper: Timekeeper = .continuous) {
        self.strategy = strategy
        self.lifetime = lifetime
        self.timekeeper = timekeeper
        pool = AddressPool(lookup, lifetime: lifetime, hostLimit: Self.hostLimit, timekeeper)
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard let route = request.openRoute, let host = OriginHost.name(request.uri.host) else {
            return try await next(request)
        }
        let deadline = CallDeadline(request.options, timekeeper, start: timekeeper.elapsed())
        var request = request
        if !pool.hasAddresses(of: host) {
            await timekeeper.first(within: min(Self.patience, deadline.remaining ?? Self.patience)) {
                await pool.addressesArrive(of: host)
            }
            guard !Task.isCancelled else {
                throw CurlewError(.cancelled, "the task was cancelled while a host was looked up").adding(request)
            }
            try deadline.limit(&request)
        }
        return try await send(request, to: host, route, deadline, next)
    }

    private func send(
        _ request: CurlewRequest, to host: String, _ route: ConnectionRoute, _ deadline: CallDeadline,
        _ next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        var tried: Set<IPAddress> = []
        var failure: CurlewError?
        while let use = pool.use(of: host, by: strategy, route.addressFamily, except: tried) {
            tried.insert(use.address)
            var attempt = request
            if failure != nil { try deadline.limit(&attempt) }
            var route = route
            let place = use.address.isIPv6 ? "[\(use.address)]" : use.address.description
            // A redirection instead of an override, because libcurl would keep each override permanently.
            route.redirections = [ConnectionRoute.Redirection(toHost: place, toPort: request.uri.port)]
            attempt.options.substituteRoute(route)
            attempt.watchers.append(use)
            do {
                let response = try await next(attempt)
                pool.succeeded(use)
                if response.exchange == nil { use.end() }
                return response
            } catch let error as CurlewError where error.isConnectFailureOfPlace {
                use.end()
                // An address that this request's policy forbids may be allowed for another request.
                if error.code != .addressForbidden { pool.failed(use) }
                guard request.body.isReplayable else { throw error }
                failure = error
            } catch {
                use.end()
                throw error
            }
        }
        if let failure { throw failure }
        return try await next(request)
    }
}
