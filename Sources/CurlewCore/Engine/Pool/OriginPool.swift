/// The connections to one origin, and the exchanges that wait for one.
///
/// `OriginPool` holds the state; ``ConnectionPool`` acts on it. It is not `Sendable`: it never leaves its loop's
/// thread.
final class OriginPool {
    /// The kind of the origin's connections.
    enum Sharing: Hashable {
        case unknown
        /// A connection carries one exchange at a time.
        case exclusive
        /// A connection carries many exchanges at a time.
        case shared
    }

    let key: PoolKey
    /// The destination, from the first request to the origin.
    let uri: CurlewURI
    let options: ConnectionOptions
    var sharing: Sharing

    /// Idle connections for one exchange at a time. The newest is last, and is used first.
    @exclusivity(unchecked) var idle: [Connection] = []
    /// Connections for many exchanges at a time.
    @exclusivity(unchecked) var shared: [Connection] = []
    /// The number of all connections, including pending ones.
    @exclusivity(unchecked) var count = 0
    /// The number of connections that are being made, or whose first exchange has not yet shown their kind.
    @exclusivity(unchecked) var pending = 0
    /// The TLS sessions of its connections.
    let tickets: SessionTickets
    @exclusivity(unchecked) var waiting = WaitingLine<Transfer>()
    /// The number of waiting exchanges (*newcomers*) that need a connection newer than their previous one.
    @exclusivity(unchecked) var newcomers = 0
    /// The number of newcomers that cannot share a connection.
    var loners = 0
    /// The connections that are being made.
    var dials: [PendingDial] = []
    /// True if an exchange that had begun one of the dials has stopped waiting.
    var hasOwnerlessDials = false
    /// True if the origin is in the list for service at the end of the turn.
    var isToBeServed = false
    /// True if no shared connection is made until an exchange has ended: the server has refused a connection, and
    /// others serve.
    var holdsDials = false
    /// True if the server has refused an HTTP/2 stream. Its limit may have been unknown, so further connections are
    /// shared only from their first response on: by then libcurl knows the limit.
    var hasRefusedStreams = false
    /// True if the origin waits until another one closes a connection, because the session has reached its limit.
    var isStarved = false

    init(_ key: PoolKey, uri: CurlewURI, options: ConnectionOptions, sharing: Sharing, tickets: SessionTickets) {
        self.key = key
        self.uri = uri
        self.options = options
        self.sharing = sharing
        self.tickets = tickets
    }

    /// True if the origin has no connection and no waiting exchange.
    var isUnused: Bool { count == 0 && waiting.isEmpty }

    /// The number of connections that should be begun now.
    /// - Parameter limit: The greatest number of connections to one origin.
    func wantedDials(limit: Int) -> Int {
        guard !waiting.isEmpty else { return 0 }
        return OriginDemand(
            sharing: sharing, waiting: joinersMayWantMore ? waiting.count : newcomers,
            newcomers: sharing == .shared ? loners : newcomers, dials: dials.count, pending: pending, count: count,
            limit: limit
        ).wanted
    }

    /// False if the exchanges that may join a connection wait for one that already serves.
    var joinersMayWantMore: Bool { !(holdsDials && serves) && !shared.contains(where: \.isFilling) }

    /// True if the origin has a connection for many exchanges, or one that becomes shared with its first response.
    var serves: Bool { !shared.isEmpty || (sharing == .shared && count > dials.count) }

    /// True if a newcomer waits and no connection is being made for it.
    var lacksDial: Bool {
        sharing == .shared ? newcomers > 0 && pending == 0 || loners > pending : newcomers > dials.count
    }

    /// The pending connection that was begun for this exchange; nil without one.
    func dial(of transfer: Transfer) -> PendingDial? { dials.first { $0.transfer === transfer } }
}

/// A connection that is being made.
final class PendingDial {
    var dial: Dial?
    /// The exchange that waits for the connection, and fails with it; nil after it has stopped waiting.
    private(set) weak var transfer: Transfer?
    /// The connect timeout in milliseconds.
    let limit: Int
    /// True if the timeout comes from an exchange that has stopped waiting.
    private(set) var isTakenOver = false
    /// True if the dial was begun again after descriptors ran out.
    var isSecondTry = false

    init(for transfer: Transfer) {
        self.transfer = transfer
        limit = transfer.prepared.options.values.engineConnectTimeout
    }

    /// Assigns the connection to another exchange, or to none.
    func pass(to next: Transfer?) {
        transfer = next
        isTakenOver = true
    }
}

/// The number of connections to one origin that should be made; a pure value.
struct OriginDemand {
    var sharing: OriginPool.Sharing
    /// The number of waiting exchanges.
    var waiting: Int
    /// The number of waiting exchanges that need a new connection.
    var newcomers: Int
    /// The number of connections that are being made.
    var dials: Int
    /// The number of connections that are being made, and of connections whose first exchange has not yet shown their
    /// kind.
    var pending: Int
    /// The number of all connections, including pending ones.
    var count: Int
    /// The greatest number of connections.
    var limit: Int

    /// The number of wanted connections. If exchanges share a connection, or may do so, one is made and the others wait
    /// for it.
    var wanted: Int {
        let needed =
            sharing == .exclusive
            ? waiting - dials
            : max(newcomers + min(1, waiting - newcomers) - pending, newcomers - dials)
        return max(0, min(needed, limit - count))
    }
}
