internal import CLibcurl
internal import Glibc

/// A multi handle on a loop: the transfers under way, and the turns in which their observers are notified. Which connection carries
/// a transfer, its ``ConnectionPool`` decides.
///
/// `@unchecked Sendable`: it is made anywhere, and from then on touched on its loop's thread alone.
final class MultiHandle: @unchecked Sendable {
    let core: LoopCore
    private let limits: ConnectionLimits
    let hygiene: ConnectionHygiene
    @exclusivity(unchecked) private var shards: [EngineShard] = []
    /// The shards that have worked in this turn.
    @exclusivity(unchecked) private var acted: [EngineShard] = []
    @exclusivity(unchecked) private var collecting: [EngineShard] = []
    @exclusivity(unchecked) private var pool = EasyHandlePool()
    @exclusivity(unchecked) private(set) var active: [Transfer] = []
    /// Transfers with something new for their observers, and those whose observers are being notified.
    @exclusivity(unchecked) private var changed: [Transfer] = []
    @exclusivity(unchecked) private var notifying: [Transfer] = []
    @exclusivity(unchecked) private var isNotificationScheduled = false
    private var hasEmptyShard = false
    private(set) var isClosed = false
    /// True if it only waits for its transfers to end.
    private var isRetired = false

    /// The sockets that libcurl has.
    @exclusivity(unchecked) var sockets = ConnectionTable()
    /// The handle that connections are closed with.
    private var closer: EasyHandle?
    @exclusivity(unchecked) private var madePool: ConnectionPool?

    var connections: ConnectionPool {
        if let madePool { return madePool }
        let made = ConnectionPool(multi: self, limits: limits)
        madePool = made
        return made
    }

    /// The limit that the session's transfers share; nil if there is none.
    var rate: SharedRate?

    /// Bytes of bodies given to the engine so far; it may wrap.
    var uploadedBytes = 0

    private let idleTimer = IdleTimer()
    private var idleSince = Instant(nanoseconds: 0)

    /// The most slots that a list keeps while it is empty.
    private static let keptCapacity = 4096

    /// For so long a connection waits for another request, whose HEADERS would take along the reset that it owes.
    private static let resetPatience: Int64 = 1_000_000_000

    /// - Throws: ``CurlewError`` if the engine cannot be used.
    init(core: LoopCore, limits: ConnectionLimits) throws {
        try Engine.start()
        self.core = core
        self.limits = limits
        hygiene = ConnectionHygiene(limits)
        core.attach()
    }

    deinit {
        // Only one that was never used gets here without `close`.
        if !isClosed { core.detach() }
    }

    // MARK: Transfers

    /// The number of transfers under way.
    var activeCount: Int { active.count }

    /// The number of open connections, idle ones included.
    var connectionCount: Int { madePool?.count ?? 0 }

    /// Transfers that wait for a connection, those that have one, and connections in use, idle and on their way.
    struct Figures {
        var waiting = 0
        var streams = 0
        var active = 0
        var idle = 0
        var pending = 0
        /// Those in use that were switched to another protocol.
        var upgraded = 0
    }

    /// The figures of this moment.
    var figures: Figures {
        var figures = madePool?.figures ?? Figures()
        figures.streams = active.count { $0.connection?.isUsed == true }
        figures.upgraded = active.count { $0.isLongLived }
        return figures
    }

    /// Begins an attempt of `transfer`: gives it a handle and hands it to the engine.
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

    /// Takes an attempt away from the engine, which closes its connection unless the exchange was complete.
    func end(_ transfer: Transfer, _ easy: EasyHandle) {
        guard transfer.position >= 0 else { return }
        if let moved = active.remove(swappingAt: transfer.position) { moved.position = transfer.position }
        transfer.position = -1
        if !transfer.isLongLived { core.activeCount -= 1 }
        transfer.connection?.shard?.remove(easy)
        recycle(easy)
        noteUse()
    }

    /// A transfer has become a connection of another protocol, which may be idle for hours and keeps no loop awake.
    func noteUpgrade(of transfer: Transfer) {
        guard transfer.position >= 0, !transfer.isLongLived else { return }
        transfer.isLongLived = true
        core.activeCount -= 1
    }

    private func recycle(_ easy: EasyHandle) {
        easy.clear()
        if !isClosed { pool.put(easy) }
    }

    // MARK: Notifying

    /// Notes that a transfer has something new for its observer, who is notified at the end of the turn: this may be inside one
    /// of libcurl's callbacks, and more may come in this turn.
    func markChanged(_ transfer: Transfer) {
        guard !transfer.isChanged else { return }
        transfer.isChanged = true
        changed.append(transfer)
        scheduleNotification()
    }

    /// Notes that the engine has worked, and may have finished something.
    func scheduleNotification() {
        guard !isNotificationScheduled else { return }
        isNotificationScheduled = true
        core.scheduleNotification(by: self)
    }

    /// Collects what the engine has finished and notifies the observers of what is new.
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

    /// Learns of what libcurl has finished where a transfer is, that itself perhaps among it.
    func collectFinished(of transfer: Transfer) {
        guard transfer.position >= 0 else { return }
        transfer.connection?.shard?.collect { easy, result in easy.transfer?.engineFinished(result) }
    }

    /// A shard has worked, and may have finished something.
    func hasActed(_ shard: EngineShard) {
        acted.append(shard)
        scheduleNotification()
    }

    // MARK: Multi handles

    /// A multi handle that has room for one more connection. Connections that are upgraded have multi handles of their own: libcurl looks
    /// through all connections of one at the end of each exchange.
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

    /// Frees the multi handles that have no connection any more, but for one.
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

    // MARK: Connections that end

    /// libcurl has closed a connection.
    func noteClosed(_ connection: Connection) {
        connections.noteClosed(connection)
        guard connection.origin != nil, let shard = connection.shard else { return }
        shard.connectionCount -= 1
        if shard.connectionCount == 0 { hasEmptyShard = true }
    }

    /// Notes that a transfer ended early, so that its peer learns soon that nobody listens any more.
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

    /// True if nobody uses the connection.
    func mayEnd(_ connection: Connection) -> Bool { knows(connection) && connection.users == 0 }

    // MARK: Ends

    /// After a time without any transfer the engine is freed, and with it every idle connection. Called when one has ended.
    func noteUse() {
        guard active.isEmpty, madePool?.waitingCount ?? 0 == 0 else { return }
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

    /// Closes every connection, if none is in use.
    /// - Returns: Whether it had libcurl close any.
    @discardableResult
    func closeIdleConnections() -> Bool {
        guard active.isEmpty, madePool?.waitingCount ?? 0 == 0 else { return false }
        madePool?.leaveIdle()
        guard !shards.isEmpty else { return false }
        core.engines.removeAll { $0 === self }
        pool.removeAll()
        closer = nil
        // libcurl closes its connections, and may set its timer once more.
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

    /// Gives up idle connections for a new one, as the process has no descriptor left: those of the loop's sessions that are
    /// idle as a whole now, else one of this one's.
    /// - Returns: Whether there are any.
    func makeRoom() -> Bool {
        var hasRoom = false
        for other in core.engines where other !== self && other.active.isEmpty && other.connectionCount > 0 {
            if other.closeIdleConnections() { hasRoom = true }
        }
        return hasRoom || connections.closeOldestIdle()
    }

    /// Has libcurl close a connection that nobody uses, at once: a handle finds it by its name, and has nothing to send.
    func closeNow(_ connection: Connection) {
        guard let shard = connection.shard, let easy = makeCloser(of: connection), (try? shard.add(easy)) != nil else {
            return connection.giveUp()
        }
        shard.act(on: CURL_SOCKET_TIMEOUT, 0)
        shard.remove(easy)
        easy.clear()
        if !connection.isClosed { connection.giveUp() }
    }

    /// The kept handle, or a new one where that cannot take on the options of the connection.
    private func makeCloser(of connection: Connection) -> EasyHandle? {
        if let closer, (try? closer.prepareToClose(connection)) != nil { return closer }
        closer = try? EasyHandle(multi: self)
        guard let closer, (try? closer.prepareToClose(connection)) != nil else { return nil }
        return closer
    }

    /// Lets the transfers under way end on their connections, and closes it then, or at once if there are none. No other
    /// may begin on it.
    func retire() {
        isRetired = true
        guard !active.isEmpty || (madePool?.waitingCount ?? 0) > 0 else { return close() }
        endLost()
        madePool?.leaveIdle()
    }

    /// Ends the connections whose local address the machine does not have any more, as nothing can arrive there, and what
    /// is under way on them.
    func endLost() {
        let lost = sockets.all.filter { $0.origin != nil && !$0.hasLocalAddress }
        guard !lost.isEmpty else { return }
        // What has ended is not lost.
        notifyObservers()
        for connection in lost where knows(connection) {
            for transfer in active where transfer.connection === connection {
                transfer.fail(CurlewError(.connectionLost, "the machine has lost the address of the connection"))
            }
            if knows(connection) { connections.leave(connection) }
        }
    }

    /// Ends every transfer with an error, closes every connection and detaches from the loop. Nothing begins afterwards.
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
    weak var owner: MultiHandle?

    override func fire() { owner?.idleTimerFired() }
}
