internal import HTTPTypes

/// The way from a request to what is stored for it.
struct CacheLookup: Sendable {
    /// What is stored for the request.
    struct Found: Sendable {
        /// The entry that the request selects; the latest, if it selects several.
        var selected: HTTPCache.Entry?
        /// All that it selects: what a new response replaces.
        var matching: [HTTPCache.Entry] = []
        /// True if there is something for the URI, but for requests with other fields.
        var hasOthers = false
    }

    private let core: CacheCore
    private let request: CacheRequest
    private let storeTimeout: Duration
    private let honorsNoVarySearch: Bool

    init(core: CacheCore, request: CacheRequest, cache: HTTPCache) {
        self.core = core
        self.request = request
        storeTimeout = cache.storeTimeout
        honorsNoVarySearch = cache.honorsNoVarySearch
    }

    /// What is stored, what to do, and if that is to answer, the body: in one call, as each costs a hop to the store's thread.
    func decide(_ judge: CacheJudge) async -> (Found, CacheDecision, CurlewResponse.Body?) {
        let looked = await ask { found in
            let decision = judge.decide(request, found.selected, at: request.time)
            return (found, decision, await body(for: decision))
        }
        return looked ?? (Found(), judge.decide(request, nil, at: request.time), nil)
    }

    /// What is stored; nil if the store cannot be asked, or not in time.
    func found() async -> Found? { await ask { $0 } }

    /// True if an entry is going to answer with bytes of its body.
    func hasBody(_ decision: CacheDecision) -> Bool {
        decision.served.flatMap { CacheAnswer(request, $0, age: 0)?.stored } != nil
    }

    private func ask<Value: Sendable>(_ use: @escaping @Sendable (Found) async throws -> Value) async -> Value? {
        guard !core.mustIgnore(request.key.uri) else { return nil }
        let pending = core.store.isImmediate ? [] : core.pending(request.key)
        return await core.ask(.finding, within: storeTimeout) { store in
            for task in pending { await task.value }
            return try await use(try await find(store))
        }
    }

    /// The body of the entry that is going to answer; nil if it has none, if the entry has gone, or if the store fails.
    private func body(for decision: CacheDecision) async -> CurlewResponse.Body? {
        guard let entry = decision.served, let range = CacheAnswer(request, entry, age: 0)?.stored else { return nil }
        do {
            let body = try await core.store.body(of: entry, range: range)
            core.succeeded(.reading)
            return body
        } catch {
            core.report(error, of: .reading)
            return nil
        }
    }

    private func find(_ store: any HTTPCache.Store) async throws -> Found {
        var entries = try await store.entries(for: request.key)
        let key = request.noVarySearchKey
        if honorsNoVarySearch, !core.mustIgnore(key.uri) {
            let query = request.request.uri.query
            entries += try await store.entries(for: key).filter { NoVarySearch.isFound($0, by: query) }
        }
        guard !entries.isEmpty else { return Found() }
        if entries.count == 1, entries[0].selectors.isEmpty { return Found(selected: entries[0], matching: entries) }
        let matching = entries.filter {
            $0.selectors.isEmpty || CacheVariant.matches($0.selectors, request.request)
        }
        // Whole ones go before parts, later ones before earlier ones (RFC 9111 §4).
        let selected = matching.max { one, other in
            if (one.range == nil) != (other.range == nil) { return one.range != nil }
            return (one.rules.date, one.responseTime) < (other.rules.date, other.responseTime)
        }
        return Found(selected: selected, matching: matching, hasOthers: matching.count < entries.count)
    }
}
