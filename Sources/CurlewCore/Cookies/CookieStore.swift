/// The cookies of a jar by domain, and the rules for adding and sending them. The store is a value without a clock or a
/// lock.
struct CookieStore {
    /// A cookie with its order of creation and of last use, as counters instead of times.
    struct Entry {
        var cookie: CookieJar.Cookie
        let order: UInt64
        var use: UInt64
    }

    private let limits: CookieJar.Limits
    private var domains: [String: [Entry]] = [:]
    private(set) var count = 0
    private var turn: UInt64 = 0
    /// The changes since the last call of ``takeChanges()``, if the jar is observed.
    private var changes: [CookieJar.Change] = []
    var isObserved = false

    init(limits: CookieJar.Limits) { self.limits = limits }

    private mutating func note(_ kind: CookieJar.Change.Kind, _ cookie: CookieJar.Cookie) {
        if isObserved { changes.append(CookieJar.Change(kind, cookie)) }
    }

    mutating func takeChanges() -> [CookieJar.Change] {
        defer { changes = [] }
        return changes
    }

    private mutating func nextTurn() -> UInt64 {
        turn += 1
        return turn
    }

    // MARK: Insertion

    /// Adds a cookie. It replaces the one with the same name, domain and path, and keeps its order of creation. An
    /// expired cookie only removes that one. Excess cookies are evicted.
    /// - Returns: True if the store now has the cookie.
    mutating func put(_ cookie: CookieJar.Cookie, now: Int64) -> Bool {
        guard insert(cookie, now: now) else { return false }
        evict(cookie.domain, now: now)
        evict(now: now)
        return domains[cookie.domain]?.contains { $0.cookie.isSame(as: cookie) } ?? false
    }

    /// Adds many cookies, and evicts excess ones at the end.
    /// - Returns: The number of cookies that had not expired.
    mutating func put(_ cookies: [CookieJar.Cookie], now: Int64) -> Int {
        defer { evict(now: now) }
        return cookies.count { cookie in
            guard insert(cookie, now: now) else { return false }
            evict(cookie.domain, now: now)
            return true
        }
    }

    private mutating func insert(_ cookie: CookieJar.Cookie, now: Int64) -> Bool {
        // The domain may be a public suffix according to a newer list, or the cookie may not come from a server.
        guard cookie.isHostOnly || !PublicSuffixes.contains(cookie.domain) else { return false }
        removeExpired(of: cookie.domain, now: now)
        let turn = nextTurn()
        var entries = domains.removeValue(forKey: cookie.domain) ?? []
        defer { domains[cookie.domain] = entries.isEmpty ? nil : entries }
        let index = entries.firstIndex { $0.cookie.isSame(as: cookie) }
        if cookie.isExpired(at: now) {
            if let index {
                note(.removed, entries.remove(at: index).cookie)
                count -= 1
            }
            return false
        }
        if let index {
            entries[index] = Entry(cookie: cookie, order: entries[index].order, use: turn)
            note(.updated, cookie)
        } else {
            entries.append(Entry(cookie: cookie, order: turn, use: turn))
            count += 1
            note(.added, cookie)
        }
        return true
    }

    /// True if a cookie from an insecure connection would replace a secure one, or be sent before it (RFC 6265bis §5.7,
    /// step 16).
    func overlaysSecure(_ cookie: CookieJar.Cookie, now: Int64) -> Bool {
        domains.contains { domain, entries in
            guard
                domain == cookie.domain || CookieHost.isBeneath(domain, cookie.domain)
                    || CookieHost.isBeneath(cookie.domain, domain)
            else { return false }
            return entries.contains {
                $0.cookie.isSecure && !$0.cookie.isExpired(at: now) && $0.cookie.nameBytes == cookie.nameBytes
                    && CookieOrigin.isPath(cookie.path, within: $0.cookie.path)
            }
        }
    }

    // MARK: Selection

    /// The cookies for a URI in the order of sending: longer paths first, then older cookies.
    /// - Parameter isUse: True if the cookies are sent now, which protects them from eviction.
    mutating func cookies(for origin: CookieOrigin, now: Int64, isUse: Bool) -> [CookieJar.Cookie] {
        var found: [Entry] = []
        let use = isUse ? nextTurn() : 0
        var name = origin.host.name[...]
        while true {
            let domain = String(name)
            removeExpired(of: domain, now: now)
            if let position = domains.index(forKey: domain) {
                for index in domains.values[position].indices {
                    let entry = domains.values[position][index]
                    guard origin.receives(entry.cookie) else { continue }
                    found.append(entry)
                    if isUse { domains.values[position][index].use = use }
                }
            }
            guard !origin.host.isAddress, let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else { break }
            name = name[name.utf8.index(after: dot)...]
        }
        if found.count > 1 { found.sort(by: Self.isSentBefore) }
        return found.map(\.cookie)
    }

    private static func isSentBefore(_ left: Entry, _ right: Entry) -> Bool {
        let (longer, shorter) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
        return longer == shorter ? left.order < right.order : longer > shorter
    }

    /// All cookies, the oldest first.
    mutating func all(now: Int64) -> [CookieJar.Cookie] {
        remove(.expired) { $0.isExpired(at: now) }
        return domains.values.joined().sorted { $0.order < $1.order }.map(\.cookie)
    }
}

extension CookieStore {
    /// Removes the cookies that satisfy a condition.
    /// - Returns: The number of removed cookies.
    @discardableResult
    mutating func remove(_ kind: CookieJar.Change.Kind, where condition: (CookieJar.Cookie) -> Bool) -> Int {
        var removed = 0
        for domain in Array(domains.keys) { removed += remove(kind, of: domain, where: condition) }
        return removed
    }

    private mutating func removeExpired(of domain: String, now: Int64) {
        _ = remove(.expired, of: domain) { $0.isExpired(at: now) }
    }

    private mutating func remove(
        _ kind: CookieJar.Change.Kind, of domain: String, where condition: (CookieJar.Cookie) -> Bool
    ) -> Int {
        guard let entries = domains[domain], entries.contains(where: { condition($0.cookie) }) else { return 0 }
        let kept = entries.filter { !condition($0.cookie) }
        for entry in entries where condition(entry.cookie) { note(kind, entry.cookie) }
        domains[domain] = kept.isEmpty ? nil : kept
        count -= entries.count - kept.count
        return entries.count - kept.count
    }

    // Eviction follows the order of RFC 6265bis §5.7: expired cookies, insecure cookies of a domain with too many, any
    // cookies of such a domain, any cookies; in each group the least recently used first.

    /// Evicts cookies of a domain beyond its limit.
    private mutating func evict(_ domain: String, now: Int64) {
        let limit = max(1, limits.perDomain)
        guard domains[domain, default: []].count > limit else { return }
        removeExpired(of: domain, now: now)
        while let entries = domains[domain], entries.count > limit {
            let loose = entries.indices.filter { !entries[$0].cookie.isSecure }
            let candidates = loose.isEmpty ? Array(entries.indices) : loose
            guard let index = candidates.min(by: { entries[$0].use < entries[$1].use }) else { return }
            evict(at: index, of: domain)
        }
    }

    /// Evicts cookies beyond the limit of the jar.
    private mutating func evict(now: Int64) {
        let limit = max(1, limits.total)
        guard count > limit else { return }
        remove(.expired) { $0.isExpired(at: now) }
        guard count > limit else { return }
        let uses = domains.values.joined().map(\.use)
        guard let oldest = uses.min() else { return }
        let last = count - limit == 1 ? oldest : uses.sorted()[count - limit - 1]
        // Cookies that were sent together have the same order of use. Of the last such group, only as many as needed
        // are evicted.
        evict(downTo: 0) { $0 < last }
        evict(downTo: limit) { $0 == last }
    }

    private mutating func evict(downTo limit: Int, where condition: (UInt64) -> Bool) {
        for domain in Array(domains.keys) {
            while count > limit, let index = domains[domain]?.firstIndex(where: { condition($0.use) }) {
                evict(at: index, of: domain)
            }
        }
    }

    private mutating func evict(at index: Int, of domain: String) {
        guard let cookie = domains[domain]?.remove(at: index).cookie else { return }
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
        count -= 1
        note(.evicted, cookie)
    }
}
