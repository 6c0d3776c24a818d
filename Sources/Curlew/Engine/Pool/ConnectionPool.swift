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
    func submit(_ transfer: Transfer) {
        let origin = origins.origin(for: transfer.request, isHTTP11: transfer.needsHTTP11)
        if !transfer.needsNewConnection, let connection = takeUsable(origin) { return start(transfer, on: connection) }
        if transfer.needsNewConnection { origin.newcomers += 1 }
        transfer.waitingPlace = origin.waiting.append(transfer)
        transfer.waitsAt = origin
        waitingCount += 1
        // Not at once: what ends in this turn may leave a connection.
        scheduleService(of: origin)
    }

    /// An exchange that waits gives up.
    func withdraw(_ transfer: Transfer) {
        guard let origin = transfer.waitsAt else { return }
        origin.waiting.remove(at: transfer.waitingPlace)
        endWaiting(transfer, origin)
        cancelNeedlessDials(origin)
        origins.forgetIfUnused(origin)
    }

    private func endWaiting(_ transfer: Transfer, _ origin: OriginPool) {
        waitingCount -= 1
        transfer.waitsAt = nil
        if transfer.needsNewConnection { origin.newcomers -= 1 }
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
        } else if connection.users == 0 {
            // The server may permit more by now.
            connection.streamLimit = connection.streamLimit.map { $0 + max(1, $0 / 8) }
            keep(connection)
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

    /// libcurl has refused to send another exchange over a shared connection: the server permits no more streams.
    func becomesFull(_ connection: Connection) { connection.streamLimit = connection.users - 1 }

    /// libcurl has closed a connection.
    func noteClosed(_ connection: Connection) {
        connection.isClosed = true
        leave(connection)
    }

    // MARK: Connections that are used

    private func takeUsable(_ origin: OriginPool) -> Connection? {
        let most = limits.streamsPerConnection > 0 ? limits.streamsPerConnection : .max
        for connection in origin.shared where connection.hasRoom(limit: most) {
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

    private func makePending(_ connection: Connection, _ origin: OriginPool) {
        connection.isPending = true
        origin.pending += 1
    }

    /// Keeps a connection that nobody uses, for a while.
    private func keep(_ connection: Connection) {
        idle.insert(connection, at: now)
        while idle.count > max(1, limits.idle), let oldest = idle.oldest { leave(oldest) }
        if deadline == .distantFuture { setTimer() }
        wakeStarved()
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
        wakeStarved()
    }

    /// Another place may give a connection up now.
    private func wakeStarved() {
        guard !starved.isEmpty else { return }
        for origin in starved {
            origin.isStarved = false
            scheduleService(of: origin)
        }
        starved = []
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
        var next = 0
        while next < toBeServed.count {
            let origin = toBeServed[next]
            next += 1
            origin.isToBeServed = false
            while origin.waiting.count > origin.newcomers, let connection = takeUsable(origin) {
                guard let transfer = popJoiner(origin) else { break }
                start(transfer, on: connection)
            }
            dial(for: origin)
            origins.forgetIfUnused(origin)
        }
        toBeServed.removeAll(keepingCapacity: true)
        while let connection = toBeClosed.popLast() { if !connection.isClosed { multi.closeNow(connection) } }
    }

    private func popJoiner(_ origin: OriginPool) -> Transfer? {
        guard let transfer = origin.waiting.first(where: { !$0.needsNewConnection }) else { return nil }
        origin.waiting.remove(at: transfer.waitingPlace)
        endWaiting(transfer, origin)
        return transfer
    }

    // MARK: New connections

    private func dial(for origin: OriginPool) {
        var wanted = origin.wantedDials(limit: perHost)
        // An exchange that needs a new connection takes the place of one that is idle.
        if wanted == 0, origin.newcomers > origin.dials.count, origin.count >= perHost,
            let oldest = origin.idle.first ?? origin.shared.first
        {
            leave(oldest)
            wanted = origin.wantedDials(limit: perHost)
        }
        while wanted > 0,
            let transfer = origin.waiting.first(where: \.isWaiting) ?? origin.waiting.first(where: { _ in true })
        {
            guard hasRoom() else {
                if !origin.isStarved { starved.append(origin) }
                origin.isStarved = true
                return
            }
            begin(PendingDial(for: transfer), origin)
            wanted -= 1
        }
    }

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

    /// The exchange that a connection was begun for fails with it, and so do those that wait to share that one. Where others serve,
    /// these go on waiting. How long is too long, each knows itself.
    private func fail(_ pending: PendingDial, _ failure: DialFailure, _ origin: OriginPool) {
        if !origin.shared.isEmpty, let transfer = pending.transfer, !transfer.needsNewConnection {
            origin.holdsDials = true
            return transfer.waitsAgain()
        }
        var isShared = origin.sharing != .exclusive
        if case .timeout = failure { isShared = false }
        for transfer in origin.waiting.all
        where transfer === pending.transfer || (isShared && !transfer.needsNewConnection) {
            transfer.connectionFailed(failure)
        }
    }

    /// A connection is made: the exchange that has waited longest gets it.
    private func connected(_ connection: Connection, _ pending: PendingDial, _ origin: OriginPool) {
        origin.pending -= 1
        guard let transfer = origin.waiting.popFirst() else {
            origin.idle.append(connection)
            return keep(connection)
        }
        endWaiting(transfer, origin)
        passOn(pending, origin, takenBy: transfer)
        if origin.key.use != .exclusive { makePending(connection, origin) }
        start(transfer, on: connection)
        scheduleService(of: origin)
    }

    /// Another exchange has the connection that was begun for one that waits on. The connection that was begun for that other one is
    /// this one's now. If there is none it waits again, with its limit of time.
    private func passOn(_ pending: PendingDial, _ origin: OriginPool, takenBy transfer: Transfer) {
        guard let left = pending.transfer, left !== transfer, left.waitsAt != nil else { return }
        if let other = origin.dials.first(where: { $0.transfer === transfer }) {
            other.transfer = left
        } else {
            left.waitsAgain()
        }
    }

    /// A connection that others than the one that gives up could use goes on being made.
    private func cancelNeedlessDials(_ origin: OriginPool) {
        let needed =
            origin.sharing == .exclusive || origin.newcomers > 0 ? origin.waiting.count : min(1, origin.waiting.count)
        while origin.dials.count > needed, let pending = origin.dials.popLast() {
            pending.dial?.cancel()
            origin.pending -= 1
            noteLess(origin)
            if let transfer = pending.transfer, transfer.waitsAt != nil { transfer.waitsAgain() }
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
            for connection in origin.idle where !connection.isHandedOver { end(connection) }
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
