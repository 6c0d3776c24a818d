internal import HTTPTypes

/// The action of the cache for a request: a pure function of request, stored entry and time (RFC 9111 §4).
enum CacheDecision: Sendable, Hashable {
    /// Answers with the entry.
    case serve(HTTPCache.Entry, HTTPCache.Status, age: Int64)
    /// Answers with the entry, and validates it in the background (RFC 5861 §3).
    case serveAndValidate(HTTPCache.Entry, age: Int64)
    /// Asks the server to validate the entry.
    case validate(HTTPCache.Entry)
    /// Requests the bytes after those of the entry.
    case complete(HTTPCache.Entry)
    /// Forwards the request without a stored entry.
    case forward(CacheStatusField.Reason)
    /// Answers 504: no usable response is stored, and the request forbids the network (§5.2.1.7).
    case unavailable

    /// The entry that answers the request.
    var served: HTTPCache.Entry? {
        switch self {
        case .serve(let entry, _, _), .serveAndValidate(let entry, _): entry
        default: nil
        }
    }
}

/// The rules of a cache that do not need a store.
struct CacheJudge: Sendable {
    var mode: HTTPCache.Mode
    var heuristicLimit: Int64
    var servesStaleOnFailure: Bool

    /// Decides about a GET, a HEAD or a QUERY.
    /// - Parameter entry: The stored response that the request selects.
    func decide(_ request: CacheRequest, _ entry: HTTPCache.Entry?, at now: Int64) -> CacheDecision {
        let policy = request.policy
        let isCacheOnly = policy == .onlyIfCached || request.directives.onlyIfCached
        // A stored failure is not the answer to the retry that it caused.
        let isFailure = request.request.options.isRepeated && (entry?.head.status.code ?? 0) >= 400
        guard let entry, policy != .reload, !isFailure, !request.isForOrigin, mayAnswer(request, entry) else {
            return isCacheOnly ? .unavailable : .forward(entry == nil ? .uriMiss : .request)
        }
        let freshness = freshness(of: entry, at: now)
        if entry.range != nil, !hasBytes(entry, for: request) {
            return isCacheOnly ? .unavailable : completion(of: entry, for: request)
        }
        if policy.takesStale { return .serve(entry, freshness.isFresh ? .hit : .stale, age: freshness.age) }
        if policy != .noCache, mayServe(request, entry, freshness) {
            return .serve(entry, freshness.isFresh ? .hit : .stale, age: freshness.age)
        }
        if isCacheOnly { return .unavailable }
        if policy == .standard, mayServeWhileValidating(request, entry, freshness) {
            return .serveAndValidate(entry, age: freshness.age)
        }
        // A part is requested again instead of validated, and the caller's conditions are not replaced.
        return entry.range == nil && !request.isConditional && entry.hasValidator && !request.hasRange
            ? .validate(entry) : .forward(.stale)
    }

    func freshness(of entry: HTTPCache.Entry, at now: Int64) -> Freshness {
        Freshness(of: entry, at: now, mode: mode, heuristicLimit: heuristicLimit)
    }

    /// True if an entry may replace a response that failed or has the status of a server error (RFC 5861 §4).
    func mayServe(_ entry: HTTPCache.Entry, onFailureOf request: CacheRequest, at now: Int64) -> Bool {
        guard request.policy == .standard || request.policy == .noCache, !request.isConditional,
            request.directives.noCache == .nothing, entry.range == nil || hasBytes(entry, for: request),
            mayAnswer(request, entry)
        else { return false }
        let directives = entry.effective(in: mode).directives
        guard !forbidsStale(directives) else { return false }
        if servesStaleOnFailure { return true }
        let limit = max(directives.staleIfError ?? -1, request.directives.staleIfError ?? -1)
        return limit >= 0 && freshness(of: entry, at: now).excess <= limit
    }

    /// True if the rules for credentials allow the entry as the answer (RFC 9111 §3.5).
    private func mayAnswer(_ request: CacheRequest, _ entry: HTTPCache.Entry) -> Bool {
        guard mode == .shared, request.credentials.contains(.authorization) else { return true }
        return entry.effective(in: mode).directives.allowsAuthorization
    }

    private func forbidsStale(_ directives: CacheDirectives) -> Bool {
        if directives.mustRevalidate || directives.noCache == .response { return true }
        return mode == .shared && (directives.proxyRevalidate || directives.sharedMaxAge != nil)
    }

    private func mayServe(_ request: CacheRequest, _ entry: HTTPCache.Entry, _ freshness: Freshness) -> Bool {
        let asked = request.directives
        let said = entry.effective(in: mode).directives
        guard asked.noCache == .nothing, said.noCache != .response else { return false }
        // A reload of an immutable response cannot have a new result (RFC 8246 §2).
        let isReload = asked.maxAge == 0 && said.isImmutable
        if let limit = asked.maxAge, !isReload {
            // The tolerance of max-stale is added to max-age.
            guard freshness.age <= Seconds.sum(limit, asked.maxStale ?? 0) else { return false }
        }
        if let wanted = asked.minFresh { return freshness.isFresh && Seconds.sum(freshness.excess, wanted) <= 0 }
        if freshness.isFresh { return true }
        guard let tolerated = asked.maxStale, !forbidsStale(said) else { return false }
        return freshness.excess <= tolerated
    }

    private func mayServeWhileValidating(_ request: CacheRequest, _ entry: HTTPCache.Entry, _ freshness: Freshness)
        -> Bool
    {
        let asked = request.directives
        let said = entry.effective(in: mode).directives
        guard let limit = said.staleWhileRevalidate, !forbidsStale(said), asked.noCache == .nothing,
            asked.maxAge == nil, asked.minFresh == nil, !request.isConditional
        else { return false }
        return freshness.excess <= limit
    }

    /// True if the entry has all requested bytes.
    private func hasBytes(_ entry: HTTPCache.Entry, for request: CacheRequest) -> Bool {
        guard let range = entry.range else { return true }
        guard let total = entry.totalSize, let wanted = request.range(of: total) else { return false }
        return range.lowerBound <= wanted.lowerBound && wanted.upperBound <= range.upperBound
    }

    private func completion(of entry: HTTPCache.Entry, for request: CacheRequest) -> CacheDecision {
        guard request.isRetrieval, !request.hasRange, !request.isConditional, entry.range?.lowerBound == 0,
            ResumeToken.Validator(entry.head.headerFields) != nil, request.policy == .standard,
            request.directives.noCache == .nothing
        else { return .forward(.partial) }
        return .complete(entry)
    }
}

extension CacheDirectives {
    /// True if a shared cache may store the response to a request with Authorization (RFC 9111 §3.5).
    var allowsAuthorization: Bool { isPublic || mustRevalidate || sharedMaxAge != nil }
}

extension HTTPCache.Entry {
    /// True if the server can validate the entry.
    var hasValidator: Bool { rules.hasEntityTag || rules.lastModified != nil }

    /// The number of bytes of the complete representation, if it is known.
    var totalSize: Int64? {
        guard range != nil else { return bodySize }
        return (try? ContentRange(head.headerFields))?.total
    }
}

extension CacheRequest {
    var hasRange: Bool { request.fields.contains(.range) }

    /// The requested range of bytes, for a representation of a given length; nil for an unsatisfiable range or for
    /// several.
    func range(of total: Int64) -> Range<Int64>? {
        let values = request.fields[values: .range]
        guard values.count == 1, isRetrieval else { return nil }
        return CacheRange(values[0])?.bytes(of: total)
    }
}

/// A single range of a Range field (RFC 9110 §14.1.2).
enum CacheRange {
    case from(Int64, to: Int64?)
    case last(Int64)

    /// nil for several ranges, for other units, and for unreadable text.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.prefix(6).elementsEqual("bytes=".utf8) || bytes.prefix(6).elementsEqual("Bytes=".utf8) else {
            return nil
        }
        let parts = bytes.dropFirst(6).filter { !$0.isBlank }
            .split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.count <= 18 && $0.allSatisfy(\.isDigit) }) else { return nil }
        let numbers = parts.map { Int64(String(decoding: $0, as: UTF8.self)) }
        switch (numbers[0], numbers[1]) {
        case (let first?, let last): self = .from(first, to: last)
        case (nil, let count?): self = .last(count)
        case (nil, nil): return nil
        }
    }

    /// The bytes of the range; nil if the representation has none of them.
    func bytes(of total: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last):
            guard first < total, last.map({ $0 >= first }) ?? true else { return nil }
            return first..<min(total, last.map { $0 + 1 } ?? total)
        case .last(let count):
            guard count > 0, total > 0 else { return nil }
            return max(0, total - count)..<total
        }
    }
}
