/// The addresses of hosts, with their failures and their requests in flight.
final class AddressPool: Sendable {
    fileprivate struct Entry {
        let address: IPAddress
        var pending = 0
        var failures = 0
        /// The time until which the address is excluded.
        var pauseEnd: Duration?
    }

    fileprivate struct Host {
        var entries: [Entry] = []
        /// The time of the last successful resolution.
        var answeredAt: Duration?
        /// The time of the next resolution.
        var nextLookup = Duration.zero
        var isLookingUp = false
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        /// The index at which the search for the next address begins.
        var turn = 0
        var usedAt = Duration.zero
    }

    private struct State {
        var hosts: [String: Host] = [:]
        var lastWaiter: UInt64 = 0
    }

    private let state = Guarded(State())
    private let lookup: HostLookup
    private let lifetime: Duration
    private let hostLimit: Int
    private let timekeeper: Timekeeper

    /// The time after which a failed resolution is repeated, unless the lifetime is shorter.
    private static let lookupPause = Duration.seconds(5)
    /// The number of lifetimes for which addresses are used without a new resolution.
    private static let staleness = 10
    private static let shortestPause = Duration.seconds(10)
    private static let longestPause = Duration.seconds(300)

    init(_ lookup: HostLookup, lifetime: Duration, hostLimit: Int, _ timekeeper: Timekeeper) {
        self.lookup = lookup
        self.lifetime = max(lifetime, .zero)
        self.hostLimit = hostLimit
        self.timekeeper = timekeeper
    }

    // MARK: Resolution

    /// True if the host has usable addresses. Begins a resolution that is due.
    func hasAddresses(of name: String) -> Bool {
        let now = timekeeper.elapsed()
        let (isReady, begins) = state.withLock { state -> (Bool, Bool) in
            var host = state.hosts[name] ?? Host()
            host.usedAt = now
            let begins = !host.isLookingUp && now >= host.nextLookup
            if begins { host.isLookingUp = true }
            let age = host.answeredAt.map { now - $0 }
            let isStale = age.map { $0 > lifetime * Self.staleness } ?? true
            // While resolutions fail, waiting for one would not help.
            let isReady = !host.isLookingUp || !isStale && !host.entries.isEmpty
            if state.hosts[name] == nil { Self.makeRoom(in: &state.hosts, limit: hostLimit) }
            state.hosts[name] = host
            return (isReady, begins)
        }
        if begins { begin(name) }
        return isReady
    }

    private static func makeRoom(in hosts: inout [String: Host], limit: Int) {
        guard hosts.count >= limit else { return }
        let idle = hosts.filter { !$0.value.isLookingUp }
        guard let oldest = idle.min(by: { $0.value.usedAt < $1.value.usedAt }) else { return }
        hosts[oldest.key] = nil
    }

    private func begin(_ name: String) {
        // The pool is captured weakly: the answer for a host without waiters need not keep it alive.
        lookup.begin(name) { [weak self] answer in self?.take(answer, for: name) }
    }

    private func take(_ answer: HostLookup.Answer, for name: String) {
        let now = timekeeper.elapsed()
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard var host = state.hosts[name] else { return [] }
            host.isLookingUp = false
            switch answer {
            case .success(let found):
                // A route cannot contain link-local addresses with a zone.
                host.update(found.filter { $0.zone == nil }.map(\.address))
                host.answeredAt = now
                host.nextLookup = now + lifetime
            case .failure: host.nextLookup = now + min(lifetime, Self.lookupPause)
            }
            defer { state.hosts[name] = host }
            defer { host.waiters = [:] }
            return Array(host.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for the end of the running resolution, or for the cancellation of the caller's task. The resolution
    /// continues for other waiters.
    func addressesArrive(of name: String) async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let waits = state.withLock { state in
                    guard !Task.isCancelled, state.hosts[name]?.isLookingUp == true else { return false }
                    state.hosts[name]?.waiters[number] = waiter
                    return true
                }
                if !waits { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.hosts[name]?.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    /// The number of tasks that wait for a host, for tests.
    func waiterCount(of name: String) -> Int { state.withLock { $0.hosts[name]?.waiters.count ?? 0 } }

    // MARK: Selection

    /// An address for a request; nil if the request has tried all of them.
    func use(
        of name: String, by strategy: AddressBalancing.Strategy, _ family: ConnectionRoute.AddressFamily,
        except tried: Set<IPAddress>
    ) -> AddressUse? {
        let now = timekeeper.elapsed()
        let address = state.withLock { $0.hosts[name]?.pick(strategy, family, except: tried, now: now) }
        return address.map { AddressUse(host: name, address: $0, pool: self) }
    }

    func ended(_ use: AddressUse) { change(use) { $0.pending = max(0, $0.pending - 1) } }

    func succeeded(_ use: AddressUse) {
        change(use) { entry in
            entry.failures = 0
            entry.pauseEnd = nil
        }
    }

    func failed(_ use: AddressUse) {
        let now = timekeeper.elapsed()
        change(use) { entry in
            // Requests that fail at the same time count as one failure.
            guard entry.pauseEnd.map({ $0 <= now }) ?? true else { return }
            entry.failures += 1
            entry.pauseEnd = now + min(Self.shortestPause * (1 << min(entry.failures - 1, 6)), Self.longestPause)
        }
    }

    private func change(_ use: AddressUse, _ body: (inout Entry) -> Void) {
        state.withLock { state in
            guard let index = state.hosts[use.host]?.entries.firstIndex(where: { $0.address == use.address }) else {
                return
            }
            body(&state.hosts[use.host]!.entries[index])
        }
    }
}

extension AddressPool.Host {
    /// Takes the addresses of a resolution. Known addresses keep their position and their state.
    fileprivate mutating func update(_ addresses: [IPAddress]) {
        guard !addresses.isEmpty else { return }
        let wanted = Set(addresses)
        entries.removeAll { !wanted.contains($0.address) }
        let known = Set(entries.map(\.address))
        for address in addresses where !known.contains(address) {
            entries.append(AddressPool.Entry(address: address))
        }
    }

    /// Selects an address, and counts a request for it. Without another one, the excluded address with the earliest end
    /// is selected.
    fileprivate mutating func pick(
        _ strategy: AddressBalancing.Strategy, _ family: ConnectionRoute.AddressFamily, except tried: Set<IPAddress>,
        now: Duration
    ) -> IPAddress? {
        // The indices begin at the turn, so that the next address precedes equal ones.
        let order = entries.indices.map { (turn + $0) % entries.count }.filter { index in
            let address = entries[index].address
            switch family {
            case .ipv4 where address.isIPv6, .ipv6 where !address.isIPv6: return false
            default: return !tried.contains(address)
            }
        }
        let good = order.filter { entries[$0].pauseEnd.map { $0 <= now } ?? true }
        let chosen: Int?
        if good.isEmpty {
            chosen = order.min { entries[$0].pauseEnd ?? .zero < entries[$1].pauseEnd ?? .zero }
        } else if strategy == .leastPending {
            chosen = good.min { entries[$0].pending < entries[$1].pending }
        } else {
            chosen = good.first
        }
        guard let chosen else { return nil }
        turn = (chosen + 1) % entries.count
        entries[chosen].pending += 1
        return entries[chosen].address
    }
}

/// The use of an address by a request, from its start to the end of its exchange.
final class AddressUse: ExchangeWatcher {
    let host: String
    let address: IPAddress
    private let pool: AddressPool
    private let hasEnded = Guarded(false)

    init(host: String, address: IPAddress, pool: AddressPool) {
        self.host = host
        self.address = address
        self.pool = pool
    }

    // If no exchange reports its end, the use ends when the request is released.
    deinit { end() }

    func ended(_ exchange: any ResponseExchange) { end() }

    func end() {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst { pool.ended(self) }
    }
}
