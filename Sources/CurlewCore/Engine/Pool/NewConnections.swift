/// The new connections of a pool: their number, the exchanges they are begun for, and the exchanges that get them.
///
/// `NewConnections` is not `Sendable`: it never leaves its loop's thread.
final class NewConnections {
    private unowned let pool: ConnectionPool
    private let dialler: Dialler
    /// The greatest number of connections to one origin.
    private let limit: Int

    init(for pool: ConnectionPool, _ multi: MultiHandle, limit: Int) {
        self.pool = pool
        self.limit = limit
        dialler = Dialler(multi: multi)
    }

    func forgetNames() { dialler.forgetNames() }

    /// At the limit of connections, closes an idle one for a newcomer that is next in the queue.
    func makeRoomForNext(_ origin: OriginPool) {
        while origin.count >= limit || pool.isFull, origin.lacksDial, origin.waiting.first?.needsNewConnection == true,
            let idle = origin.idle.first
        {
            pool.leave(idle)
            dial(for: origin, atMost: 1)
            if origin.isStarved { return }
        }
    }

    /// - Returns: True if a connection was begun.
    @discardableResult
    func dial(for origin: OriginPool, atMost most: Int) -> Bool {
        var wanted = min(most, origin.wantedDials(limit: limit))
        // A newcomer replaces an idle or shared connection. Exchanges on a shared connection continue until they end.
        let isFull = origin.count >= limit ? wanted == 0 : pool.isFull && !pool.hasIdle
        if isFull, origin.lacksDial,
            let oldest = origin.idle.first ?? origin.shared.first
        {
            pool.leave(oldest)
            wanted = min(most, origin.wantedDials(limit: limit))
        }
        let isForNewcomers = !origin.joinersMayWantMore
        var hasBegun = false
        while wanted > 0,
            let transfer = origin.waiting.first(where: {
                $0.isWaiting && ($0.needsNewConnection || !isForNewcomers)
            })
        {
            guard pool.makeRoom() else {
                pool.starve(origin)
                return hasBegun
            }
            begin(PendingDial(for: transfer), origin)
            hasBegun = true
            wanted -= 1
        }
        return hasBegun
    }

    private func begin(_ pending: PendingDial, _ origin: OriginPool) {
        pool.noteMore(origin)
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
            pool.noteLess(origin)
            fail(pending, failure, origin)
        }
    }

    /// Fails the exchange that waits for a connection, and the exchanges that wait to share it. If other connections
    /// serve the origin, the exchanges that may join them continue to wait. Each exchange limits its own wait.
    private func fail(_ pending: PendingDial, _ failure: DialFailure, _ origin: OriginPool) {
        var isTimeout = false
        if case .timeout = failure { isTimeout = true }
        let owner = pending.transfer
        guard !origin.serves else {
            origin.holdsDials = true
            guard let owner else { return }
            return owner.needsNewConnection ? owner.connectionFailed(failure) : owner.waitsAgain()
        }
        // The timeout was that of another exchange.
        if isTimeout, pending.isTakenOver { owner?.waitsAgain() } else { owner?.connectionFailed(failure) }
        guard origin.sharing != .exclusive, !isTimeout else { return }
        for transfer in origin.waiting.all where !transfer.needsNewConnection { transfer.connectionFailed(failure) }
    }

    /// Gives a new connection to the next exchange.
    private func connected(_ connection: Connection, _ pending: PendingDial, _ origin: OriginPool) {
        origin.pending -= 1
        guard let transfer = next(for: pending, origin) else {
            guard origin.key.use != .upgraded else { return pool.leave(connection) }
            origin.idle.append(connection)
            return pool.keep(connection)
        }
        let own = origin.dial(of: transfer)
        pool.endWaiting(transfer, origin)
        origin.waiting.noteTurn()
        // The exchange that has waited for this connection now waits for the connection of `transfer`.
        if let left = pending.transfer, left !== transfer {
            if let own { own.pass(to: left) } else { left.waitsAgain() }
        }
        if origin.key.use.isNegotiable { pool.makePending(connection, origin) }
        pool.start(transfer, on: connection)
        pool.scheduleService(of: origin)
    }

    /// The exchange that gets a new connection: the next in the queue, except for a newcomer that has begun this one
    /// and can use no kept connection.
    private func next(for pending: PendingDial, _ origin: OriginPool) -> Transfer? {
        if let transfer = pending.transfer, transfer.needsNewConnection, transfer.waitsAt === origin { return transfer }
        return origin.waiting.first
    }

    /// Cancels pending connections that no waiting exchange needs.
    func cancelNeedless(_ origin: OriginPool) {
        let needed =
            origin.sharing == .exclusive || origin.newcomers > 0 ? origin.waiting.count : min(1, origin.waiting.count)
        while origin.dials.count > needed {
            let index = origin.dials.lastIndex { $0.transfer == nil } ?? origin.dials.count - 1
            let pending = origin.dials.remove(at: index)
            pending.dial?.cancel()
            origin.pending -= 1
            pool.noteLess(origin)
            pending.transfer?.waitsAgain()
        }
        if origin.hasOwnerlessDials { passOn(origin) }
    }

    /// Assigns pending connections without an exchange to the next waiting exchanges.
    func passOn(_ origin: OriginPool) {
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
}

/// The connections that libcurl makes.
extension ConnectionPool {
    /// Makes a connection for libcurl to connect in place of an ended one, with the same name.
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
        noteMore(origin)
        if connection.isPending {
            connection.isPending = false
            made.isPending = true
        }
        return made
    }
}
