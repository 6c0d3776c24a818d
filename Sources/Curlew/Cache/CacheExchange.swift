internal import HTTPTypes

/// One request through a cache: looks up, decides, asks, stores.
///
/// One reference: the cache that it holds has half a dozen, which all requests share, and would be counted at each call.
final class CacheExchange: Sendable {
    typealias Next = Curlew.Next<CurlewRequest, CurlewResponse>

    let cache: HTTPCache
    let request: CacheRequest
    /// The number of the last invalidation when the request came.
    let generation: UInt64

    private let judge: CacheJudge

    init(cache: HTTPCache, request: CacheRequest, generation: UInt64) {
        self.cache = cache
        self.request = request
        self.generation = generation
        judge = cache.judge
    }

    private var core: CacheCore { cache.core }
    private var key: CacheEntry.Key { request.key }

    /// What is stored for the request.
    struct Found: Sendable {
        /// The entry that the request selects; the latest, if it selects several.
        var selected: CacheEntry?
        /// All that it selects: what a new response replaces.
        var matching: [CacheEntry] = []
        /// True if there is something for the URI, but for requests with other fields.
        var hasOthers = false
    }

    func perform(_ next: Next) async throws -> CurlewResponse {
        var (found, decision, body) = await decide()
        // Replaced between the two: what has taken its place is as good, and the server need not be asked.
        if body == nil, hasBody(decision) { (found, decision, body) = await decide() }
        switch decision {
        case .serve(let entry, let status, let age):
            guard let response = answer(entry, age: age, body) else {
                let isCacheOnly = request.policy == .onlyIfCached || request.directives.onlyIfCached
                return isCacheOnly ? unavailable : try await forward(found, .uriMiss, next)
            }
            return finished(response, entry: entry, status)
        case .serveAndValidate(let entry, let age):
            guard let response = answer(entry, age: age, body) else { return try await forward(found, .uriMiss, next) }
            await validateBehind(entry, found, next)
            return finished(response, entry: entry, .stale)
        case .validate(let entry): return try await validate(entry, found, next)
        case .complete(let entry): return try await complete(entry, found, next)
        case .forward(let reason):
            let isVariant = reason == .uriMiss && found.hasOthers
            return try await forward(found, isVariant ? .varyMiss : reason, next)
        case .unavailable: return unavailable
        }
    }

    /// 504, as RFC 9111 §5.2.1.7 has it.
    var unavailable: CurlewResponse {
        var response = CurlewResponse(.gatewayTimeout, fields: [.contentLength: "0"], uri: request.request.uri)
        response.cacheStatus = .miss
        if let name = cache.statusName {
            CacheStatusField(name: name, status: .miss, reason: .request).add(to: &response.fields)
        }
        core.count { $0.misses += 1 }
        return response
    }

    // MARK: The store

    /// What is stored, what to do, and if that is to answer, the body: in one call of the store's thread.
    private func decide() async -> (Found, CacheDecision, CurlewResponse.Body?) {
        if cache.store.isImmediate, !core.mustIgnore(key.uri) {
            do {
                let found = try await find()
                let decision = judge.decide(request, found.selected, at: request.time)
                return (found, decision, try await body(for: decision))
            } catch {
                core.report(error)
            }
            return (Found(), judge.decide(request, nil, at: request.time), nil)
        }
        let looked = await lookUp { [self] found in
            let decision = judge.decide(request, found.selected, at: request.time)
            return (found, decision, try await body(for: decision))
        }
        return looked ?? (Found(), judge.decide(request, nil, at: request.time), nil)
    }

    /// Looks for what is stored.
    /// - Returns: nil if the store cannot be asked, or not in time.
    private func lookUp<Value: Sendable>(
        _ use: @escaping @Sendable (Found) async throws -> Value
    ) async -> Value? {
        guard !core.mustIgnore(key.uri) else { return nil }
        let pending = cache.store.isImmediate ? [] : core.pending(key)
        do {
            return try await core.ask(within: cache.storeTimeout) { [self] _ in
                for task in pending { await task.value }
                return try await use(try await find())
            }
        } catch {
            core.report(error)
            return nil
        }
    }

    /// The body of the entry that is going to answer; nil if it has none, or the entry has gone.
    private func body(for decision: CacheDecision) async throws -> CurlewResponse.Body? {
        guard let entry = decision.served, let range = CacheAnswer(request, entry, age: 0)?.stored else { return nil }
        return try await cache.store.body(of: entry, range: range)
    }

    /// True if an entry is going to answer with bytes of its body.
    private func hasBody(_ decision: CacheDecision) -> Bool {
        decision.served.flatMap { CacheAnswer(request, $0, age: 0)?.stored } != nil
    }

    private func find() async throws -> Found {
        let store = cache.store
        var entries = try await store.entries(for: key)
        // Of a request to another place than its URI says, the path says nothing.
        if cache.honorsNoVarySearch, !key.uri.contains(" "), !core.mustIgnore(NoVarySearch.key(of: request.request.uri))
        {
            let uri = request.request.uri
            let key = CacheEntry.Key(uri: NoVarySearch.key(of: uri), partition: key.partition)
            entries += try await store.entries(for: key).filter { entry in
                guard let rule = NoVarySearch(entry.head.headerFields), let stored = try? CurlewURI(entry.uri) else {
                    return false
                }
                return rule.matches(uri.query, stored.query)
            }
        }
        core.worked()
        guard !entries.isEmpty else { return Found() }
        if entries.count == 1, entries[0].selectors.isEmpty { return Found(selected: entries[0], matching: entries) }
        let fields = request.request.fields
        let secrets = request.request.secretNames
        let matching = entries.filter {
            $0.selectors.isEmpty || CacheVariant.matches($0.selectors, fields, secrets: secrets)
        }
        // Whole ones go before parts, later ones before earlier ones (RFC 9111 §4).
        let selected = matching.max { one, other in
            if (one.range == nil) != (other.range == nil) { return one.range != nil }
            return (one.rules.date, one.responseTime) < (other.rules.date, other.responseTime)
        }
        return Found(selected: selected, matching: matching, hasOthers: matching.count < entries.count)
    }

    // MARK: Answering

    /// The response that an entry gives; nil if its body is no longer there.
    private func answer(_ entry: CacheEntry, age: Int64) async -> CurlewResponse? {
        guard let plan = CacheAnswer(request, entry, age: age) else { return nil }
        guard let range = plan.stored else { return answer(entry, age: age, nil) }
        do {
            let stored = try await core.ask(within: cache.storeTimeout) { try await $0.body(of: entry, range: range) }
            return answer(entry, age: age, stored ?? nil)
        } catch {
            core.report(error)
            return nil
        }
    }

    /// - Parameter stored: The body; nil if there is none.
    private func answer(_ entry: CacheEntry, age: Int64, _ stored: CurlewResponse.Body?) -> CurlewResponse? {
        guard let plan = CacheAnswer(request, entry, age: age) else { return nil }
        var body = CurlewResponse.Body.bytes([])
        if plan.stored != nil {
            guard let stored else { return nil }
            body = stored
        }
        if !entry.trailers.isEmpty, plan.stored != nil { body = body.adding(entry.trailers) }
        return CurlewResponse(
            head: plan.head, body: body, version: entry.version, uri: request.request.uri, interim: [], exchange: nil)
    }

    /// Notes the part that the cache had.
    private func finished(_ response: CurlewResponse, entry: CacheEntry, _ status: HTTPCache.Status) -> CurlewResponse {
        var response = response
        response.cacheStatus = status
        let size = response.body.length ?? 0
        core.count { figures in
            switch status {
            case .revalidated: figures.revalidations += 1
            case .stale: figures.staleHits += 1
            default: figures.hits += 1
            }
            figures.servedBytes += size
        }
        if core.events.hasListeners { core.events.publish(.answered(key, status)) }
        if let name = cache.statusName {
            let left = judge.freshness(of: entry, at: request.time)
            var field = CacheStatusField(name: name, status: status, timeToLive: -left.excess)
            if status == .revalidated { (field.reason, field.forwardStatus) = (.stale, 304) }
            field.add(to: &response.fields)
        }
        return response
    }

    // MARK: Asking

    /// Sends the request, and stores what comes.
    private func forward(_ found: Found, _ reason: CacheStatusField.Reason, _ next: Next) async throws -> CurlewResponse
    {
        let response: CurlewResponse
        do {
            response = try await next(forwarded(request.request, found.selected))
        } catch let error as CurlewError {
            if let stale = await standIn(found, for: error) { return stale }
            throw error
        }
        if Self.isFailure(response.status), let stale = await standIn(found, for: response) { return stale }
        return await taken(response, found, reason)
    }

    /// The request with what the policy adds.
    ///
    /// It is joined with equal ones if what is stored was fresh once, so that its successor will probably be: who waits for another's
    /// response in vain has waited for nothing.
    private func forwarded(_ original: CurlewRequest, _ stored: CacheEntry?) -> CurlewRequest {
        var forwarded = original
        if !forwarded.fields.contains(.cacheControl) {
            switch request.policy.kind {
            case .reload:
                forwarded.fields[.cacheControl] = "no-cache"
                if !forwarded.fields.contains(.pragma) { forwarded.fields[.pragma] = "no-cache" }
            case .noCache: forwarded.fields[.cacheControl] = "max-age=0"
            default: break
            }
        }
        guard cache.coalesces, request.policy == .standard, let stored, stored.range == nil,
            judge.freshness(of: stored, at: request.time).lifetime > 0
        else { return forwarded }
        return core.coalescing.joining(forwarded) { [self] response in
            // What would be a hit a moment later (RFC 9111 §4).
            let now = cache.now()
            if response.status == .notModified {
                let updated = judge.updated(stored, by: response.fields, requested: request.time, at: now)
                return judge.freshness(of: updated, at: now).isFresh
            }
            guard let entry = judge.entry(for: response, to: request, sent: request.credentials, at: now) else {
                return false
            }
            return judge.freshness(of: entry, at: now).isFresh
        }
    }

    private static func isFailure(_ status: HTTPResponse.Status) -> Bool {
        [500, 502, 503, 504].contains(status.code)
    }

    private func standIn(_ found: Found, for error: CurlewError) async -> CurlewResponse? {
        guard error.code != .cancelled, error.code.isTransient || error.stage == .connecting else { return nil }
        return await standIn(found)
    }

    private func standIn(_ found: Found, for response: CurlewResponse) async -> CurlewResponse? {
        guard let stale = await standIn(found) else { return nil }
        await response.discard()
        return stale
    }

    private func standIn(_ found: Found) async -> CurlewResponse? {
        let now = cache.now()
        guard let entry = found.selected, judge.mayServe(entry, onFailureOf: request, at: now) else { return nil }
        let age = judge.freshness(of: entry, at: now).age
        guard let response = await answer(entry, age: age) else { return nil }
        return finished(response, entry: entry, .stale)
    }

    // MARK: Validating

    private func conditional(_ entry: CacheEntry) -> CurlewRequest {
        var conditional = request.request
        let fields = entry.head.headerFields
        if let tag = fields[.eTag] { conditional.fields[.ifNoneMatch] = tag }
        if let date = fields[.lastModified] { conditional.fields[.ifModifiedSince] = date }
        return conditional
    }

    private func validate(_ entry: CacheEntry, _ found: Found, _ next: Next) async throws -> CurlewResponse {
        let response: CurlewResponse
        do {
            response = try await next(forwarded(conditional(entry), entry))
        } catch let error as CurlewError {
            if let stale = await standIn(found, for: error) { return stale }
            throw error
        }
        if Self.isFailure(response.status), let stale = await standIn(found, for: response) { return stale }
        guard response.status == .notModified else { return await taken(response, found, .stale) }
        await response.discard()
        guard let updated = await refresh(entry, by: response) else {
            // It says that nothing has changed of something that is not there: once more, without conditions.
            try? await core.ask(within: cache.storeTimeout) { try await $0.remove(.entries([entry.id])) }
            return try await forward(Found(), .stale, next)
        }
        let age = judge.freshness(of: updated, at: cache.now()).age
        guard var answer = await answer(updated, age: age) else {
            return try await forward(Found(), .stale, next)
        }
        // Cookies are not stored; those that come with the 304 are for the jar.
        answer.fields.append(contentsOf: response.fields.filter { $0.name == .setCookie })
        answer.interim = response.interim
        return finished(answer, entry: updated, .revalidated)
    }

    /// Gives an entry the fields of a 304, if that is about it.
    private func refresh(_ entry: CacheEntry, by response: CurlewResponse) async -> CacheEntry? {
        guard CacheJudge.isValidated(entry, by: response.fields) else { return nil }
        let updated = judge.updated(
            entry, by: response.fields, requested: request.time, at: cache.now())
        guard core.isCurrent(key.uri, since: generation) else { return updated }
        let directives = updated.effective(in: cache.mode).directives
        do {
            if directives.noStore, !directives.mustUnderstand {
                // It may be used this once.
                try await core.ask(within: cache.storeTimeout) { try await $0.remove(.entries([entry.id])) }
            } else {
                _ = try await core.ask(within: cache.storeTimeout) { try await $0.update(updated) }
            }
        } catch {
            core.report(error)
        }
        return updated
    }

    private func validateBehind(_ entry: CacheEntry, _ found: Found, _ next: Next) async {
        guard core.beginValidation(of: entry.id) else { return }
        let validation = BackgroundValidation(core: core, id: entry.id)
        // Another one may have ended since the entry was looked up.
        let latest = await lookUp { $0.selected } ?? nil
        guard latest?.id == entry.id, latest?.responseTime == entry.responseTime else { return }
        var conditional = entry.hasValidator ? conditional(entry) : request.request
        conditional.options.dispatch = DetachedDispatch { result in
            await validation.finish(self, entry, found, result)
        }
        let result: Result<CurlewResponse, any Error>
        do { result = .success(try await next(conditional)) } catch { result = .failure(error) }
        // Where no session is at the end of the chain, this is the answer.
        if case .success(let response) = result, !response.isPlaceholder {
            await validation.finish(self, entry, found, result)
        }
    }

    fileprivate func store(_ result: Result<CurlewResponse, any Error>, of entry: CacheEntry, _ found: Found) async {
        guard case .success(let response) = result else { return }
        if response.status == .notModified {
            _ = await refresh(entry, by: response)
            await response.discard()
        } else if Self.isFailure(response.status) {
            await response.discard()
        } else {
            let stored = await taken(response, found, .stale)
            // Read to its end, so that it is stored; within what may be stored.
            var left = (cache.entryLimit ?? cache.store.entryLimit).bytes
            do {
                for try await chunk in stored.body {
                    left -= chunk.count
                    guard left >= 0 else { return stored.body.abandon() }
                }
            } catch {}
        }
    }

    // MARK: Parts

    /// Asks for the bytes behind those of a part, and gives the whole.
    private func complete(_ entry: CacheEntry, _ found: Found, _ next: Next) async throws -> CurlewResponse {
        guard let range = entry.range, let validator = ResumeToken.Validator(entry.head.headerFields),
            let total = entry.totalSize, range.upperBound < total
        else { return try await forward(found, .partial, next) }
        let wanted = RangeRequest(wanted: range.upperBound..<Int64.max, total: total, validator: validator)
        var rest = request.request
        wanted.apply(to: &rest.fields)
        let response: CurlewResponse
        do {
            response = try await next(rest)
        } catch let error as CurlewError where error.code != .cancelled {
            return try await forward(Found(), .partial, next)
        }
        switch wanted.evaluate(response.head) {
        case .part(let part, total: total?) where part.upperBound == total: break
        case .whole: return await taken(response, found, .partial)
        default:
            await response.discard()
            return try await forward(Found(matching: found.matching), .partial, next)
        }
        let stored = try? await core.ask(within: cache.storeTimeout) {
            try await $0.body(of: entry, range: 0..<range.upperBound)
        }
        guard let stored, let first = stored else {
            await response.discard()
            return try await forward(Found(matching: found.matching), .partial, next)
        }
        var whole = response
        whole.head = judge.updated(entry, by: response.fields, requested: request.time, at: cache.now()).head
        whole.head.status = .ok
        whole.fields[.contentRange] = nil
        whole.fields[.contentLength] = String(total)
        whole.body = .stream(JoinedChunks(first: first, second: response.body), over: response.body, length: total)
        return await taken(whole, found, .partial)
    }

    // MARK: Storing

    /// A response of the network, stored while it is read if it may be.
    private func taken(_ response: CurlewResponse, _ found: Found, _ reason: CacheStatusField.Reason) async
        -> CurlewResponse
    {
        var response = response
        let isCoalesced = response.cacheStatus == .coalesced
        let isStored = isCoalesced ? false : await keep(&response, found)
        response.cacheStatus = isCoalesced ? .coalesced : .miss
        core.count { if isCoalesced { $0.coalesced += 1 } else { $0.misses += 1 } }
        if core.events.hasListeners { core.events.publish(.answered(key, isCoalesced ? .coalesced : .miss)) }
        if let name = cache.statusName {
            var field = CacheStatusField(name: name, status: isCoalesced ? .coalesced : .miss, reason: reason)
            field.forwardStatus = response.status.code
            field.isStored = isStored
            field.add(to: &response.fields)
        }
        return response
    }

    /// - Returns: Whether it is going to be stored.
    private func keep(_ response: inout CurlewResponse, _ found: Found) async -> Bool {
        let now = cache.now()
        if request.request.method == .head {
            await compare(response, found, at: now)
            return false
        }
        if response.status == .notModified {
            // To conditions of the caller's: it is about what is stored, if that has the validators.
            for entry in found.matching
            where response.fields.contains(entry.rules.hasEntityTag ? .eTag : .lastModified) {
                if CacheJudge.isValidated(entry, by: response.fields) { _ = await refresh(entry, by: response) }
            }
            return false
        }
        guard let credentials = sentCredentials(response),
            var entry = judge.entry(for: response, to: request, sent: credentials, at: now)
        else { return false }
        if cache.honorsNoVarySearch, !key.uri.contains(" "), NoVarySearch(response.fields) != nil {
            entry = entry.moved(to: NoVarySearch.key(of: request.request.uri))
        }
        if let willStore = cache.willStore {
            guard let chosen = await willStore(entry, request.request) else { return false }
            entry = chosen
        }
        var part: CachePart?
        if entry.range != nil {
            part = CachePart(entry, found.matching)
            if part?.isKnown == true {
                // Nothing new but the fields.
                if let known = part?.known { _ = await refresh(known, by: response) }
                return false
            }
        }
        let limit = (cache.entryLimit ?? cache.store.entryLimit).bytes
        guard (part?.joined ?? entry).bodySize <= Int64(limit) else { return false }
        let deposit = CacheDeposit(
            exchange: self, entry: part?.joined ?? entry, own: entry.bodySize, body: response.body, limit: limit,
            replaced: found.matching.map(\.id))
        guard await deposit.begin(behind: part?.prefix) else { return false }
        response.body = .stream(
            CachingChunks(body: response.body, deposit: deposit), over: response.body, length: response.body.length)
        return true
    }

    /// The credentials that the request had when it left; nil if links behind the cache have made another request of it, or one that Vary
    /// selects otherwise.
    private func sentCredentials(_ response: CurlewResponse) -> CacheRequest.Credentials? {
        var credentials = request.credentials
        guard let sent = response.exchange?.request ?? response.sentRequest else { return credentials }
        let isSame = sent.uri == request.request.uri && sent.fields.elementsEqual(request.request.fields)
        if isSame, !sent.options.isAnySet { return credentials }
        guard CacheRequest.key(of: sent) == key else { return nil }
        let marked = sent.options.secretFields.union(request.request.options.secretFields)
        credentials.formUnion(CacheRequest.credentials(of: sent.fields, marked))
        if sent.uri.userInformation != nil || sent.options.engineCredential != nil {
            credentials.insert(.authorization)
        }
        for value in response.fields[values: .vary] {
            for name in value.split(separator: ",") {
                guard let name = HTTPField.Name(name.filter { $0 != " " && $0 != "\t" }) else { continue }
                guard sent.fields[values: name] == request.request.fields[values: name] else { return nil }
            }
        }
        return credentials
    }

    /// What a response to HEAD says of the entry (RFC 9111 §4.3.5).
    private func compare(_ response: CurlewResponse, _ found: Found, at now: Int64) async {
        guard response.status == .ok, let entry = found.selected, entry.head.status == .ok else { return }
        do {
            if CacheJudge.isSame(entry, as: response.fields) {
                let updated = judge.updated(entry, by: response.fields, requested: request.time, at: now)
                _ = try await core.ask(within: cache.storeTimeout) { try await $0.update(updated) }
            } else {
                try await core.ask(within: cache.storeTimeout) { try await $0.remove(.entries([entry.id])) }
            }
        } catch {
            core.report(error)
        }
    }
}

/// A validation behind the caller's back. Whatever becomes of it, another one may begin afterwards.
private final class BackgroundValidation: Sendable {
    private let core: CacheCore
    private let id: CacheEntry.ID
    private let hasEnded = Guarded(false)

    init(core: CacheCore, id: CacheEntry.ID) {
        self.core = core
        self.id = id
    }

    deinit { end() }

    /// Once: another validation of the entry may have begun since.
    private func end() {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst { core.endValidation(of: id) }
    }

    func finish(
        _ exchange: CacheExchange, _ entry: CacheEntry, _ found: CacheExchange.Found,
        _ result: Result<CurlewResponse, any Error>
    ) async {
        await exchange.store(result, of: entry, found)
        // Not before: without this the last use of the object would be above.
        end()
    }
}
