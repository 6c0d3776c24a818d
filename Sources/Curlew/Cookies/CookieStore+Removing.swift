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

    /// Keeps the jar within its bounds after a cookie of a domain came in, in the order of RFC 6265bis §5.7: what has
    /// expired, what is not secure in a domain that has too many, anything in it, anything at all; each time what was
    /// used longest ago.
    mutating func evict(_ domain: String, now: Int64) {
        let isFull = domains[domain, default: []].count > max(1, limits.perDomain)
        guard isFull || count > max(1, limits.total) else { return }
        if isFull {
            removeExpired(of: domain, now: now)
            while let entries = domains[domain], entries.count > max(1, limits.perDomain) {
                let loose = entries.indices.filter { !entries[$0].cookie.isSecure }
                let candidates = loose.isEmpty ? Array(entries.indices) : loose
                guard let index = candidates.min(by: { entries[$0].use < entries[$1].use }) else { break }
                evict(at: index, of: domain)
            }
        }
        guard count > max(1, limits.total) else { return }
        remove(.expired) { $0.isExpired(at: now) }
        while count > max(1, limits.total), let (domain, index) = leastUsed() { evict(at: index, of: domain) }
    }

    private mutating func evict(at index: Int, of domain: String) {
        guard let cookie = domains[domain]?.remove(at: index).cookie else { return }
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
        count -= 1
        note(.evicted, cookie)
    }

    private func leastUsed() -> (String, Int)? {
        var found: (domain: String, index: Int, use: UInt64)?
        for (domain, entries) in domains {
            for (index, entry) in entries.enumerated() where entry.use < found?.use ?? .max {
                found = (domain, index, entry.use)
            }
        }
        return found.map { ($0.domain, $0.index) }
    }
}
