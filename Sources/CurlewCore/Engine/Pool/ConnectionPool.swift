internal import CurlewPlatform

/// The connections of an engine, and the choice of the connection of an exchange: an idle connection, a stream of a
/// shared one, a new connection, or the queue.
///
/// libcurl gets each exchange with its connection (``ConnectionName``), and no waiting exchange. Events inside
/// libcurl's callbacks are recorded, and processed at the end of the turn (``serve()``). `ConnectionPool` is not
/// `Sendable`: it never leaves its loop's thread.
final class ConnectionPool: LoopTimer {
    unowned let multi: MultiHandle
    private let core: LoopCore
    private let limits: ConnectionLimits
    private lazy var made = NewConnections(for: self, multi, limit: perHost)
    @exclusivity(unchecked) private var origins = OriginDirectory()

    /// The number of all connections, including pending ones.
    @exclusivity(unchecked) private(set) var count = 0
    /// The number of waiting exchanges.
    @exclusivity(unchecked) private(set) var waitingCount = 0
    @exclusivity(unchecked) private var idle = IdleConnections()
    @exclusivity(unchecked) private var toBeServed: [OriginPool] = []
    /// Origins that wait until another one closes a connection, because the session has reached its limit.
    @exclusivity(unchecked) private var starved: [OriginPool] = []
    private let closing: ClosingConnections
    private let idleLifetime: Int64
    /// The origins that are to be reached by TCP (`ConnectionPool+QUIC.swift`).
    var quicFailures = QUICFailures()

    init(multi: MultiHandle, limits: ConnectionLimits) {
        self.multi = multi
        core = multi.core
        closing = ClosingConnections(core: core)
        self.limits = limits
        idleLifetime = max(0, limits.idleLifetime.nanosecondsClamped)
    }

    var now: Instant { core.now }
    private var perHost: Int { limits.perHost > 0 ? limits.perHost : .max }

    // MARK: Exchanges

    /// Gives an exchange a connection, now or later. Not called from within libcurl.
    /// - Parameter hasWaited: True if its connection had no room for it: it then precedes the others in the queue.
    func submit(_ transfer: Transfer, hasWaited: Bool = false) {
        let origin = origins.origin(for: transfer.prepared, use(for: transfer))
        // Origins that wait for room come first.
        if starved.isEmpty, !transfer.needsNewConnection, let connection = takeUsable(origin) {
            return start(transfer, on: connection)
        }
        if transfer.needsNewConnection {
            origin.newcomers += 1
            if transfer.isLoner { origin.loners += 1 }
        }
        let level = transfer.prepared.priority.rawValue
        transfer.waitingPlace =
            hasWaited
            ? origin.waiting.prepend(transfer, level: level) : origin.waiting.append(transfer, level: level)
        transfer.waitsAt = origin
        waitingCount += 1
        // The service is delayed to the end of the turn, because an exchange that ends in this turn may release a
        // connection.
        scheduleService(of: origin)
    }

    /// Removes a waiting exchange from the queue.
    func withdraw(_ transfer: Transfer) {
        guard let origin = transfer.waitsAt else { return }
        endWaiting(transfer, origin)
        made.cancelNeedless(origin)
        origins.forgetIfUnused(origin)
    }

    func endWaiting(_ transfer: Transfer, _ origin: OriginPool) {
        origin.waiting.remove(at: transfer.waitingPlace)
        waitingCount -= 1
        transfer.waitsAt = nil
        if transfer.needsNewConnection {
            origin.newcomers -= 1
            if transfer.isLoner { origin.loners -= 1 }
        }
        // A connection that was begun for this exchange is still opened, and another exchange may use it.
        guard !origin.dials.isEmpty, let dial = origin.dial(of: transfer) else { return }
        dial.pass(to: nil)
        origin.hasOwnerlessDials = true
    }

    func start(_ transfer: Transfer, on connection: Connection) {
        connection.users += 1
        transfer.start(on: connection)
    }

    /// Records that an exchange has finished with its connection. Not called from within libcurl.
    /// - Parameter isKept: False if libcurl has closed the connection with the exchange, or is about to.
    func release(_ connection: Connection, isKept: Bool) {
        connection.users -= 1
        guard let origin = connection.origin else { return }
        if connection.isPending { settle(connection, origin) }
        if !isKept, connection.isHandedOver, !connection.isMultiplexed {
            connection.isEndedByEngine = true
            if !connection.isOpen { multi.forget(connection) }
        }
        origin.holdsDials = false
        if connection.hasLeft {
            if connection.users == 0 { end(connection) }
        } else if connection.isEndedByEngine || !connection.mayServe()
            || connection.isMultiplexed != connection.isShared
        {
            leave(connection)
        } else if !connection.isMultiplexed {
            origin.idle.append(connection)
            keep(connection)
        } else {
            connection.noteSharedUseEnded()
            if connection.users == 0 { keep(connection) }
        }
        scheduleService(of: origin)
    }

    // MARK: Observations, also from within libcurl

    /// Records the protocol of a connection before its first exchange is sent.
    func learn(_ connection: Connection, _ wire: WireProtocol) {
        guard let origin = connection.origin, !connection.isUsed else { return }
        connection.isMultiplexed = wire.hasStreams
        origin.sharing = wire.hasStreams ? .shared : .exclusive
        if connection.isQUIC { quicFailures.noteSuccess(of: origin.key) }
        guard wire.hasStreams else { return settle(connection, origin) }
        let waits = origin.hasRefusedStreams || (Engine.sharesAfterFirstHead && !origin.key.isSecure)
        guard waits else { return share(connection, origin) }
        let timer = FirstHeadTimer(of: connection)
        connection.firstHead = timer
        core.timers.set(timer, to: now.advanced(by: FirstHeadTimer.patience))
    }

    /// Records that the head of a response has begun on an HTTP/2 connection.
    func noteHead(on connection: Connection) {
        guard !connection.isShared, !connection.hasLeft, let origin = connection.origin else { return }
        if let timer = connection.firstHead { core.timers.remove(timer) }
        connection.firstHead = nil
        share(connection, origin)
    }

    /// Stops the wait of other exchanges, because the first response on a connection takes long.
    func firstHeadIsLate(on connection: Connection) {
        if connection.isPending, let origin = connection.origin { settle(connection, origin) }
    }

    private func share(_ connection: Connection, _ origin: OriginPool) {
        connection.isShared = true
        origin.shared.append(connection)
        settle(connection, origin)
    }

    /// Ends the pending state of a connection.
    private func settle(_ connection: Connection, _ origin: OriginPool) {
        if connection.isPending {
            connection.isPending = false
            origin.pending -= 1
        }
        scheduleService(of: origin)
    }

    /// Records that libcurl sends another exchange over a shared connection.
    func noteStream(on connection: Connection) {
        connection.beginStream()
        if let origin = connection.origin, !origin.waiting.isEmpty { scheduleService(of: origin) }
    }

    /// Records that libcurl has closed a connection.
    func noteClosed(_ connection: Connection) {
        connection.isClosed = true
        leave(connection)
    }

    // MARK: Use of connections

    private func takeUsable(_ origin: OriginPool) -> Connection? {
        for connection in origin.shared where connection.hasRoom(limit: mostStreams) {
            guard connection.mayServe() else {
                leave(connection)
                // The search starts again, because the list has changed.
                return takeUsable(origin)
            }
            if connection.users == 0 { idle.remove(connection) }
            return connection
        }
        while let connection = origin.idle.popLast() {
            idle.remove(connection)
            if connection.mayServe() {
                if !connection.isUsed, origin.key.use.isNegotiable { makePending(connection, origin) }
                return connection
            }
            leave(connection)
        }
        return nil
    }

    private var mostStreams: Int { limits.streamsPerConnection > 0 ? limits.streamsPerConnection : .max }

    /// Returns a shared connection that is newer than the newcomer's previous one.
    private func takeShared(_ origin: OriginPool, for newcomer: Transfer) -> Connection? {
        let fitting = origin.shared.last {
            newcomer.mayJoin($0) && $0.hasRoom(limit: mostStreams) && $0.mayServe()
        }
        if let fitting, fitting.users == 0 { idle.remove(fitting) }
        return fitting
    }

    func makePending(_ connection: Connection, _ origin: OriginPool) {
        connection.isPending = true
        origin.pending += 1
    }

    /// Keeps an idle connection for the idle lifetime.
    func keep(_ connection: Connection) {
        idle.insert(connection, at: now)
        while idle.count > max(1, limits.idle), let oldest = idle.oldest { leave(oldest) }
        if deadline == .distantFuture { setTimer() }
        if !starved.isEmpty { multi.scheduleNotification() }
    }

    private func setTimer() {
        guard let oldest = idle.oldest else { return }
        core.timers.set(self, to: oldest.idleSince.advanced(by: idleLifetime))
    }

    /// Closes the idle connections whose lifetime is over.
    override func fire() {
        while let oldest = idle.oldest, oldest.idleSince.advanced(by: idleLifetime) <= now { leave(oldest) }
        setTimer()
    }

    /// Removes a connection from the pool: no other exchange uses it, and it is closed once it is idle.
    func leave(_ connection: Connection) {
        guard !connection.hasLeft, let origin = connection.origin else { return }
        connection.hasLeft = true
        idle.remove(connection)
        // The connection that has been idle longest is the first.
        if let index = origin.idle.firstIndex(where: { $0 === connection }) { origin.idle.remove(at: index) }
        if let index = origin.shared.firstIndex(where: { $0 === connection }) { origin.shared.remove(at: index) }
        if connection.isPending { settle(connection, origin) }
        noteLess(origin)
        if connection.users == 0 { end(connection) }
    }

    func noteMore(_ origin: OriginPool) {
        origin.count += 1
        count += 1
    }

    func noteLess(_ origin: OriginPool) {
        origin.count -= 1
        count -= 1
        scheduleService(of: origin)
    }

    private func end(_ connection: Connection) {
        guard !connection.isClosed else { return }
        if connection.isHandedOver {
            closing.append(connection)
            return multi.scheduleNotification()
        }
        connection.isClosed = true
        connection.shard?.connectionCount -= 1
        core.poller.forget(connection.descriptor)
        close(connection.descriptor)
    }

    // MARK: End of a turn

    func scheduleService(of origin: OriginPool) {
        guard !origin.isToBeServed else { return }
        origin.isToBeServed = true
        toBeServed.append(origin)
        multi.scheduleNotification()
    }

    /// Gives free or newly classified connections to waiting exchanges. Not called from within libcurl.
    func serve() {
        serveStarved()
        var next = 0
        while next < toBeServed.count {
            let origin = toBeServed[next]
            next += 1
            origin.isToBeServed = false
            serve(origin)
            origins.forgetIfUnused(origin)
        }
        toBeServed.removeAll(keepingCapacity: true)
        closing.close()
    }

    /// Gives one connection at a time to each origin that waits for room, in turn, as long as there is room.
    private func serveStarved() {
        while !starved.isEmpty, mayHaveRoom {
            let origin = starved.removeFirst()
            origin.isStarved = false
            if serve(origin, dialling: 1), origin.wantedDials(limit: perHost) > 0 { starve(origin) }
            origins.forgetIfUnused(origin)
        }
    }

    func starve(_ origin: OriginPool) {
        guard !origin.isStarved else { return }
        origin.isStarved = true
        starved.append(origin)
    }

    /// - Returns: True if a connection was begun.
    @discardableResult
    private func serve(_ origin: OriginPool, dialling most: Int = .max) -> Bool {
        guard !origin.waiting.isEmpty else { return false }
        made.makeRoomForNext(origin)
        while let (transfer, connection) = nextMatch(origin) {
            endWaiting(transfer, origin)
            origin.waiting.noteTurn()
            start(transfer, on: connection)
        }
        if origin.hasOwnerlessDials { made.passOn(origin) }
        return made.dial(for: origin, atMost: most)
    }

    /// The next waiting exchange, with a connection that it may use.
    private func nextMatch(_ origin: OriginPool) -> (Transfer, Connection)? {
        if origin.waiting.count > origin.newcomers, let connection = takeUsable(origin),
            let transfer = origin.waiting.first(where: { $0.mayJoin(connection) })
        {
            return (transfer, connection)
        }
        if origin.newcomers > origin.loners, !origin.shared.isEmpty,
            let transfer = origin.waiting.first(where: { $0.needsNewConnection && !$0.isLoner }),
            let connection = takeShared(origin, for: transfer)
        {
            return (transfer, connection)
        }
        return nil
    }

    /// True if the session has reached its limit of connections.
    var isFull: Bool { limits.total > 0 && count >= limits.total }
    var hasIdle: Bool { idle.oldest != nil }
    private var mayHaveRoom: Bool { !isFull || hasIdle }

    /// Makes room for a further connection; it may close an idle one.
    /// - Returns: True if there is room.
    func makeRoom() -> Bool {
        guard isFull else { return true }
        guard let oldest = idle.oldest else { return false }
        leave(oldest)
        return true
    }

    // MARK: Inspection and reset

    /// All waiting exchanges.
    var waiting: [Transfer] { origins.all.flatMap(\.waiting.all) }

    /// The counts of waiting exchanges, and of active, idle and pending connections. Streams are not counted here.
    var figures: MultiHandle.Figures {
        var figures = MultiHandle.Figures()
        figures.waiting = waiting.count { $0.isWaiting }
        figures.idle = idle.count
        for origin in origins.all {
            figures.pending += origin.dials.count
            figures.active += origin.count - origin.dials.count
        }
        figures.active -= idle.count
        return figures
    }

    /// Removes every idle connection.
    func leaveIdle() { while let oldest = idle.oldest { leave(oldest) } }

    /// Closes the connection that has been idle longest, so that its descriptor is free.
    /// - Returns: True if there was one.
    func closeOldestIdle() -> Bool {
        guard let oldest = idle.oldest else { return false }
        if oldest.isHandedOver { multi.closeNow(oldest) }
        leave(oldest)
        return true
    }

    /// Removes all state, except for the knowledge about origins. libcurl has closed its connections, and no exchange
    /// is left.
    func reset() {
        for origin in origins.all {
            for pending in origin.dials { pending.dial?.cancel() }
        }
        origins.forgetAll()
        count = 0
        idle = IdleConnections()
        toBeServed = []
        closing.removeAll()
        starved = []
        made.forgetNames()
        core.timers.remove(self)
    }
}
