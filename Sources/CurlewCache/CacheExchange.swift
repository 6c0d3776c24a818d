internal import HTTPTypes

/// A request on its way through a cache: lookup, decision, forwarding and storing.
///
/// It is a class: copying the cache would retain half a dozen references, which all requests share, at each call.
final class CacheExchange: Sendable {
    typealias Next = CurlewCore.Next<CurlewRequest, CurlewResponse>

    let cache: HTTPCache
    let request: CacheRequest
    /// The generation of invalidations at the time of the request.
    let generation: UInt64

    let judge: CacheJudge
    private let lookup: CacheLookup

    init(cache: HTTPCache, request: CacheRequest, generation: UInt64) {
        self.cache = cache
        self.request = request
        self.generation = generation
        judge = cache.judge
        lookup = CacheLookup(core: cache.core, request: request, cache: cache)
    }

    private var core: CacheCore { cache.core }
    private var update: CacheUpdate { CacheUpdate(of: self) }
    private var key: HTTPCache.Entry.Key { request.key }

    func perform(_ next: Next) async throws -> CurlewResponse {
        var (found, decision, body) = await lookup.decide(judge)
        // The entry was replaced between lookup and reading. The replacement may serve as well, without a request to
        // the server.
        if body == nil, lookup.hasBody(decision) { (found, decision, body) = await lookup.decide(judge) }
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

    /// A 504, according to RFC 9111 §5.2.1.7.
    var unavailable: CurlewResponse {
        var response = CurlewResponse(.gatewayTimeout, fields: [.contentLength: "0"], uri: request.request.uri)
        response.cacheStatus = .miss
        if let name = cache.statusName {
            CacheStatusField(name: name, status: .miss, reason: .request).add(to: &response.fields)
        }
        core.count { $0.misses += 1 }
        return response
    }

    // MARK: Answers

    /// The response from an entry; nil if its body no longer exists.
    private func answer(_ entry: HTTPCache.Entry, age: Int64) async -> CurlewResponse? {
        guard let plan = CacheAnswer(request, entry, age: age) else { return nil }
        guard let range = plan.stored else { return answer(entry, age: age, nil) }
        let stored = await core.ask(.reading, within: cache.storeTimeout) { try await $0.body(of: entry, range: range) }
        return answer(entry, age: age, stored ?? nil)
    }

    /// - Parameter stored: The body; nil without one.
    private func answer(_ entry: HTTPCache.Entry, age: Int64, _ stored: CurlewResponse.Body?) -> CurlewResponse? {
        guard let plan = CacheAnswer(request, entry, age: age) else { return nil }
        var body = CurlewResponse.Body.bytes([])
        if plan.stored != nil {
            guard let stored else { return nil }
            body = stored
        }
        let trailers = plan.trailers(of: entry)
        if !trailers.isEmpty { body = body.adding(trailers) }
        var response = CurlewResponse(
            head: plan.head, body: body, version: entry.version, uri: request.request.uri, interim: [], exchange: nil)
        if plan.stored != nil, plan.head.headerFields.contains(.contentEncoding) {
            response.rejection = { [self] in await update.remove(entry) }
        }
        return response
    }

    /// Adds the part of the cache to the response and to its statistics.
    private func finished(_ response: CurlewResponse, entry: HTTPCache.Entry, _ status: HTTPCache.Status)
        -> CurlewResponse
    {
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

    // MARK: Forwarding

    /// Sends the request, and stores the response.
    private func forward(_ found: CacheLookup.Found, _ reason: CacheStatusField.Reason, _ next: Next) async throws
        -> CurlewResponse
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

    /// The request with the fields of its policy.
    ///
    /// It is joined with equal requests if the stored response had been fresh, because its successor is then probably
    /// fresh and can be shared. Waiting for a response that cannot be shared only adds latency.
    private func forwarded(_ original: CurlewRequest, _ stored: HTTPCache.Entry?) -> CurlewRequest {
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
            // A response can be shared if it would be a cache hit a moment later (RFC 9111 §4).
            let now = cache.now()
            let sent = request.credentials(asSentFor: response)
            if response.status == .notModified {
                let refreshed = judge.refreshed(stored, by: response.fields, to: request, sent: sent, at: now)
                return refreshed.outcome == .replaces && judge.freshness(of: refreshed.entry, at: now).isFresh
            }
            guard let sent, let entry = judge.entry(for: response, to: request, sent: sent, at: now) else {
                return false
            }
            return judge.freshness(of: entry, at: now).isFresh
        }
    }

    private static func isFailure(_ status: HTTPResponse.Status) -> Bool {
        [500, 502, 503, 504].contains(status.code)
    }

    private func standIn(_ found: CacheLookup.Found, for error: CurlewError) async -> CurlewResponse? {
        guard error.code != .cancelled, error.code.isTransient || error.stage == .connecting else { return nil }
        return await standIn(found)
    }

    private func standIn(_ found: CacheLookup.Found, for response: CurlewResponse) async -> CurlewResponse? {
        guard var stale = await standIn(found) else { return nil }
        await response.discard()
        stale.addCookies(of: response)
        return stale
    }

    private func standIn(_ found: CacheLookup.Found) async -> CurlewResponse? {
        let now = cache.now()
        guard let entry = found.selected, judge.mayServe(entry, onFailureOf: request, at: now) else { return nil }
        let age = judge.freshness(of: entry, at: now).age
        guard let response = await answer(entry, age: age) else { return nil }
        return finished(response, entry: entry, .stale)
    }

    // MARK: Validation

    private func conditional(_ entry: HTTPCache.Entry) -> CurlewRequest {
        var conditional = request.request
        let fields = entry.head.headerFields
        // The bytes are copied, because they may not be UTF-8. Control characters, which no request may have, become
        // spaces: such a tag matches none.
        let tags = EntityTag.values(in: fields).map { HTTPField(name: .ifNoneMatch, value: $0) }
        if !tags.isEmpty { conditional.fields[fields: .ifNoneMatch] = tags }
        if let date = fields[.lastModified] { conditional.fields[.ifModifiedSince] = date }
        return conditional
    }

    private func validate(_ entry: HTTPCache.Entry, _ found: CacheLookup.Found, _ next: Next) async throws
        -> CurlewResponse
    {
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
        guard CacheJudge.isValidated(entry, by: response.fields) else {
            // A 304 for a representation that is not stored: the request is repeated without conditions.
            await update.remove(entry)
            return try await forward(CacheLookup.Found(), .stale, next).addingCookies(of: response)
        }
        let refreshed = update.refreshed(entry, by: response, at: cache.now())
        let updated = refreshed.entry
        let age = judge.freshness(of: updated, at: cache.now()).age
        // The body is read before the entry may be removed. The response to this request may still use the body.
        let stored = await answer(updated, age: age)
        await update.settle(refreshed, of: entry)
        guard var answer = stored else {
            return try await forward(CacheLookup.Found(), .stale, next).addingCookies(of: response)
        }
        answer.addCookies(of: response)
        answer.interim = response.interim
        return finished(answer, entry: updated, .revalidated)
    }

    /// The time limit of a validation in the background.
    private static let backgroundTimeout = Duration.seconds(60)

    private func validateBehind(_ entry: HTTPCache.Entry, _ found: CacheLookup.Found, _ next: Next) async {
        guard core.beginValidation(of: entry.id) else { return }
        let validation = BackgroundValidation(core: core, id: entry.id)
        // Another validation may have ended since the lookup.
        let latest = await lookup.found()?.selected
        guard latest?.id == entry.id, latest?.responseTime == entry.responseTime else { return }
        var conditional = entry.hasValidator ? conditional(entry) : request.request
        conditional.options.dropDeadline()
        conditional.options.totalTimeout = conditional.options.totalTimeout ?? Self.backgroundTimeout
        conditional.options.dispatch = DetachedDispatch { result in
            await validation.finish(self, entry, found, result)
        }
        let result: Result<CurlewResponse, any Error>
        do { result = .success(try await next(conditional)) } catch { result = .failure(error) }
        // Without a session at the end of the chain, the result is the response itself.
        if case .success(let response) = result, !response.isPlaceholder {
            await validation.finish(self, entry, found, result)
        }
    }

    func store(_ result: Result<CurlewResponse, any Error>, of entry: HTTPCache.Entry, _ found: CacheLookup.Found) async
    {
        guard case .success(let response) = result else { return }
        request.request.options.cookieReceipt?(response.fields, response.uri)
        if response.status == .notModified {
            await update.refresh(entry, by: response)
            await response.discard()
        } else if Self.isFailure(response.status) {
            await response.discard()
        } else {
            var stored = response
            guard await update.keep(&stored, found) else { return await response.discard() }
            // The body is read to its end, so that it is stored.
            do { for try await _ in stored.body {} } catch {}
        }
    }

    // MARK: Parts

    /// Requests the bytes after those of a stored part, and returns the complete response.
    private func complete(_ entry: HTTPCache.Entry, _ found: CacheLookup.Found, _ next: Next) async throws
        -> CurlewResponse
    {
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
            return try await forward(CacheLookup.Found(), .partial, next)
        }
        switch wanted.evaluate(response.head) {
        case .part(let part, total: total?) where part.upperBound == total: break
        case .whole: return await taken(response, found, .partial)
        default:
            await response.discard()
            return try await forward(CacheLookup.Found(matching: found.matching), .partial, next)
                .addingCookies(of: response)
        }
        let stored = await core.ask(.reading, within: cache.storeTimeout) {
            try await $0.body(of: entry, range: 0..<range.upperBound)
        }
        guard let stored, let first = stored else {
            await response.discard()
            return try await forward(CacheLookup.Found(matching: found.matching), .partial, next)
                .addingCookies(of: response)
        }
        var whole = response
        whole.head = judge.updated(entry, by: response.fields, requested: request.time, at: cache.now()).head
        whole.head.status = .ok
        whole.fields[.contentRange] = nil
        whole.fields[.contentLength] = String(total)
        whole.fields.removeContentDigests()
        let last = response.body.removingTrailers(HTTPFields.contentDigests)
        whole.body = .stream(JoinedChunks(first: first, second: last), over: last, length: total)
        return await taken(whole, found, .partial)
    }

    // MARK: Storing

    /// A response from the network. It is stored while it is read, if this is allowed.
    private func taken(_ response: CurlewResponse, _ found: CacheLookup.Found, _ reason: CacheStatusField.Reason) async
        -> CurlewResponse
    {
        var response = response
        let isCoalesced = response.cacheStatus == .coalesced
        let isStored = isCoalesced ? false : await update.keep(&response, found)
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
}

extension CurlewResponse {
    /// Adds the cookies of a response that this one replaces, for the cookie jar before the cache. Cookies are never
    /// stored.
    fileprivate mutating func addCookies(of replaced: CurlewResponse) {
        fields.append(contentsOf: replaced.fields.filter { $0.name == .setCookie })
    }

    fileprivate func addingCookies(of replaced: CurlewResponse) -> CurlewResponse {
        var response = self
        response.addCookies(of: replaced)
        return response
    }
}
