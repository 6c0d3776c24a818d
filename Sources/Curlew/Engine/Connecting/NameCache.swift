/// The addresses that were found for names, of one engine.
///
/// Not `Sendable`: it belongs to the engine's loop. It holds ``limit`` names at most; of more the oldest goes. Failures and
/// addresses that need no look-up are not kept.
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
    /// - Parameter lifetime: In nanoseconds. The largest number is for ever, 0 is never.
    func addresses(
        of name: String, family: ConnectionRoute.AddressFamily, lifetime: Int64, now: Instant
    ) -> [HostAddress]? {
        guard lifetime > 0, let entry = entries[NameQuery(name, family)] else { return nil }
        return lifetime == .max || entry.moment.nanoseconds(to: now) < lifetime ? entry.addresses : nil
    }

    /// Keeps the addresses that were found at `moment`, in the place of older ones.
    func insert(_ addresses: [HostAddress], of name: String, family: ConnectionRoute.AddressFamily, at moment: Instant)
    {
        guard !addresses.isEmpty else { return }
        let query = NameQuery(name, family)
        if entries.count >= limit, entries[query] == nil { removeOldest() }
        entries[query] = Entry(addresses: addresses, moment: moment)
    }

    /// Forgets the addresses of a name, as none of them can be reached.
    func remove(_ name: String, family: ConnectionRoute.AddressFamily) { entries[NameQuery(name, family)] = nil }

    func removeAll() { entries.removeAll() }

    /// A look-up has taken longer than this search among a thousand.
    private func removeOldest() {
        guard let oldest = entries.min(by: { $0.value.moment < $1.value.moment }) else { return }
        entries[oldest.key] = nil
    }
}
