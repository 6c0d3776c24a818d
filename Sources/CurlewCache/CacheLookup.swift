internal import HTTPTypes

/// The search for stored responses to a request.
struct CacheLookup: Sendable {
    /// The stored responses to a request.
    struct Found: Sendable {
        /// The entry that the request selects; the latest of several.
        var selected: HTTPCache.Entry?
        /// All entries that the request selects. A new response replaces them.
        var matching: [HTTPCache.Entry] = []
        /// True if the URI has entries for requests with other fields.
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

    /// The stored entries, the decision, and the body if an entry answers. This takes one call, because each call costs
    /// a change to the store's thread.
    func decide(_ judge: CacheJudge) async -> (Found, CacheDecision, CurlewResponse.Body?) {
        let looked = await ask { found in
            let decision = judge.decide(request, found.selected, at: request.time)
            return (found, decision, await body(for: decision))
        }
        return looked ?? (Found(), judge.decide(request, nil, at: request.time), nil)
    }

    /// The stored entries; nil if the store fails or takes too long.
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

    /// The body of the answering entry; nil if it has none, if the entry no longer exists, or if the store fails.
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
        // Complete entries precede parts, later entries precede earlier ones (RFC 9111 §4).
        let selected = matching.max { one, other in
            if (one.range == nil) != (other.range == nil) { return one.range != nil }
            return (one.rules.date, one.responseTime) < (other.rules.date, other.responseTime)
        }
        return Found(selected: selected, matching: matching, hasOthers: matching.count < entries.count)
    }
}
