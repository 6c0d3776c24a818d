/// The connections to one place, and the exchanges that wait for one.
///
/// It keeps the books; ``ConnectionPool`` acts on them. Not `Sendable`: it never leaves its loop's thread.
final class OriginPool {
    /// The kind of the connections there.
    enum Sharing: Hashable {
        case unknown
        /// They carry one exchange at a time.
        case exclusive
        /// They carry many.
        case shared
    }

    let key: PoolKey
    /// Where connections lead, by the first request there.
    let uri: CurlewURI
    let options: ConnectionOptions
    var sharing: Sharing

    /// Connections without an exchange that carry one at a time. The newest is last, and is used first.
    @exclusivity(unchecked) var idle: [Connection] = []
    /// Connections that carry many exchanges.
    @exclusivity(unchecked) var shared: [Connection] = []
    /// All connections, those being made included.
    @exclusivity(unchecked) var count = 0
    /// Connections that are being made, or whose first exchange has not shown yet what they are.
    @exclusivity(unchecked) var pending = 0
    /// The TLS sessions of its connections.
    let tickets: SessionTickets
    @exclusivity(unchecked) var waiting = WaitingLine<Transfer>()
    /// The number of exchanges among them that need a connection which is newer than they are.
    @exclusivity(unchecked) var newcomers = 0
    /// The number of newcomers that share no connection.
    var loners = 0
    /// The connections being made.
    var dials: [PendingDial] = []
    /// True if an exchange waits no more that had begun one of them.
    var hasOwnerlessDials = false
    /// True if it stands in the list of those that are to be served at the end of the turn.
    var isToBeServed = false
    /// True if no connection is made to be shared until an exchange has ended: the server has refused one, and others serve.
    var holdsDials = false
    /// True if it waits for another place to give a connection up, as the session has as many as it may have.
    var isStarved = false

    init(_ key: PoolKey, uri: CurlewURI, options: ConnectionOptions, sharing: Sharing, tickets: SessionTickets) {
        self.key = key
        self.uri = uri
        self.options = options
        self.sharing = sharing
        self.tickets = tickets
    }

    /// True if nothing of it is in use.
    var isUnused: Bool { count == 0 && waiting.isEmpty }

    /// The connections that should be begun now.
    /// - Parameter limit: The most connections to one place.
    func wantedDials(limit: Int) -> Int {
        guard !waiting.isEmpty else { return 0 }
        return OriginDemand(
            sharing: sharing, waiting: joinersMayWantMore ? waiting.count : newcomers,
            newcomers: sharing == .shared ? loners : newcomers, dials: dials.count, pending: pending, count: count,
            limit: limit
        ).wanted
    }

    /// False if those who may join a connection wait for one that serves already.
    var joinersMayWantMore: Bool { !(holdsDials && serves) && !shared.contains(where: \.isFilling) }

    /// True if a connection is there that carries many exchanges, or will once its first response has begun.
    var serves: Bool { !shared.isEmpty || (sharing == .shared && count > dials.count) }

    /// True if a newcomer waits for which no connection is being made.
    var lacksDial: Bool {
        sharing == .shared ? newcomers > 0 && pending == 0 || loners > pending : newcomers > dials.count
    }

    /// A connection for those that wait, being made for one of them.
    func dial(of transfer: Transfer) -> PendingDial? { dials.first { $0.transfer === transfer } }
}

/// A connection being made.
final class PendingDial {
    var dial: Dial?
    /// The exchange that waits for it, and fails with it. It has none once that exchange waits no more.
    private(set) weak var transfer: Transfer?
    /// The milliseconds after which it fails.
    let limit: Int
    /// True if its limit is that of an exchange which waits no more.
    private(set) var isTakenOver = false
    /// True if it was begun anew after descriptors ran out.
    var isSecondTry = false

    init(for transfer: Transfer) {
        self.transfer = transfer
        limit = transfer.prepared.options.values.engineConnectTimeout
    }

    /// Another exchange waits for it now, or none.
    func pass(to next: Transfer?) {
        transfer = next
        isTakenOver = true
    }
}

/// The number of connections to one place that should be made: pure.
struct OriginDemand {
    var sharing: OriginPool.Sharing
    /// Exchanges that wait.
    var waiting: Int
    /// The exchanges among them that need a connection of their own.
    var newcomers: Int
    /// Connections that are being made.
    var dials: Int
    /// These, and the connections whose first exchange has not shown yet what they are.
    var pending: Int
    /// All connections, the pending ones included.
    var count: Int
    /// The most connections.
    var limit: Int

    /// Where exchanges share a connection, or may turn out to, one is made and the others wait for it.
    var wanted: Int {
        let needed =
            sharing == .exclusive
            ? waiting - dials
            : max(newcomers + min(1, waiting - newcomers) - pending, newcomers - dials)
        return max(0, min(needed, limit - count))
    }
}
