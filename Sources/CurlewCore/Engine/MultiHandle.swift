internal import CLibcurl
internal import CurlewPlatform

/// The running transfers of an engine on a loop, and the turns in which their observers are notified. The
/// ``ConnectionPool`` chooses the connection of a transfer.
///
/// `@unchecked Sendable`: an instance is made anywhere, and then accessed on its loop's thread only.
final class MultiHandle: @unchecked Sendable {
    let core: LoopCore
    private let limits: ConnectionLimits
    let hygiene: ConnectionHygiene
    @exclusivity(unchecked) private var shards: [EngineShard] = []
    /// The shards that were called in this turn.
    @exclusivity(unchecked) private var acted: [EngineShard] = []
    @exclusivity(unchecked) private var collecting: [EngineShard] = []
    @exclusivity(unchecked) private var pool = EasyHandlePool()
    @exclusivity(unchecked) private(set) var active: [Transfer] = []
    /// Transfers with news for their observers, and transfers whose observers are being notified.
    @exclusivity(unchecked) private var changed: [Transfer] = []
    @exclusivity(unchecked) private var notifying: [Transfer] = []
    @exclusivity(unchecked) private var isNotificationScheduled = false
    private var hasEmptyShard = false
    private(set) var isClosed = false
    /// True if the handle only waits for its transfers to end.
    private var isRetired = false

    /// The sockets that libcurl has.
    @exclusivity(unchecked) var sockets = ConnectionTable()
    /// The handle for closing connections.
    private var closer: EasyHandle?
    @exclusivity(unchecked) private var madePool: ConnectionPool?

    var connections: ConnectionPool {
        if let madePool { return madePool }
        let made = ConnectionPool(multi: self, limits: limits)
        madePool = made
        return made
    }

    /// The rate limit that the session's transfers share; nil without a limit.
    var rate: SharedRate?

    /// The bytes of bodies given to libcurl so far; the count may wrap.
    var uploadedBytes = 0

    private let idleTimer = IdleTimer()
    private var idleSince = Instant(nanoseconds: 0)

    /// The greatest capacity that an empty list keeps.
    private static let keptCapacity = 4096

    /// The time for which an idle connection waits for another request, whose HEADERS would also send the pending
    /// reset.
    private static let resetPatience: Int64 = 1_000_000_000

    /// - Throws: ``CurlewError`` if libcurl cannot be used.
    init(core: LoopCore, limits: ConnectionLimits) throws {
        try Engine.start()
        self.core = core
        self.limits = limits
        hygiene = ConnectionHygiene(limits)
        core.attach()
    }

    deinit {
        // Only an unused handle is released without `close`.
        if !isClosed { core.detach() }
    }

    // MARK: Transfers

    /// The number of running transfers.
    var activeCount: Int { active.count }

    /// The number of open connections, idle ones included.
    var connectionCount: Int { madePool?.count ?? 0 }

    /// The number of waiting transfers, of transfers with a connection, and of active, idle and pending connections.
    struct Figures {
        var waiting = 0
        var streams = 0
        var active = 0
        var idle = 0
        var pending = 0
        /// The connections in use that were switched to another protocol.
        var upgraded = 0
    }

    /// The present counts.
    var figures: Figures {
        var figures = madePool?.figures ?? Figures()
        figures.streams = active.count { $0.connection?.isUsed == true }
        figures.upgraded = active.count { $0.isLongLived }
        return figures
    }

    /// Begins an attempt of `transfer`: gives it a handle and adds the handle to libcurl.
    func begin(_ transfer: Transfer) throws {
        guard let shard = transfer.connection?.shard else {
            throw CurlewError(.engineFailed, "an exchange has no connection")
        }
        let easy = try pool.take(for: transfer.prepared) ?? EasyHandle(multi: self)
        easy.transfer = transfer
        do {
            try transfer.configure(easy)
            try shard.add(easy)
        } catch {
            transfer.engineRefuses()
            recycle(easy)
            throw error
        }
        transfer.position = active.count
        active.append(transfer)
        core.activeCount += 1
    }

    /// Removes an attempt from libcurl, which closes its connection unless the exchange was complete.
    func end(_ transfer: Transfer, _ easy: EasyHandle) {
        guard transfer.position >= 0 else { return }
        if let moved = active.remove(swappingAt: transfer.position) { moved.position = transfer.position }
        transfer.position = -1
        if !transfer.isLongLived { core.activeCount -= 1 }
        transfer.connection?.shard?.remove(easy)
        recycle(easy)
        noteUse()
    }

    /// Records that a transfer has become a connection of another protocol, which may be idle for hours. It does not
    /// keep the loop awake.
    func noteUpgrade(of transfer: Transfer) {
        guard transfer.position >= 0, !transfer.isLongLived else { return }
        transfer.isLongLived = true
        core.activeCount -= 1
    }

    private func recycle(_ easy: EasyHandle) {
        easy.clear()
        if !isClosed { pool.put(easy) }
    }

    // MARK: Notifications

    /// Records that a transfer has news for its observer. The observer is notified at the end of the turn, because this
    /// may be inside one of libcurl's callbacks, and more news may follow in this turn.
    func markChanged(_ transfer: Transfer) {
        guard !transfer.isChanged else { return }
        transfer.isChanged = true
        changed.append(transfer)
        scheduleNotification()
    }

    /// Records that libcurl was called, so that transfers may have ended.
    func scheduleNotification() {
        guard !isNotificationScheduled else { return }
        isNotificationScheduled = true
        core.scheduleNotification(by: self)
    }

    /// Collects the transfers that libcurl has ended, and notifies the observers of all changes.
    func notifyObservers() {
        isNotificationScheduled = false
        collect()
        madePool?.serve()
        if hasEmptyShard { freeEmptyShards() }
        swap(&changed, &notifying)
        for transfer in notifying {
            transfer.isChanged = false
            transfer.turnEnds()
        }
        notifying.removeAll(keepingCapacity: notifying.capacity <= Self.keptCapacity)
    }

    private func collect() {
        swap(&acted, &collecting)
        for shard in collecting { shard.collect { easy, result in easy.transfer?.engineFinished(result) } }
        collecting.removeAll(keepingCapacity: true)
    }

    /// Collects the ended transfers of a transfer's shard; this transfer may be among them.
    func collectFinished(of transfer: Transfer) {
        guard transfer.position >= 0 else { return }
        transfer.connection?.shard?.collect { easy, result in easy.transfer?.engineFinished(result) }
    }

    /// Records that a shard was called, so that its transfers may have ended.
    func hasActed(_ shard: EngineShard) {
        acted.append(shard)
        scheduleNotification()
    }

    // MARK: Multi handles

    /// Returns a multi handle with room for a further connection.
    ///
    /// Upgraded connections have multi handles of their own, because libcurl examines all connections of a multi handle
    /// at the end of each exchange.
    func shardWithRoom(isUpgraded: Bool) throws -> EngineShard {
        guard !isClosed else { throw CurlewError(.sessionInvalidated, "the session has ended") }
        let withRoom = shards.last {
            $0.connectionCount == 0 || $0.isUpgraded == isUpgraded && $0.connectionCount < EngineShard.connectionLimit
        }
        if let withRoom {
            withRoom.isUpgraded = isUpgraded
            return withRoom
        }
        let made = try EngineShard(multi: self)
        made.isUpgraded = isUpgraded
        if shards.isEmpty { core.engines.append(self) }
        shards.append(made)
        return made
    }

    /// Frees the multi handles without connections, except for one.
    private func freeEmptyShards() {
        hasEmptyShard = false
        guard shards.count > 1 else { return }
        for shard in shards where shard.connectionCount == 0 && shards.count > 1 {
            guard !acted.contains(where: { $0 === shard }) else {
                hasEmptyShard = true
                continue
            }
            shards.removeAll { $0 === shard }
            shard.end()
            core.timers.remove(shard)
        }
    }

    // MARK: Ended connections

    /// Records that libcurl has closed a connection.
    func noteClosed(_ connection: Connection) {
        connections.noteClosed(connection)
        guard connection.origin != nil, let shard = connection.shard else { return }
        shard.connectionCount -= 1
        if shard.connectionCount == 0 { hasEmptyShard = true }
    }

    /// Records that a transfer ended early. Its peer is then informed soon that no transfer reads the stream.
    func noteDropped(on connection: Connection?) {
        guard let connection, connection.isMultiplexed, mayEnd(connection) else { return }
        guard !connection.isSilent else { return connections.leave(connection) }
        guard Engine.keepsResetsBack else { return }
        connection.owesReset = true
        core.timers.set(connection, to: core.now.advanced(by: Self.resetPatience))
    }

    /// Ends the transfers on a connection that cannot be watched.
    func failUsers(of descriptor: Int32, _ error: CurlewError) {
        guard let connection = connection(descriptor), connection.isGivenUp else { return }
        connection.user?.transfer?.fail(error)
        for transfer in active where transfer.connection === connection { transfer.fail(error) }
        connections.leave(connection)
    }

    /// True if libcurl has the connection and no exchange uses it.
    func mayEnd(_ connection: Connection) -> Bool { knows(connection) && connection.users == 0 }

    // MARK: Shutdown

    /// Starts the idle time if no transfer is left. After it the engine is freed, with every idle connection. Called
    /// after each end of a transfer.
    func noteUse() {
        guard !isClosed, active.isEmpty, madePool?.waitingCount ?? 0 == 0 else { return }
        idleSince = core.now
        if idleTimer.owner == nil { idleTimer.owner = self }
        guard isRetired || idleTimer.deadline == .distantFuture else { return }
        core.timers.set(idleTimer, to: idleEnd)
    }

    fileprivate func idleTimerFired() {
        guard active.isEmpty, madePool?.waitingCount ?? 0 == 0, !isClosed else { return }
        if isRetired { return close() }
        if idleEnd <= core.now { closeIdleConnections() } else { core.timers.set(idleTimer, to: idleEnd) }
    }

    private var idleEnd: Instant {
        isRetired ? idleSince : idleSince.advanced(by: max(0, limits.idleLifetime.nanosecondsClamped))
    }

    /// Closes every connection if none is in use.
    /// - Returns: True if libcurl was made to close its connections.
    @discardableResult
    func closeIdleConnections() -> Bool {
        guard active.isEmpty, madePool?.waitingCount ?? 0 == 0 else { return false }
        madePool?.leaveIdle()
        guard !shards.isEmpty else { return false }
        core.engines.removeAll { $0 === self }
        pool.removeAll()
        closer = nil
        // libcurl closes its connections, and may set its timer again.
        acted = []
        collecting = []
        let ended = shards
        shards = []
        for shard in ended { core.timers.remove(shard) }
        end(ended)
        madePool?.reset()
        CurlAllocator.releaseKept()
        return true
    }

    private func end(_ shards: consuming [EngineShard]) {
        while let shard = shards.popLast() {
            shard.end()
            core.timers.remove(shard)
        }
    }

    /// Closes idle connections for a new one, because the process has no descriptor left. Other sessions on the loop
    /// that are completely idle come first, then this session's oldest idle connection.
    /// - Returns: True if a connection was closed.
    func makeRoom() -> Bool {
        var hasRoom = false
        for other in core.engines where other !== self && other.active.isEmpty && other.connectionCount > 0 {
            if other.closeIdleConnections() { hasRoom = true }
        }
        return hasRoom || connections.closeOldestIdle()
    }

    /// Makes libcurl close an idle connection immediately: a handle without a request finds it by its name.
    func closeNow(_ connection: Connection) {
        guard let shard = connection.shard, let easy = makeCloser(of: connection), (try? shard.add(easy)) != nil else {
            return connection.giveUp()
        }
        shard.act(on: CURL_SOCKET_TIMEOUT, 0)
        shard.remove(easy)
        easy.clear()
        if !connection.isClosed { endShutdown(of: connection) }
    }

    /// Ends a connection that libcurl no longer finds by its name, because it has begun to shut it down.
    func endShutdown(of connection: Connection) {
        guard connection.isOpen else { return forget(connection) }
        connection.giveUp()
        connection.shard?.runShutdowns()
    }

    /// The kept handle, or a new one if the kept one rejects the options of the connection.
    private func makeCloser(of connection: Connection) -> EasyHandle? {
        if let closer, (try? closer.prepareToClose(connection)) != nil { return closer }
        closer = try? EasyHandle(multi: self)
        guard let closer, (try? closer.prepareToClose(connection)) != nil else { return nil }
        return closer
    }

    /// Stops new transfers. The running transfers continue on their connections; then the handle is closed, or at once
    /// without transfers.
    func retire() {
        isRetired = true
        guard !active.isEmpty || (madePool?.waitingCount ?? 0) > 0 else { return close() }
        endLost()
        madePool?.leaveIdle()
    }

    /// Ends the connections whose local address the machine has lost, because no byte can arrive there, and their
    /// transfers.
    func endLost() {
        let lost = sockets.all.filter { $0.origin != nil && !$0.hasLocalAddress }
        guard !lost.isEmpty else { return }
        // Transfers that have already ended are collected first, so that they do not fail.
        notifyObservers()
        for connection in lost where knows(connection) {
            for transfer in active where transfer.connection === connection {
                transfer.fail(CurlewError(.connectionLost, "the machine has lost the address of the connection"))
            }
            if knows(connection) { connections.leave(connection) }
        }
    }

    /// Ends every transfer with an error, closes every connection and detaches from the loop. No transfer begins
    /// afterwards.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        for transfer in active + (madePool?.waiting ?? []) {
            transfer.fail(CurlewError(.sessionInvalidated, "the session has ended"))
        }
        notifyObservers()
        closeIdleConnections()
        madePool?.reset()
        pool.removeAll()
        core.timers.remove(idleTimer)
        core.detach()
    }
}

private final class IdleTimer: LoopTimer {
    // Not weak: a weak reference would make each retain of the handle slow. `close` removes the timer.
    unowned var owner: MultiHandle?

    override func fire() { owner?.idleTimerFired() }
}
