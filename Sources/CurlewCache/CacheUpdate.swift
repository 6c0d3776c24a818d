internal import HTTPTypes

/// The changes that a response makes to the store: new entries, refreshed entries, and removals.
struct CacheUpdate {
    private let exchange: CacheExchange

    init(of exchange: CacheExchange) { self.exchange = exchange }

    private var cache: HTTPCache { _read { yield exchange.cache } }
    private var core: CacheCore { exchange.cache.core }
    private var request: CacheRequest { _read { yield exchange.request } }
    private var judge: CacheJudge { _read { yield exchange.judge } }

    // MARK: Storing

    /// - Returns: True if the response is going to be stored.
    func keep(_ response: inout CurlewResponse, _ found: CacheLookup.Found) async -> Bool {
        let now = cache.now()
        if request.request.method == .head {
            await compare(response, found, at: now)
            return false
        }
        if response.status == .notModified {
            // A 304 to the caller's own conditions updates the entries with the same validators.
            for entry in found.matching
            where response.fields.contains(entry.rules.hasEntityTag ? .eTag : .lastModified) {
                if CacheJudge.isValidated(entry, by: response.fields) { await refresh(entry, by: response) }
            }
            return false
        }
        // If links behind the cache have made another request, the response does not belong to the stored ones.
        guard let sent = request.credentials(asSentFor: response) else { return false }
        guard var entry = judge.entry(for: response, to: request, sent: sent, at: now) else {
            return await supersede(found, by: response, sent: sent)
        }
        if cache.honorsNoVarySearch, NoVarySearch(response.fields) != nil {
            entry = entry.moved(to: request.noVarySearchKey.uri)
        }
        if let willStore = cache.willStore {
            guard let chosen = await willStore(entry, request.request) else {
                return await supersede(found, by: response, sent: sent)
            }
            entry = chosen
        }
        var part: CachePart?
        if entry.range != nil {
            part = CachePart(entry, found.matching)
            if part?.isKnown == true {
                // The bytes of the part are already stored, so only its fields are updated.
                if let known = part?.known { await refresh(known, by: response) }
                return false
            }
        }
        let limit = (cache.entryLimit ?? cache.store.entryLimit).bytes
        guard (part?.joined ?? entry).bodySize <= Int64(limit) else {
            return await supersede(found, by: response, sent: sent)
        }
        let deposit = CacheDeposit(
            exchange: exchange, entry: part?.joined ?? entry, own: entry.bodySize, body: response.body, limit: limit,
            replaced: found.matching.map(\.id))
        guard await deposit.begin(behind: part?.prefix) else { return false }
        if response.fields.contains(.contentEncoding) {
            // The fault may be in a stored part that this one was joined to.
            let spoilt = [entry] + found.matching
            response.rejection = { [exchange] in
                deposit.fail()
                await CacheUpdate(of: exchange).remove(spoilt)
            }
        }
        response.body = .stream(
            CachingChunks(body: response.body, deposit: deposit), over: response.body, length: response.body.length)
        return true
    }

    /// Removes the entries that a response would have replaced if it could be stored (RFC 9111 §4.3.3).
    /// - Returns: False, because the response is not stored.
    private func supersede(
        _ found: CacheLookup.Found, by response: CurlewResponse, sent: CacheRequest.Credentials
    ) async -> Bool {
        let isReplaced = judge.replaces(response, to: request, sent: sent)
        if isReplaced, !found.matching.isEmpty { await remove(found.matching) }
        return false
    }

    /// Compares a response to HEAD with the stored entry (RFC 9111 §4.3.5).
    private func compare(_ response: CurlewResponse, _ found: CacheLookup.Found, at now: Int64) async {
        guard response.status == .ok, let entry = found.selected, entry.head.status == .ok else { return }
        if CacheJudge.isSame(entry, as: response.fields) {
            await settle(refreshed(entry, by: response, at: now), of: entry)
        } else {
            await remove(entry)
        }
    }

    // MARK: Refreshing

    /// Updates an entry with the fields of a 304 that applies to it.
    func refresh(_ entry: HTTPCache.Entry, by response: CurlewResponse) async {
        guard CacheJudge.isValidated(entry, by: response.fields) else { return }
        await settle(refreshed(entry, by: response, at: cache.now()), of: entry)
    }

    /// The entry after a 304 that applies to it.
    func refreshed(_ entry: HTTPCache.Entry, by response: CurlewResponse, at now: Int64) -> CacheJudge.Refreshed {
        let sent = request.credentials(asSentFor: response)
        return judge.refreshed(entry, by: response.fields, to: request, sent: sent, at: now)
    }

    /// Stores a refreshed entry, or removes one that must not be stored any longer.
    func settle(_ refreshed: CacheJudge.Refreshed, of entry: HTTPCache.Entry) async {
        guard core.isCurrent(request.key.uri, since: exchange.generation) else { return }
        switch refreshed.outcome {
        case .replaces: await update(refreshed.entry)
        case .leaves: break
        case .removes: await remove(entry)
        }
    }

    private func update(_ entry: HTTPCache.Entry) async {
        _ = await core.ask(.updating, within: cache.storeTimeout) { try await $0.update(entry) }
    }

    func remove(_ entry: HTTPCache.Entry) async { await remove([entry]) }

    private func remove(_ entries: [HTTPCache.Entry]) async {
        let ids = entries.map(\.id)
        _ = await core.ask(.removing, within: cache.storeTimeout) { try await $0.remove(.entries(ids)) }
    }
}
