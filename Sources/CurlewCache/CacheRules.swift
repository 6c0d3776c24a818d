internal import HTTPTypes

/// The caching rules in the fields of a response, read in one pass.
struct CacheRules: Sendable, Hashable {
    let directives: CacheDirectives
    /// The directives of CDN-Cache-Control (RFC 9213 §3.1), if they are readable.
    let targeted: CacheDirectives?
    /// The value of Age; 0 if it is missing or unreadable.
    let ageValue: Int64
    /// Date, else the time of the response.
    let date: Int64
    let expires: Expiry
    let lastModified: Int64?
    let hasEntityTag: Bool
    let isHeuristic: Bool
    let setsCookies: Bool
    let varies: Bool
    /// True if the response has fields that must not be stored, whatever the directives.
    let hasExcludedFields: Bool

    /// The time in Expires.
    enum Expiry: Sendable, Hashable {
        case none
        case at(Int64)
        /// An invalid time, or several different ones; they count as long past.
        case past
    }

    init(_ head: HTTPResponse, responseTime: Int64) {
        self.init(head.headerFields, status: head.status, responseTime: responseTime)
    }

    init(_ fields: HTTPFields, status: HTTPResponse.Status? = nil, responseTime: Int64 = 0) {
        var directives = CacheDirectives()
        var age: Int64?
        var date: Int64?
        var expires: (text: String, expiry: Expiry)?
        var lastModified: Int64?
        var (hasTag, setsCookies, varies, isTargeted, hasExcluded) = (false, false, false, false, false)
        for field in fields {
            switch field.name.canonicalName {
            case "cache-control": directives.add(field)
            case "age": age = age ?? Self.age(field.value)
            case "date": date = date ?? HTTPDate(field.value)?.secondsSince1970
            case "expires":
                let text = field.value
                if let known = expires {
                    // Two Expires fields with different values are invalid (RFC 9111 §4.2.1).
                    if !known.text.utf8.elementsEqual(text.utf8) { expires = (known.text, .past) }
                } else {
                    // An invalid date, such as `0`, counts as a time in the past (§5.3).
                    expires = (text, HTTPDate(text).map { .at($0.secondsSince1970) } ?? .past)
                }
            case "last-modified": lastModified = lastModified ?? HTTPDate(field.value)?.secondsSince1970
            case "etag": hasTag = true
            case "vary": varies = true
            case "cdn-cache-control": isTargeted = true
            case "set-cookie", "set-cookie2":
                setsCookies = true
                hasExcluded = true
            case "connection": hasExcluded = true
            case "content-type", "content-length", "server", "accept-ranges": break
            default: if CacheJudge.connectionFields.contains(field.name) { hasExcluded = true }
            }
        }
        self.directives = directives
        targeted = isTargeted ? CacheDirectives(targeted: .cdnCacheControl, in: fields) : nil
        ageValue = age ?? 0
        self.date = date ?? responseTime
        self.expires = expires?.expiry ?? .none
        self.lastModified = lastModified
        hasEntityTag = hasTag
        isHeuristic = status?.isHeuristicallyCacheable ?? false
        self.setsCookies = setsCookies
        self.varies = varies
        hasExcludedFields = hasExcluded
    }

    /// The first member of a list counts. Text with other characters than digits counts as 0, as if the field were
    /// absent (RFC 9111 §5.1). The age then follows from Date.
    private static func age(_ text: String) -> Int64 {
        CacheDirectives.number(Array(Array(text.utf8.prefix { $0 != .comma })[...].trimmingBlanks))
    }

    func effective(in mode: HTTPCache.Mode) -> Effective {
        guard mode == .shared, let targeted else { return Effective(directives: directives) }
        return Effective(directives: targeted, isTargeted: true)
    }

    /// The directives that apply to a kind of cache. For a shared cache these are the directives of the targeted field,
    /// if there is one; otherwise those of Cache-Control.
    struct Effective {
        var directives: CacheDirectives
        /// True if a targeted field applies: Expires is then ignored too (RFC 9213 §2.2).
        var isTargeted = false
    }
}

extension HTTPResponse.Status {
    /// True if a response may be stored without explicit freshness (RFC 9110 §15.1).
    var isHeuristicallyCacheable: Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(code)
    }

    /// True for the statuses of RFC 9110 §15, to which `must-understand` refers (RFC 9111 §5.2.2.3).
    var isUnderstoodByCaches: Bool {
        switch code {
        case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 500...505: true
        default: false
        }
    }
}

/// Arithmetic with seconds, limited to the range of Int64.
enum Seconds {
    static func sum(_ one: Int64, _ other: Int64) -> Int64 {
        let (sum, overflow) = one.addingReportingOverflow(other)
        return overflow ? (one < 0 ? .min : .max) : sum
    }

    static func difference(_ one: Int64, _ other: Int64) -> Int64 {
        let (difference, overflow) = one.subtractingReportingOverflow(other)
        return overflow ? (one < 0 ? .min : .max) : difference
    }
}

/// The freshness of an entry at a time, for a kind of cache (RFC 9111 §4.2).
struct Freshness: Sendable, Hashable {
    /// The seconds since the origin generated or validated the response (§4.2.3).
    let age: Int64
    /// The seconds for which the response is fresh (§4.2.1, §4.2.2).
    let lifetime: Int64
    /// True if the clock was set back since the response arrived: the age is then unknown.
    let isClockBehind: Bool

    /// The largest step back of the clock, in seconds, that is ignored as a correction.
    private static let tolerance: Int64 = 60
    /// The divisor of the time since the last modification: a tenth, as §4.2.2 proposes.
    private static let heuristicPart: Int64 = 10

    /// - Parameters:
    ///   - entry: The stored response.
    ///   - now: The present time, in seconds since 1970.
    ///   - mode: The kind of cache.
    ///   - heuristicLimit: The longest heuristic lifetime.
    init(of entry: HTTPCache.Entry, at now: Int64, mode: HTTPCache.Mode, heuristicLimit: Int64) {
        let rules = entry.rules
        let apparent = max(0, Seconds.difference(entry.responseTime, rules.date))
        let delay = max(0, Seconds.difference(entry.responseTime, entry.requestTime))
        let initial = max(apparent, Seconds.sum(rules.ageValue, delay))
        let resident = Seconds.difference(now, entry.responseTime)
        age = min(Seconds.sum(initial, max(0, resident)), CacheDirectives.longest)
        isClockBehind = resident < -Self.tolerance
        lifetime = Self.lifetime(rules, entry.effective(in: mode), mode, heuristicLimit)
    }

    private static func lifetime(
        _ rules: CacheRules, _ effective: CacheRules.Effective, _ mode: HTTPCache.Mode, _ heuristicLimit: Int64
    ) -> Int64 {
        let directives = effective.directives
        if mode == .shared, let seconds = directives.sharedMaxAge { return seconds }
        if let seconds = directives.maxAge { return seconds }
        if !effective.isTargeted {
            switch rules.expires {
            case .past: return 0
            case .at(let moment): return min(max(0, Seconds.difference(moment, rules.date)), CacheDirectives.longest)
            case .none: break
            }
        }
        guard rules.isHeuristic || directives.isPublic, let modified = rules.lastModified else { return 0 }
        return min(max(0, Seconds.difference(rules.date, modified)) / heuristicPart, heuristicLimit)
    }

    /// The seconds since the end of freshness; negative while the response is fresh.
    var excess: Int64 { isClockBehind ? CacheDirectives.longest : age - lifetime }

    var isFresh: Bool { excess < 0 }
}

extension HTTPCache.Entry {
    /// The directives that apply to a kind of cache.
    func effective(in mode: HTTPCache.Mode) -> CacheRules.Effective { rules.effective(in: mode) }
}

extension HTTPField.Name {
    /// The targeted field for caches of content delivery networks (RFC 9213 §3.1).
    static let cdnCacheControl = HTTPField.Name("CDN-Cache-Control")!
    static let noVarySearch = HTTPField.Name("No-Vary-Search")!
}
