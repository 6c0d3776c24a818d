/// The cached addresses of names, for one engine.
///
/// `NameCache` is not `Sendable`: it belongs to the engine's loop. It holds at most ``limit`` names; beyond that the
/// oldest is evicted. Failures and addresses that need no look-up are not cached.
final class NameCache {
    static let limit = 1000

    private struct Entry {
        let addresses: [HostAddress]
        let moment: Instant
    }

    private let limit: Int
    private var entries: [NameQuery: Entry] = [:]

    init(limit: Int = NameCache.limit) { self.limit = max(1, limit) }

    var count: Int { entries.count }

    /// The addresses of a name, if they were found less than `lifetime` ago.
    /// - Parameter lifetime: The lifetime in nanoseconds. The largest number is unlimited, 0 disables the cache.
    func addresses(
        of name: String, family: ConnectionRoute.AddressFamily, lifetime: Int64, now: Instant
    ) -> [HostAddress]? {
        guard lifetime > 0, let entry = entries[NameQuery(name, family)] else { return nil }
        return lifetime == .max || entry.moment.nanoseconds(to: now) < lifetime ? entry.addresses : nil
    }

    /// Stores the addresses that were found at `moment`, in place of older ones.
    func insert(_ addresses: [HostAddress], of name: String, family: ConnectionRoute.AddressFamily, at moment: Instant)
    {
        guard !addresses.isEmpty else { return }
        let query = NameQuery(name, family)
        if entries.count >= limit, entries[query] == nil { removeOldest() }
        entries[query] = Entry(addresses: addresses, moment: moment)
    }

    /// Removes the addresses of a name, because none of them can be reached.
    func remove(_ name: String, family: ConnectionRoute.AddressFamily) { entries[NameQuery(name, family)] = nil }

    func removeAll() { entries.removeAll() }

    /// Evicts the oldest name. A look-up takes longer than this search among a thousand names.
    private func removeOldest() {
        guard let oldest = entries.min(by: { $0.value.moment < $1.value.moment }) else { return }
        entries[oldest.key] = nil
    }
}
