internal import HTTPTypes

/// A link that answers requests from a store where RFC 9111 allows it, and stores reusable responses.
///
/// It is an option of ``StandardChain``, and can be used in any chain. Its place is after links that change requests,
/// such as cookies and authentication, and before the network: it has to process requests and responses in the form in
/// which they are sent.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/", chain: .caching())
/// let response = try await api.get("birds", options: RequestOptions().setting(\.cachePolicy, to: .noCache))
/// print(response.cacheStatus)
/// ```
///
/// - A response to GET is stored, and answers GET and HEAD. A response to QUERY is stored by the request's content, and
///   answers QUERY with the same content (RFC 10008). The content must be replayable and have at most 1 MiB. Other
///   requests with a body, and those with a field that overrides the method, bypass the cache.
/// - ``Mode-swift.struct`` determines the users whose responses are stored. By default, requests with credentials
///   bypass the cache, unless ``RequestOptions/cachePartition`` names their user.
/// - A body is stored while it is read. A body that breaks off is never stored. A body that is not read to its end is
///   stored only with ``finishesAbandonedBodies``.
/// - A store that fails, or takes longer than ``storeTimeout``, is ignored and reported once in ``events``.
/// - Responses to unsafe methods remove the stored responses of their URI, and those of Location and Content-Location.
///
/// The article "Caching" has the rules in tables. Copies of the link share the store, the statistics and the events.
public struct HTTPCache: CurlewMiddleware {
    /// The users whose responses the cache holds.
    public let mode: Mode
    /// The store of the cache.
    public let store: any HTTPCache.Store
    /// The longest heuristic lifetime of a response without explicit freshness. One day by default; zero disables
    /// heuristics.
    ///
    /// The heuristic lifetime is a tenth of the time since the last modification (RFC 9111 §4.2.2).
    public var heuristicLimit: Duration = .seconds(86_400)
    /// True if a stale response is used where the server cannot be reached or answers 500, 502, 503 or 504, unless the
    /// response forbids it. False by default: only `stale-if-error` allows it.
    public var servesStaleOnFailure = false
    /// True if a body that its reader abandons is read to its end and stored. False by default: it is not stored.
    public var finishesAbandonedBodies = false
    /// The most bytes of a stored body; nil means the store's ``HTTPCache/Store/entryLimit``.
    public var entryLimit: ByteSize?
    /// True if the cache obeys No-Vary-Search: a response then also answers requests whose queries differ only in the
    /// ignored parameters.
    public var honorsNoVarySearch = false
    /// True if concurrent equal requests for a stored response that has become stale are joined, as by ``Coalescing``.
    /// They share a response that is fresh. True by default. For responses that were never stored, use ``Coalescing``.
    public var coalesces = true
    /// The name of the cache for a Cache-Status field (RFC 9211) in responses; nil, the default, adds no field.
    public var statusName: String?
    /// The longest time that a request waits for a store outside memory. 250 milliseconds by default.
    public var storeTimeout: Duration = .milliseconds(250)
    /// A hook that gets an entry before it is stored, and its request. It may change the fields, or return nil to
    /// refuse the storing. It runs before the body is read.
    public var willStore: (@Sendable (HTTPCache.Entry, CurlewRequest) async -> HTTPCache.Entry?)?
    let core: CacheCore
    private let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - store: The store of the responses.
    ///   - mode: The users whose responses the cache holds.
    ///   - clock: The time, in seconds since the beginning of 1970, UTC.
    public init(
        store: any HTTPCache.Store = HTTPCache.MemoryStore(), mode: Mode = .private,
        clock: @escaping @Sendable () -> Int64 = HTTPCache.systemTime
    ) {
        self.store = store
        self.mode = mode
        self.clock = clock
        core = CacheCore(store: store)
    }

    /// The time of the system, in seconds since 1970.
    @Sendable public static func systemTime() -> Int64 { HTTPDate.now.secondsSince1970 }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        // A response that switches protocols is a connection, which cannot be stored.
        guard !request.options.isAnySet || request.options.upgradeProtocol == nil else {
            return try await next(request)
        }
        guard request.method == .query else { return try await answer(CacheRequest(request, at: clock()), next) }
        return try await answer(await query(request), next)
    }

    /// A QUERY with its content. The body is read here, because the key contains it; but only if the cache may be used.
    private func query(_ original: CurlewRequest) async -> CacheRequest {
        guard original.options.cachePolicy != .noStore, let content = await QueryContent(reading: original)
        else { return CacheRequest(original, at: clock()) }
        var request = original
        request.body = content.body
        return CacheRequest(request, at: clock(), content: content)
    }

    private func answer(_ seen: CacheRequest, _ next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard seen.isCacheable, seen.policy != .noStore, seen.hasKnownSource, admits(seen) else {
            return try await bypass(seen, next)
        }
        let exchange = CacheExchange(cache: self, request: seen, generation: core.generation)
        return try await exchange.perform(next)
    }

    /// True if the mode of the cache admits the credentials of the request.
    private func admits(_ request: CacheRequest) -> Bool {
        if mode == .singleUser || request.partition != nil { return true }
        let credentials = request.credentials
        return mode == .shared ? !credentials.contains(.other) : credentials.isEmpty
    }

    private func bypass(_ request: CacheRequest, _ next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        if request.policy == .onlyIfCached {
            return CacheExchange(cache: self, request: request, generation: 0).unavailable
        }
        var response = try await next(request.request)
        core.count { $0.bypasses += 1 }
        response.cacheStatus = .bypass
        if let statusName {
            let reason = request.isCacheable ? CacheStatusField.Reason.bypass : .method
            CacheStatusField(name: statusName, status: .bypass, reason: reason).add(to: &response.fields)
        }
        if request.isUnsafe, (200..<400).contains(response.status.code) {
            await core.invalidate(Self.invalidated(by: response, to: request), within: storeTimeout)
        }
        return response
    }

    /// The URIs whose stored responses an unsafe request invalidates (RFC 9111 §4.4).
    private static func invalidated(by response: CurlewResponse, to request: CacheRequest) -> [String] {
        var uris = [request.key.uri, NoVarySearch.key(of: request.request.uri)]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let text = response.fields[name], let uri = try? request.request.uri.resolving(text),
                uri.hasSameOrigin(as: request.request.uri)
            else { continue }
            uris += [CacheRequest.key(of: uri), NoVarySearch.key(of: uri)]
        }
        return uris
    }

    func now() -> Int64 { clock() }

    var judge: CacheJudge {
        CacheJudge(
            mode: mode, heuristicLimit: max(0, heuristicLimit.components.seconds),
            servesStaleOnFailure: servesStaleOnFailure)
    }

    // MARK: Inspection and removal

    /// The longest time that a removing call waits for the store: 30 seconds.
    public static let removalTimeout = Duration.seconds(30)

    /// Removes all stored responses, in all partitions.
    /// - Throws: The error of the store, or ``ErrorCode/cacheFailed`` after ``removalTimeout``; the store may then
    ///   still be removing.
    public func removeAll() async throws { try await core.remove(.all) }

    /// Removes the responses that arrived or were validated at a time or later.
    /// - Parameter seconds: The time, in seconds since 1970.
    /// - Throws: The errors of ``removeAll()``.
    public func removeAll(since seconds: Int64) async throws { try await core.remove(.since(seconds)) }

    /// Removes the stored responses of a URI, in all partitions.
    /// - Throws: The errors of ``removeAll()``.
    public func remove(_ uri: CurlewURI) async throws {
        try await core.remove(.uris([CacheRequest.key(of: uri), NoVarySearch.key(of: uri)]))
    }

    /// Waits until the store has taken all bodies that were read to their end.
    public func flush() async { await core.flush() }

    /// The statistics of the cache since it was made.
    public var figures: Figures { core.figures }

    /// The events from now on. A listener that is more than 1,000 events behind loses the oldest.
    public var events: AsyncStream<Event> { core.events.listen() }
}

extension HTTPCache {
    /// The statistics of a cache.
    public struct Figures: Sendable, Hashable {
        /// Responses from the store that were fresh, or accepted regardless of their age.
        public internal(set) var hits = 0
        /// Responses from the network, because no stored response could serve.
        public internal(set) var misses = 0
        /// Responses from the store that the server validated.
        public internal(set) var revalidations = 0
        /// Responses from the store that were stale.
        public internal(set) var staleHits = 0
        /// Requests that did not use the cache.
        public internal(set) var bypasses = 0
        /// Responses that were shared with an equal request at the same time.
        public internal(set) var coalesced = 0
        /// Responses that were stored.
        public internal(set) var stored = 0
        /// Bytes of bodies that came from the store.
        public internal(set) var servedBytes: Int64 = 0
        /// Bytes of bodies that were stored.
        public internal(set) var storedBytes: Int64 = 0
        /// Failures of the store, each counted.
        public internal(set) var storeFailures = 0
    }

    /// An event in a cache.
    public enum Event: Sendable {
        /// A request was answered; the status is the cache's part in the response.
        case answered(HTTPCache.Entry.Key, Status)
        /// A response was stored.
        case stored(HTTPCache.Entry)
        /// The stored responses of some URIs were removed, because the resources were changed.
        case invalidated([String])
        /// Calls of the store fail, and the cache continues without it. Each kind of call (finding, reading, writing,
        /// updating and removing) is reported once, until such a call has succeeded.
        case storeFailed(CurlewError)
    }
}
