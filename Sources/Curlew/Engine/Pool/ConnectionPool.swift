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
    private let names = NameCache()
    @exclusivity(unchecked) private var origins: [PoolKey: OriginPool] = [:]
    /// The place of the last exchange: mostly the next one goes there, too.
    @exclusivity(unchecked) private var last: OriginPool?
    /// The places without a connection of which something was learned.
    private var memory: [PoolKey: Memory] = [:]

    private struct Memory {
        let sharing: OriginPool.Sharing
        let tickets: SessionTickets
    }
    private static let memoryLimit = 1000

    /// All connections, those being made included.
    @exclusivity(unchecked) private(set) var count = 0
    /// The number of exchanges that wait.
    @exclusivity(unchecked) private(set) var waitingCount = 0
    @exclusivity(unchecked) private var idle = IdleConnections()
    @exclusivity(unchecked) private var toBeServed: [OriginPool] = []
    private var starved: [OriginPool] = []
    private var toBeClosed: [Connection] = []
    private var lastNumber: UInt64 = 0
    private let idleLifetime: Int64

    init(multi: MultiHandle, limits: ConnectionLimits) {
        self.multi = multi
        core = multi.core
        self.limits = limits
        idleLifetime = max(0, limits.idleLifetime.nanosecondsClamped)
    }

    private var now: Instant { core.now }
    private var perHost: Int { limits.perHost > 0 ? limits.perHost : .max }

    // MARK: Exchanges

    /// Gives an exchange a connection, now or later. Not from within libcurl.
    func submit(_ transfer: Transfer) {
        let origin = origin(for: transfer)
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
        forgetIfUnused(origin)
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
        } else if connection.isEndedByEngine || !connection.mayServe(at: now) {
            leave(connection)
        } else if !connection.isMultiplexed {
            origin.idle.append(connection)
            keep(connection)
        } else if connection.users == 0 {
            connection.streamLimit = nil
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
            guard connection.mayServe(at: now) else {
                leave(connection)
                // The list has changed.
                return takeUsable(origin)
            }
            if connection.users == 0 { idle.remove(connection) }
            return connection
        }
        while let connection = origin.idle.popLast() {
            idle.remove(connection)
            if connection.mayServe(at: now) {
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
        origin.idle.removeAll { $0 === connection }
        origin.shared.removeAll { $0 === connection }
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
        while let origin = toBeServed.popLast() {
            origin.isToBeServed = false
            while origin.waiting.count > origin.newcomers, let connection = takeUsable(origin) {
                guard let transfer = popJoiner(origin) else { break }
                start(transfer, on: connection)
            }
            dial(for: origin)
            forgetIfUnused(origin)
        }
        while let connection = toBeClosed.popLast() { if !connection.isClosed { multi.closeNow(connection) } }
    }

    private func popJoiner(_ origin: OriginPool) -> Transfer? {
        guard let transfer = origin.waiting.first(where: { !$0.needsNewConnection }) else { return nil }
        origin.waiting.remove(at: transfer.waitingPlace)
        endWaiting(transfer, origin)
        return transfer
    }

    // MARK: Places

    private func origin(for transfer: Transfer) -> OriginPool {
        let request = transfer.request
        if let last, last.options === request.options, last.uri.begins(like: request.uri),
            last.key.use == PoolKey.use(of: request, isHTTP11: transfer.needsHTTP11)
        {
            return last
        }
        let key = PoolKey(request, isHTTP11: transfer.needsHTTP11)
        let origin = origins[key] ?? makeOrigin(key, request)
        last = origin
        return origin
    }

    private func makeOrigin(_ key: PoolKey, _ request: PreparedRequest) -> OriginPool {
        let known = memory.removeValue(forKey: key)
        let usual: OriginPool.Sharing =
            switch key.use {
            case .exclusive: .exclusive
            case .shared: .shared
            case .negotiated: known?.sharing ?? .unknown
            }
        let made = OriginPool(
            key, uri: request.uri, options: request.options, sharing: usual, tickets: known?.tickets ?? SessionTickets()
        )
        origins[key] = made
        return made
    }

    private func forgetIfUnused(_ origin: OriginPool) {
        guard origin.isUnused, !origin.isToBeServed, origins[origin.key] === origin else { return }
        if origin.key.isSecure {
            if memory.count >= Self.memoryLimit { memory.removeAll() }
            memory[origin.key] = Memory(sharing: origin.sharing, tickets: origin.tickets)
        }
        origins[origin.key] = nil
        if last === origin { last = nil }
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
        redial(pending, origin)
    }

    /// libcurl connects a Unix socket itself: before 8.0 it connects every socket, and only one of TCP bears that a second time.
    private func openSocket(at path: String, _ pending: PendingDial, _ origin: OriginPool) {
        let address = SocketAddress.unixSocket(Array(path.utf8))
        guard origin.options.permits(address) else { return ended(pending, .failure(.forbidden(address)), origin) }
        guard path.utf8.count <= SocketAddress.longestPath, !path.utf8.isEmpty, !path.utf8.contains(0) else {
            return ended(pending, .failure(.connect(ENAMETOOLONG, tried: [])), origin)
        }
        let descriptor = DialAttempt.makeSocket(AF_UNIX)
        guard descriptor >= 0 else { return ended(pending, .failure(.noDescriptor(errno)), origin) }
        let dialled = Dialled(
            descriptor: descriptor, peer: address, isConnected: false, nameLookUp: .zero, connected: .zero)
        ended(pending, .success(dialled), origin)
    }

    private func redial(_ pending: PendingDial, _ origin: OriginPool) {
        if let path = origin.options.values.route.unixSocket { return openSocket(at: path, pending, origin) }
        let limit = pending.transfer?.request.options.values.engineConnectTimeout ?? Int(Int32.max)
        let plan = origin.plan(
            hygiene: multi.hygiene, deadline: now.advanced(by: Int64(limit) * 1_000_000))
        let options = origin.options
        let surroundings = Dial.Surroundings(core: core, names: names)
        let completion: (Dial.Outcome) -> Void = { [weak self, weak origin, weak pending] outcome in
            guard let self, let origin, let pending else { return }
            self.ended(pending, outcome, origin)
        }
        let dial = Dial(plan, surroundings, gate: { options.permits($0) }, completion: completion)
        pending.dial = dial
        dial.start()
    }

    private func ended(_ pending: PendingDial, _ outcome: Dial.Outcome, _ origin: OriginPool) {
        if case .failure(let failure) = outcome, failure.isLackOfDescriptors, !pending.isSecondTry, multi.makeRoom() {
            pending.isSecondTry = true
            return redial(pending, origin)
        }
        origin.dials.removeAll { $0 === pending }
        switch outcome {
        case .success(let dialled): connected(dialled, pending, origin)
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

    private func connected(_ dialled: Dialled, _ pending: PendingDial, _ origin: OriginPool) {
        lastNumber += 1
        let connection: Connection
        do {
            let name = try ConnectionName(
                number: lastNumber, proxy: origin.options.values.proxy, port: origin.key.port,
                family: origin.options.values.route.addressFamily)
            connection = Connection(dialled, name, origin, try multi.shardWithRoom())
            connection.shard?.connectionCount += 1
        } catch {
            close(dialled.descriptor)
            origin.pending -= 1
            noteLess(origin)
            pending.transfer?.fail(error as? CurlewError ?? CurlewError(.resourcesExhausted, "\(error)"))
            return
        }
        origin.pending -= 1
        guard let transfer = origin.waiting.popFirst() else {
            origin.idle.append(connection)
            return keep(connection)
        }
        endWaiting(transfer, origin)
        if origin.key.use != .exclusive { makePending(connection, origin) }
        start(transfer, on: connection)
        scheduleService(of: origin)
    }

    /// A connection that others than the one that gives up could use goes on being made.
    private func cancelNeedlessDials(_ origin: OriginPool) {
        let needed =
            origin.sharing == .exclusive || origin.newcomers > 0 ? origin.waiting.count : min(1, origin.waiting.count)
        while origin.dials.count > needed, let pending = origin.dials.popLast() {
            pending.dial?.cancel()
            origin.pending -= 1
            noteLess(origin)
        }
    }

    // MARK: The pool as a whole

    /// Every exchange that waits.
    var waiting: [Transfer] { origins.values.flatMap(\.waiting.all) }

    /// Exchanges that wait, and connections in use, idle and on their way; streams are left out.
    var figures: MultiHandle.Figures {
        var figures = MultiHandle.Figures()
        figures.waiting = waiting.count { $0.isWaiting }
        figures.idle = idle.count
        for origin in origins.values {
            figures.pending += origin.dials.count
            figures.active += origin.count - origin.dials.count
        }
        figures.active -= idle.count
        return figures
    }

    /// A connection that libcurl makes in place of one that has ended, with the same name.
    func another(like connection: Connection) -> Connection? {
        guard let origin = connection.origin, let name = connection.name, let dialled = connection.dialled,
            let peer = dialled.peer, let shard = connection.shard,
            // libcurl would connect from another local end.
            origin.options.values.route.localInterface == nil
        else { return nil }
        let descriptor = DialAttempt.makeSocket(peer.family)
        guard descriptor >= 0 else { return nil }
        let made = Connection(
            Dialled(descriptor: descriptor, peer: peer, isConnected: false, nameLookUp: .zero, connected: .zero), name,
            origin,
            shard)
        shard.connectionCount += 1
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
        for origin in origins.values {
            for pending in origin.dials { pending.dial?.cancel() }
            for connection in origin.idle where !connection.isHandedOver { end(connection) }
        }
        origins = [:]
        last = nil
        memory = [:]
        count = 0
        idle = IdleConnections()
        toBeServed = []
        toBeClosed = []
        starved = []
        names.removeAll()
        core.timers.remove(self)
    }
}

/// The connections that nobody uses, the one that has been idle for longest first. Each is a link of the chain itself.
private struct IdleConnections {
    private(set) var oldest: Connection?
    private var newest: Connection?
    private(set) var count = 0

    mutating func insert(_ connection: Connection, at now: Instant) {
        connection.idleSince = now
        connection.isIdle = true
        connection.idleBefore = newest
        newest?.idleAfter = connection
        newest = connection
        if oldest == nil { oldest = connection }
        count += 1
    }

    mutating func remove(_ connection: Connection) {
        guard connection.isIdle else { return }
        connection.isIdle = false
        count -= 1
        if oldest === connection { oldest = connection.idleAfter }
        if newest === connection { newest = connection.idleBefore }
        connection.idleBefore?.idleAfter = connection.idleAfter
        connection.idleAfter?.idleBefore = connection.idleBefore
        connection.idleBefore = nil
        connection.idleAfter = nil
    }
}
