extension CookieStore {
    /// Takes out what satisfies a condition.
    /// - Returns: How many there were.
    @discardableResult
    mutating func remove(_ kind: CookieChange.Kind, where condition: (Cookie) -> Bool) -> Int {
        var removed = 0
        for domain in Array(domains.keys) { removed += remove(kind, of: domain, where: condition) }
        return removed
    }

    mutating func removeExpired(of domain: String, now: Int64) {
        _ = remove(.expired, of: domain) { $0.isExpired(at: now) }
    }

    private mutating func remove(
        _ kind: CookieChange.Kind, of domain: String, where condition: (Cookie) -> Bool
    ) -> Int {
        guard let entries = domains[domain], entries.contains(where: { condition($0.cookie) }) else { return 0 }
        let kept = entries.filter { !condition($0.cookie) }
        for entry in entries where condition(entry.cookie) { note(kind, entry.cookie) }
        domains[domain] = kept.isEmpty ? nil : kept
        count -= entries.count - kept.count
        return entries.count - kept.count
    }

    // What is too much goes in the order of RFC 6265bis §5.7: what has expired, what is not secure in a domain that has
    // too many, anything in it, anything at all; each time what was used longest ago.

    /// Keeps a domain within its bound.
    mutating func evict(_ domain: String, now: Int64) {
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

    /// Keeps the jar within its bound.
    mutating func evict(now: Int64) {
        let limit = max(1, limits.total)
        guard count > limit else { return }
        remove(.expired) { $0.isExpired(at: now) }
        guard count > limit else { return }
        let uses = domains.values.joined().map(\.use)
        guard let oldest = uses.min() else { return }
        let last = count - limit == 1 ? oldest : uses.sorted()[count - limit - 1]
        // Cookies that were sent together have the same age: of the youngest that go, only as many as must.
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
