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
    @exclusivity(unchecked) var waiting = WaitingTransfers()
    /// The number of exchanges among them that need a new connection.
    @exclusivity(unchecked) var newcomers = 0
    /// The connections being made.
    var dials: [PendingDial] = []
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
        let joins = !(holdsDials && !shared.isEmpty) && !shared.contains(where: \.isFilling)
        return OriginDemand(
            sharing: sharing, waiting: joins ? waiting.count : newcomers, newcomers: newcomers, dials: dials.count,
            pending: pending, count: count, limit: limit
        ).wanted
    }
}

/// A connection being made.
final class PendingDial {
    var dial: Dial?
    /// The exchange that it was begun for. It may have another connection by the time that this one is there.
    weak var transfer: Transfer?
    /// True if it was begun anew after descriptors ran out.
    var isSecondTry = false

    init(for transfer: Transfer) { self.transfer = transfer }
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
