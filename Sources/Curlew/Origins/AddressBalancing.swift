internal import HTTPTypes

/// Spreads the requests to a host over its addresses, as a headless service of Kubernetes has them.
///
/// libcurl keeps to a connection for as long as it can, and so to one address. This link looks a host up itself, as the system
/// does (`getaddrinfo`), and picks one of its addresses for each request, by turns or by the least number of requests under
/// way.
///
/// - Addresses are kept for ``lifetime`` and then looked up anew beside the requests, which use the old ones meanwhile, and for
///   as long as the look-up fails. Only a host that was not asked for ten lifetimes is waited for. Simultaneous callers share a
///   look-up. Where the first one fails or takes more than five seconds, the request is sent as without the link.
/// - An address that cannot be connected to is left out for ten seconds, then for twice as long, and so on, up to five minutes.
///   The request tries the next one at once if its body can be sent again: nothing of it was sent. A server that is not trusted
///   is no such case.
/// - When every address is left out, they are tried all the same.
/// - A request counts as under way from its start to the end of its response's body; over another transport than a session, to
///   the head.
/// - Requests to a host that is written as an address, with a route of their own, through a proxy or over a Unix socket are
///   left alone. The same holds where the session says so. ``ConnectionRoute/addressFamily`` and ``AddressPolicy`` hold.
///
/// ``ConnectionLimits/perHost`` holds for each address. It is written after ``StandardChain``, so that it sees each request,
/// and an attempt that ``Retry`` makes goes to another address:
///
/// ```swift
/// let api = try HTTPSession(baseURL: "http://birds.default.svc.cluster.local:8080/") {
///     StandardChain()
///     AddressBalancing(.leastPending)
/// }
/// ```
public struct AddressBalancing: CurlewMiddleware {
    /// The way in which an address is picked.
    public struct Strategy: RawRepresentable, Sendable, Hashable, Codable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// One after the other.
        public static let roundRobin = Strategy(rawValue: "round-robin")
        /// The one with the fewest requests under way from this link; of several, one after the other.
        public static let leastPending = Strategy(rawValue: "least-pending")
    }

    /// The most hosts whose addresses are kept; the one that was not used for longest goes.
    public static let hostLimit = 1000
    /// The most addresses of a host that are used.
    public static let addressLimit = HostLookup.addressLimit

    /// The way in which an address is picked.
    public let strategy: Strategy
    /// The time after which addresses are looked up anew.
    public let lifetime: Duration
    private let pool: AddressPool
    private let timekeeper: Timekeeper
    /// The longest wait for the first look-up of a host.
    private static let patience = Duration.seconds(5)

    /// - Parameters:
    ///   - strategy: The way in which an address is picked.
    ///   - lifetime: The time after which addresses are looked up anew. 30 seconds by default.
    ///   - clock: What measures.
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
            // A redirection and no override, as libcurl would keep each override for good.
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
                // What the policy of this request forbids another one may allow.
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
