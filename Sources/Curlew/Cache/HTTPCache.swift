internal import HTTPTypes

/// Answers requests from a store where RFC 9111 allows it, and keeps there what may be used again.
///
/// It is part of ``StandardChain`` by option, and may stand in any chain: behind what changes requests, such as cookies and
/// authentication, and before the network, so that it sees requests and responses as they are on the wire.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/", chain: .caching())
/// let response = try await api.get("birds", options: RequestOptions().setting(\.cachePolicy, to: .noCache))
/// print(response.cacheStatus)
/// ```
///
/// - GET is stored, and answers GET and HEAD. QUERY is stored by its content, too, up to 1 MiB that can be read again, and answers QUERY with the
///   same content (RFC 10008). Other requests with a body, and those with a field that overrides the method, bypass the cache.
/// - ``Mode-swift.struct`` says whose responses it holds. By default requests with credentials bypass it, unless
///   ``RequestOptions/cachePartition`` says whose they are.
/// - A body is stored while its reader reads it. One that was cut short is never stored, and one that is not read to its end only
///   by ``finishesAbandonedBodies``.
/// - A store that fails, or takes longer than ``storeTimeout``, is done without, and reported once in ``events``.
/// - Responses to unsafe methods remove what is stored for their URI, and for those of Location and Content-Location.
///
/// The article "Caching" has the rules in tables. Copies of the link share store, figures and events.
public struct HTTPCache: CurlewMiddleware {
    /// Whose responses the cache holds.
    public let mode: Mode
    /// What it keeps them in.
    public let store: any HTTPCache.Store
    /// The longest time for which a response without a word on its freshness is taken for fresh: a tenth of the time since it was last
    /// modified (RFC 9111 §4.2.2), and not more than this. One day by default; zero never guesses.
    public var heuristicLimit: Duration = .seconds(86_400)
    /// True if a stored response that is not fresh is used where the server cannot be reached, or answers 500, 502, 503 or 504, unless
    /// the response forbids it. False by default: only where `stale-if-error` allows it.
    public var servesStaleOnFailure = false
    /// True if a body that its reader leaves is read on, and stored. False by default: it is not stored.
    public var finishesAbandonedBodies = false
    /// The most bytes of a body that is stored; nil is the store's ``HTTPCache/Store/entryLimit``.
    public var entryLimit: ByteSize?
    /// True if No-Vary-Search is heeded: responses then also answer requests whose queries differ in what it names.
    public var honorsNoVarySearch = false
    /// True if equal requests for something that was stored, and is no longer fresh, are joined while one of them is under way, as
    /// ``Coalescing`` does; they share a response that is fresh. True by default. For what was never stored there is ``Coalescing``.
    public var coalesces = true
    /// The name of the cache in the Cache-Status field (RFC 9211) that it then adds to responses; nil, the default, adds none.
    public var statusName: String?
    /// The longest time that a request waits for a store that is not in memory. 250 milliseconds by default.
    public var storeTimeout: Duration = .milliseconds(250)
    /// The hook that sees what is going to be stored, and the request that it answers. It may change the fields, or refuse by nil. It
    /// runs before the body is read.
    public var willStore: (@Sendable (HTTPCache.Entry, CurlewRequest) async -> HTTPCache.Entry?)?
    let core: CacheCore
    private let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - store: What responses are kept in.
    ///   - mode: Whose responses they are.
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
        guard request.method == .query else { return try await answer(CacheRequest(request, at: clock()), next) }
        return try await answer(await query(request), next)
    }

    /// A QUERY with its content, which is read here, as its bytes are in the key; only if the cache may be used at all.
    private func query(_ original: CurlewRequest) async -> CacheRequest {
        guard original.options.cachePolicy != .noStore, let content = await QueryContent(reading: original) else {
            return CacheRequest(original, at: clock())
        }
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

    /// True if the request is one of those that the cache is for.
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

    /// The URIs whose stored responses an unsafe request makes worthless (RFC 9111 §4.4).
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

    // MARK: What there is

    /// The longest time that a call which removes responses waits for the store: 30 seconds.
    public static let removalTimeout = Duration.seconds(30)

    /// Removes all that is stored, in every partition.
    /// - Throws: What the store throws, and ``ErrorCode/cacheFailed`` after ``removalTimeout``; the store may go on removing then.
    public func removeAll() async throws { try await core.remove(.all) }

    /// Removes what came, or was validated, at a time or later.
    /// - Parameter seconds: The time, in seconds since 1970.
    /// - Throws: As ``removeAll()``.
    public func removeAll(since seconds: Int64) async throws { try await core.remove(.since(seconds)) }

    /// Removes what is stored for a URI, in every partition.
    /// - Throws: As ``removeAll()``.
    public func remove(_ uri: CurlewURI) async throws {
        try await core.remove(.uris([CacheRequest.key(of: uri), NoVarySearch.key(of: uri)]))
    }

    /// Waits until the store has taken what was read to its end.
    public func flush() async { await core.flush() }

    /// What the cache has done since it was made.
    public var figures: Figures { core.figures }

    /// What happens from now on. A listener that is behind by more than 1,000 loses the oldest.
    public var events: AsyncStream<Event> { core.events.listen() }
}

extension HTTPCache {
    /// What a cache has done.
    public struct Figures: Sendable, Hashable {
        /// The responses from the store that were fresh, or taken as they were.
        public internal(set) var hits = 0
        /// The responses from the network to requests that nothing in the store could serve.
        public internal(set) var misses = 0
        /// The responses from the store that the server validated.
        public internal(set) var revalidations = 0
        /// The responses from the store that were not fresh.
        public internal(set) var staleHits = 0
        /// The requests that the cache had nothing to do with.
        public internal(set) var bypasses = 0
        /// The responses that were shared with an equal request under way.
        public internal(set) var coalesced = 0
        /// The responses that were stored.
        public internal(set) var stored = 0
        /// The bytes of bodies that came from the store.
        public internal(set) var servedBytes: Int64 = 0
        /// The bytes of bodies that were stored.
        public internal(set) var storedBytes: Int64 = 0
        /// The failures of the store, each counted.
        public internal(set) var storeFailures = 0
    }

    /// Something that happened in a cache.
    public enum Event: Sendable {
        /// A request was answered, and the part that the cache had in it.
        case answered(HTTPCache.Entry.Key, Status)
        /// A response was stored.
        case stored(HTTPCache.Entry)
        /// URIs lost what was stored for them, as something was changed there.
        case invalidated([String])
        /// Calls of the store fail, and the cache goes on without it: once for finding, reading, writing, updating and removing each, until such a call
        /// has succeeded.
        case storeFailed(CurlewError)
    }
}

/// What the copies of a cache share: its figures, its listeners, and what is under way.
final class CacheCore: Sendable {
    private struct State {
        var figures = HTTPCache.Figures()
        var failing: Set<StoreCall> = []
        /// Entries that are validated behind their callers' backs.
        var validating: Set<HTTPCache.Entry.ID> = []
        /// What is being stored by tasks of its own, so that who comes next finds it.
        var pending: [HTTPCache.Entry.Key: [Int: Task<Void, Never>]] = [:]
        var nextPending = 0
        /// The invalidations of late, by their numbers: what was asked for before is not stored.
        var invalidations: [String: UInt64] = [:]
        var generation: UInt64 = 0
        var floor: UInt64 = 0
        /// URIs that the store failed to forget.
        var unforgotten: Set<String> = []
        var ignoresStore = false
        /// The calls of the store that take longer than they may.
        var stalled = 0
    }

    let store: any HTTPCache.Store
    let events = Broadcaster<HTTPCache.Event>(bufferSize: 1000)
    let coalescing = Coalescing()
    private let deadlines = Deadlines()
    /// Apart from the calls of a request, which have less time.
    private let removalDeadlines = Deadlines()
    private let state = Guarded(State())
    /// So many invalidations are remembered.
    private static let memory = 1024

    private let removalTimeout: Duration

    init(store: any HTTPCache.Store, removalTimeout: Duration = HTTPCache.removalTimeout) {
        self.store = store
        self.removalTimeout = removalTimeout
    }

    deinit { events.finish() }

    var figures: HTTPCache.Figures { state.withLock { $0.figures } }

    func count(_ change: (inout HTTPCache.Figures) -> Void) { state.withLock { change(&$0.figures) } }

    // MARK: The store

    /// The kinds of calls of a store. One kind may fail while others work, as on a disk that is full.
    enum StoreCall: Sendable, Hashable {
        case finding, reading, writing, updating, removing
    }

    /// Notes that calls of a kind fail. Listeners are notified once, until such a call has succeeded.
    func report(_ error: any Error, of call: StoreCall) {
        let isFirst = state.withLock { state in
            state.figures.storeFailures += 1
            return state.failing.insert(call).inserted
        }
        guard isFirst else { return }
        let failure = error as? CurlewError ?? CurlewError(.cacheFailed, "the cache's store failed", underlying: error)
        events.publish(.storeFailed(failure))
    }

    /// Notes that a call of a kind has succeeded.
    func succeeded(_ call: StoreCall) {
        state.withLock { if !$0.failing.isEmpty { $0.failing.remove(call) } }
    }

    func remove(_ selection: HTTPCache.Selection) async throws {
        state.withLock { state in
            state.generation += 1
            state.floor = state.generation
        }
        let isDone = try await removalDeadlines.outcome(
            of: { [self] in
                try await store.remove(selection)
                if selection.isAll { state.withLock { ($0.unforgotten, $0.ignoresStore) = ([], false) } }
                return true
            }, within: removalTimeout)
        guard isDone != nil else { throw CurlewError(.cacheFailed, "the cache's store takes too long to remove") }
    }

    /// Calls the store, and waits for it no longer than it may take. As long as a call that took longer has not ended, the store is not
    /// called. Failures are reported.
    /// - Returns: nil if the call fails, takes too long, or is not made.
    @discardableResult
    func ask<Value: Sendable>(
        _ call: StoreCall, within limit: Duration,
        _ work: @escaping @Sendable (any HTTPCache.Store) async throws -> Value
    ) async -> Value? {
        let store = store
        do {
            let value: Value?
            if store.isImmediate {
                value = try await work(store)
            } else {
                guard !isStalled else { return nil }
                value = try await deadlines.outcome(
                    of: { try await work(store) }, within: limit,
                    onLateEnd: { [weak self] in self?.state.withLock { $0.stalled -= 1 } })
            }
            if value == nil {
                state.withLock { $0.stalled += 1 }
                throw CurlewError(.cacheFailed, "the cache's store takes too long")
            }
            succeeded(call)
            return value
        } catch {
            report(error, of: call)
            return nil
        }
    }

    var isStalled: Bool { state.withLock { $0.stalled > 0 } }

    func invalidate(_ uris: [String], within limit: Duration) async {
        state.withLock { state in
            state.generation += 1
            if state.invalidations.count + uris.count > Self.memory {
                state.invalidations = [:]
                state.floor = state.generation
            }
            for uri in uris { state.invalidations[uri] = state.generation }
        }
        if await ask(.removing, within: limit, { try await $0.remove(.uris(uris)) }) == nil {
            state.withLock { state in
                // What may not be used is then not looked for, until all is removed.
                if state.unforgotten.count + uris.count > Self.memory { state.ignoresStore = true }
                if !state.ignoresStore { state.unforgotten.formUnion(uris) }
            }
        }
        if events.hasListeners { events.publish(.invalidated(uris)) }
    }

    /// The number of the last invalidation.
    var generation: UInt64 { state.withLock { $0.generation } }

    /// True if what was asked for at a generation is still to be stored.
    func isCurrent(_ uri: String, since generation: UInt64) -> Bool {
        state.withLock { generation >= $0.floor && generation >= ($0.invalidations[uri] ?? 0) }
    }

    /// True if the store may hold what was invalidated.
    func mustIgnore(_ uri: String) -> Bool {
        state.withLock { $0.ignoresStore || $0.unforgotten.contains(uri) }
    }

    /// What was stored anew is no longer what was invalidated.
    func remembers(_ uri: String) { state.withLock { _ = $0.unforgotten.remove(uri) } }

    // MARK: What is under way

    /// - Returns: Whether the entry is now validated by the caller, and was by nobody.
    func beginValidation(of id: HTTPCache.Entry.ID) -> Bool { state.withLock { $0.validating.insert(id).inserted } }

    func endValidation(of id: HTTPCache.Entry.ID) { state.withLock { _ = $0.validating.remove(id) } }

    /// Has those who look for the key wait for a task that stores there.
    func begin(_ key: HTTPCache.Entry.Key, _ work: @escaping @Sendable () async -> Void) {
        // Under the lock, so that the end does not come before it is noted.
        state.withLock { state in
            let number = state.nextPending
            state.nextPending += 1
            let task = Task { [weak self] in
                await work()
                self?.end(key, number)
            }
            state.pending[key, default: [:]][number] = task
        }
    }

    private func end(_ key: HTTPCache.Entry.Key, _ number: Int) {
        state.withLock { state in
            state.pending[key]?[number] = nil
            if state.pending[key]?.isEmpty == true { state.pending[key] = nil }
        }
    }

    /// What is being stored under a key.
    func pending(_ key: HTTPCache.Entry.Key) -> [Task<Void, Never>] {
        state.withLock { $0.pending.isEmpty ? [] : $0.pending[key].map { Array($0.values) } ?? [] }
    }

    func flush() async {
        while true {
            let tasks = state.withLock { $0.pending.values.flatMap(\.values) }
            guard !tasks.isEmpty else { return }
            for task in tasks { await task.value }
        }
    }
}
