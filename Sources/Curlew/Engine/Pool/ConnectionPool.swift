internal import Glibc

/// The connections of an engine, and the decision which of them carries an exchange: one without an exchange, a stream of one that is
/// shared, a new one, or the queue.
///
/// libcurl gets an exchange with the connection that it is to use (``ConnectionName``), and no exchange that waits for one. What
/// happens inside of libcurl's callbacks is noted; it has consequences at the end of the turn (``serve()``).
/// Not `Sendable`: it never leaves its loop's thread.
final class ConnectionPool: LoopTimer {
    unowned let multi: MultiHandle
    private let core: LoopCore
    private let limits: ConnectionLimits
    private let dialler: Dialler
    @exclusivity(unchecked) private var origins = OriginDirectory()

    /// All connections, those being made included.
    @exclusivity(unchecked) private(set) var count = 0
    /// The number of exchanges that wait.
    @exclusivity(unchecked) private(set) var waitingCount = 0
    @exclusivity(unchecked) private var idle = IdleConnections()
    @exclusivity(unchecked) private var toBeServed: [OriginPool] = []
    /// Places that wait for another one to give a connection up, as the session has as many as it may have.
    private var starved: [OriginPool] = []
    private var toBeClosed: [Connection] = []
    private let idleLifetime: Int64

    init(multi: MultiHandle, limits: ConnectionLimits) {
        self.multi = multi
        core = multi.core
        self.limits = limits
        dialler = Dialler(multi: multi)
        idleLifetime = max(0, limits.idleLifetime.nanosecondsClamped)
    }

    private var now: Instant { core.now }
    private var perHost: Int { limits.perHost > 0 ? limits.perHost : .max }

    // MARK: Exchanges

    /// Gives an exchange a connection, now or later. Not from within libcurl.
    /// - Parameter hasWaited: True if its connection had no room for it: it is the next.
    func submit(_ transfer: Transfer, hasWaited: Bool = false) {
        let origin = origins.origin(for: transfer.prepared, isHTTP11: transfer.needsHTTP11)
        // Places that wait for room come first.
        if starved.isEmpty, !transfer.needsNewConnection, let connection = takeUsable(origin) {
            return start(transfer, on: connection)
        }
        if transfer.needsNewConnection {
            origin.newcomers += 1
            if transfer.isLoner { origin.loners += 1 }
        }
        if hasWaited { origin.waiting.prepend(transfer) } else { origin.waiting.append(transfer) }
        transfer.waitsAt = origin
        waitingCount += 1
        // Not at once: what ends in this turn may leave a connection.
        scheduleService(of: origin)
    }

    /// An exchange that waits gives up.
    func withdraw(_ transfer: Transfer) {
        guard let origin = transfer.waitsAt else { return }
        endWaiting(transfer, origin)
        cancelNeedlessDials(origin)
        origins.forgetIfUnused(origin)
    }

    private func endWaiting(_ transfer: Transfer, _ origin: OriginPool) {
        origin.waiting.remove(transfer)
        waitingCount -= 1
        transfer.waitsAt = nil
        if transfer.needsNewConnection {
            origin.newcomers -= 1
            if transfer.isLoner { origin.loners -= 1 }
        }
        // A connection that was begun for it goes on being made, for another.
        guard !origin.dials.isEmpty, let dial = origin.dial(of: transfer) else { return }
        dial.pass(to: nil)
        origin.hasOwnerlessDials = true
    }

    private func start(_ transfer: Transfer, on connection: Connection) {
        connection.users += 1
        transfer.start(on: connection)
    }

    /// An exchange is done with its connection. Not from within libcurl.
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
        } else if connection.isEndedByEngine || !connection.mayServe() {
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

    // MARK: What is learned of a connection, also from within libcurl

    /// The first exchange of a connection is about to go out over it.
    func learn(_ connection: Connection, isHTTP2: Bool) {
        guard let origin = connection.origin, !connection.isUsed else { return }
        connection.isMultiplexed = isHTTP2
        origin.sharing = isHTTP2 ? .shared : .exclusive
        if isHTTP2 { origin.shared.append(connection) }
        settle(connection, origin)
    }

    /// A connection is pending no more.
    private func settle(_ connection: Connection, _ origin: OriginPool) {
        if connection.isPending {
            connection.isPending = false
            origin.pending -= 1
        }
        scheduleService(of: origin)
    }

    /// libcurl sends another exchange over a shared connection.
    func noteStream(on connection: Connection) {
        connection.beginStream()
        if let origin = connection.origin, !origin.waiting.isEmpty { scheduleService(of: origin) }
    }

    /// libcurl has closed a connection.
    func noteClosed(_ connection: Connection) {
        connection.isClosed = true
        leave(connection)
    }

    // MARK: Connections that are used

    private func takeUsable(_ origin: OriginPool) -> Connection? {
        for connection in origin.shared where connection.hasRoom(limit: mostStreams) {
            guard connection.mayServe() else {
                leave(connection)
                // The list has changed.
                return takeUsable(origin)
            }
            if connection.users == 0 { idle.remove(connection) }
            return connection
        }
        while let connection = origin.idle.popLast() {
            idle.remove(connection)
            if connection.mayServe() {
                if !connection.isUsed, origin.key.use != .exclusive { makePending(connection, origin) }
                return connection
            }
            leave(connection)
        }
        return nil
    }

    private var mostStreams: Int { limits.streamsPerConnection > 0 ? limits.streamsPerConnection : .max }

    /// A shared connection that is newer than the one that a newcomer has had.
    private func takeShared(_ origin: OriginPool, for newcomer: Transfer) -> Connection? {
        let fitting = origin.shared.last {
            newcomer.mayJoin($0) && $0.hasRoom(limit: mostStreams) && $0.mayServe()
        }
        if let fitting, fitting.users == 0 { idle.remove(fitting) }
        return fitting
    }

    private func makePending(_ connection: Connection, _ origin: OriginPool) {
        connection.isPending = true
        origin.pending += 1
    }

    /// Keeps a connection that nobody uses, for a while.
    private func keep(_ connection: Connection) {
        idle.insert(connection, at: now)
        while idle.count > max(1, limits.idle), let oldest = idle.oldest { leave(oldest) }
        if deadline == .distantFuture { setTimer() }
        if !starved.isEmpty { multi.scheduleNotification() }
    }

    private func setTimer() {
        guard let oldest = idle.oldest else { return }
        core.timers.set(self, to: oldest.idleSince.advanced(by: idleLifetime))
    }

    /// The time of idle connections may be over.
    override func fire() {
        while let oldest = idle.oldest, oldest.idleSince.advanced(by: idleLifetime) <= now { leave(oldest) }
        setTimer()
    }

    /// Takes a connection out of the pool: no other exchange goes over it, and it is closed once nobody uses it.
    func leave(_ connection: Connection) {
        guard !connection.hasLeft, let origin = connection.origin else { return }
        connection.hasLeft = true
        idle.remove(connection)
        // The one that has been idle for longest stands first.
        if let index = origin.idle.firstIndex(where: { $0 === connection }) { origin.idle.remove(at: index) }
        if let index = origin.shared.firstIndex(where: { $0 === connection }) { origin.shared.remove(at: index) }
        if connection.isPending { settle(connection, origin) }
        noteLess(origin)
        if connection.users == 0 { end(connection) }
    }

    private func noteLess(_ origin: OriginPool) {
        origin.count -= 1
        count -= 1
        scheduleService(of: origin)
    }

    private func end(_ connection: Connection) {
        guard !connection.isClosed else { return }
        if connection.isHandedOver {
            if !connection.isEndedByEngine {
                toBeClosed.append(connection)
                multi.scheduleNotification()
            }
            return
        }
        connection.isClosed = true
        connection.shard?.connectionCount -= 1
        core.poller.forget(connection.descriptor)
        close(connection.descriptor)
    }

    // MARK: The end of a turn

    private func scheduleService(of origin: OriginPool) {
        guard !origin.isToBeServed else { return }
        origin.isToBeServed = true
        toBeServed.append(origin)
        multi.scheduleNotification()
    }

    /// Gives connections that have become free, or known, to those who wait. Not from within libcurl.
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
        while let connection = toBeClosed.popLast() { if !connection.isClosed { multi.closeNow(connection) } }
    }

    /// Gives places that wait for room one connection each, in turn, as long as there is room.
    private func serveStarved() {
        while !starved.isEmpty, mayHaveRoom {
            let origin = starved.removeFirst()
            origin.isStarved = false
            if serve(origin, dialling: 1), origin.wantedDials(limit: perHost) > 0 { starve(origin) }
            origins.forgetIfUnused(origin)
        }
    }

    private func starve(_ origin: OriginPool) {
        guard !origin.isStarved else { return }
        origin.isStarved = true
        starved.append(origin)
    }

    /// - Returns: Whether a connection was begun.
    @discardableResult
    private func serve(_ origin: OriginPool, dialling most: Int = .max) -> Bool {
        guard !origin.waiting.isEmpty else { return false }
        makeRoomForOldest(origin)
        while let (transfer, connection) = nextMatch(origin) {
            endWaiting(transfer, origin)
            start(transfer, on: connection)
        }
        if origin.hasOwnerlessDials { passOnDials(origin) }
        return dial(for: origin, atMost: most)
    }

    /// The next that waits, with a connection that may carry it.
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

    // MARK: New connections

    /// A connection that is idle makes room for a newcomer that has waited longest, if the place has as many as it may have.
    private func makeRoomForOldest(_ origin: OriginPool) {
        while origin.count >= perHost, origin.lacksDial, origin.waiting.oldest?.needsNewConnection == true,
            let idle = origin.idle.first
        {
            leave(idle)
            dial(for: origin, atMost: 1)
            if origin.isStarved { return }
        }
    }

    /// - Returns: Whether a connection was begun.
    @discardableResult
    private func dial(for origin: OriginPool, atMost most: Int) -> Bool {
        var wanted = min(most, origin.wantedDials(limit: perHost))
        // A newcomer takes the place of a connection that is idle, or that others share. These go on until they end.
        if wanted == 0, origin.lacksDial, origin.count >= perHost,
            let oldest = origin.idle.first ?? origin.shared.first
        {
            leave(oldest)
            wanted = min(most, origin.wantedDials(limit: perHost))
        }
        let isForNewcomers = !origin.joinersMayWantMore
        var hasBegun = false
        while wanted > 0,
            let transfer = origin.waiting.first(where: {
                $0.isWaiting && ($0.needsNewConnection || !isForNewcomers)
            })
        {
            guard hasRoom() else {
                starve(origin)
                return hasBegun
            }
            begin(PendingDial(for: transfer), origin)
            hasBegun = true
            wanted -= 1
        }
        return hasBegun
    }

    private var mayHaveRoom: Bool { limits.total == 0 || count < limits.total || idle.oldest != nil }

    /// True if there may be one more connection, perhaps in place of one that is idle.
    private func hasRoom() -> Bool {
        guard limits.total > 0, count >= limits.total else { return true }
        guard let oldest = idle.oldest else { return false }
        leave(oldest)
        return true
    }

    private func begin(_ pending: PendingDial, _ origin: OriginPool) {
        origin.count += 1
        count += 1
        origin.pending += 1
        origin.dials.append(pending)
        pending.transfer?.connectionIsMade()
        dialler.begin(pending, at: origin) { [weak self, weak origin] pending, outcome in
            guard let self, let origin else { return }
            self.ended(pending, outcome, origin)
        }
    }

    private func ended(_ pending: PendingDial, _ outcome: Dialler.Outcome, _ origin: OriginPool) {
        origin.dials.removeAll { $0 === pending }
        switch outcome {
        case .success(let connection): connected(connection, pending, origin)
        case .failure(let failure):
            origin.pending -= 1
            noteLess(origin)
            fail(pending, failure, origin)
        }
    }

    /// The exchange that waits for a connection fails with it, and so do those that wait to share it. Where others serve, those that
    /// may join them go on waiting. How long is too long, each knows itself.
    private func fail(_ pending: PendingDial, _ failure: DialFailure, _ origin: OriginPool) {
        var isTimeout = false
        if case .timeout = failure { isTimeout = true }
        let owner = pending.transfer
        guard origin.shared.isEmpty else {
            origin.holdsDials = true
            guard let owner else { return }
            return owner.needsNewConnection ? owner.connectionFailed(failure) : owner.waitsAgain()
        }
        // The limit was another exchange's.
        if isTimeout, pending.isTakenOver { owner?.waitsAgain() } else { owner?.connectionFailed(failure) }
        guard origin.sharing != .exclusive, !isTimeout else { return }
        for transfer in origin.waiting.all where !transfer.needsNewConnection { transfer.connectionFailed(failure) }
    }

    /// A connection is made: the exchange that has waited longest gets it.
    private func connected(_ connection: Connection, _ pending: PendingDial, _ origin: OriginPool) {
        origin.pending -= 1
        guard let transfer = origin.waiting.oldest else {
            origin.idle.append(connection)
            return keep(connection)
        }
        let own = origin.dial(of: transfer)
        endWaiting(transfer, origin)
        // The exchange that has waited for this connection waits for the other one now.
        if let left = pending.transfer, left !== transfer {
            if let own { own.pass(to: left) } else { left.waitsAgain() }
        }
        if origin.key.use != .exclusive { makePending(connection, origin) }
        start(transfer, on: connection)
        scheduleService(of: origin)
    }

    /// A connection that others than the one that gives up could use goes on being made.
    private func cancelNeedlessDials(_ origin: OriginPool) {
        let needed =
            origin.sharing == .exclusive || origin.newcomers > 0 ? origin.waiting.count : min(1, origin.waiting.count)
        while origin.dials.count > needed {
            let index = origin.dials.lastIndex { $0.transfer == nil } ?? origin.dials.count - 1
            let pending = origin.dials.remove(at: index)
            pending.dial?.cancel()
            origin.pending -= 1
            noteLess(origin)
            pending.transfer?.waitsAgain()
        }
        if origin.hasOwnerlessDials { passOnDials(origin) }
    }

    /// A connection whose exchange waits no more is for the one that has waited longest without.
    private func passOnDials(_ origin: OriginPool) {
        origin.hasOwnerlessDials = false
        for pending in origin.dials where pending.transfer == nil {
            guard let next = origin.waiting.first(where: \.isWaiting) else {
                origin.hasOwnerlessDials = true
                return
            }
            pending.pass(to: next)
            next.connectionIsMade()
        }
    }

    // MARK: The pool as a whole

    /// Every exchange that waits.
    var waiting: [Transfer] { origins.all.flatMap(\.waiting.all) }

    /// Exchanges that wait, and connections in use, idle and on their way; streams are left out.
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

    /// A connection that libcurl makes in place of one that has ended, with the same name.
    func another(like connection: Connection) -> Connection? {
        guard let origin = connection.origin, let name = connection.name, let dialled = connection.dialled,
            let shard = connection.shard,
            // libcurl would connect from another local end.
            origin.options.values.route.localInterface == nil
        else { return nil }
        let peer = dialled.peer
        let descriptor = DialAttempt.makeSocket(peer.family)
        guard descriptor >= 0 else { return nil }
        let made = Connection(
            Dialled(descriptor: descriptor, peer: peer, isConnected: false, nameLookUp: .zero, connected: .zero), name,
            origin,
            shard)
        connection.users -= 1
        made.users = 1
        origin.count += 1
        count += 1
        if connection.isPending {
            connection.isPending = false
            made.isPending = true
        }
        return made
    }

    /// Gives every idle connection up.
    func leaveIdle() { while let oldest = idle.oldest { leave(oldest) } }

    /// Closes the connection that has been idle for longest, so that its descriptor is free.
    /// - Returns: Whether there is one.
    func closeOldestIdle() -> Bool {
        guard let oldest = idle.oldest else { return false }
        if oldest.isHandedOver { multi.closeNow(oldest) }
        leave(oldest)
        return true
    }

    /// Forgets everything. libcurl has closed its connections, and no exchange is left.
    func reset() {
        for origin in origins.all {
            for pending in origin.dials { pending.dial?.cancel() }
        }
        origins = OriginDirectory()
        count = 0
        idle = IdleConnections()
        toBeServed = []
        toBeClosed = []
        starved = []
        dialler.forgetNames()
        core.timers.remove(self)
    }
}
