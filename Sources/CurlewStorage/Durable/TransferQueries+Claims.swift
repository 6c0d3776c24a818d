#if Storage
internal import Curlew
internal import GRDB

/// The order of a queue, and the claims of workers. A statement names its index where SQLite would otherwise use the
/// index of states and scan each row.
extension TransferQueries {
    /// The number of consecutive claims lost without progress from which a transfer is suspect: no other suspect
    /// transfer runs beside it.
    static let suspicion = 3
    /// The number of lost claims after which a transfer fails.
    private static let lossLimit = 20
    /// The maximum wait of a suspect transfer for its next claim, in milliseconds.
    private static let longestWait: Int64 = 3_600_000
    private static let taking =
        "SELECT number, repeatable, sent, is_to_be_suspended, naming IS NOT NULL, losses, id, fence FROM transfer"

    // MARK: Order

    /// Takes transfers from workers whose lease has expired or whose process has ended.
    func expire(isGone: (TransferWorkerID) -> Bool) throws {
        let workers = try String.fetchAll(
            database, sql: "SELECT DISTINCT worker FROM transfer WHERE state = 1 AND worker IS NOT NULL")
        for worker in workers {
            let isOver = isGone(TransferWorkerID(worker))
            let rows = try Row.fetchAll(
                database.cachedStatement(
                    sql: "\(Self.taking) WHERE state = 1 AND worker = ? AND (? OR boot <> ? OR lease <= ?)"),
                arguments: [worker, isOver, now.boot, now.uptime])
            for row in rows { try take(row, isLoss: isOver) }
        }
    }

    /// Takes a transfer from its worker.
    /// - Parameters:
    ///   - row: The columns of ``taking``.
    ///   - isLoss: True if the worker's process has ended. The transfer may have caused that, and could do so again.
    private func take(_ row: Row, isLoss: Bool) throws {
        let number: Int64 = row[0]
        if row[1] == 0, row[2] == 1, row[4] == 0 {
            return try fail(
                number, .outcomeUnknown, "its process ended while it was sent, and it must not be sent twice")
        }
        let losses: Int = isLoss ? row[5] + 1 : row[5]
        if losses >= Self.lossLimit {
            return try fail(number, .queueFailed, "\(losses) workers in a row ended while they ran it")
        }
        let next: State = row[3] == 1 ? .suspended : .waiting
        let wait = !isLoss || losses < Self.suspicion ? 0 : min(1000 << Int64(losses), Self.longestWait)
        try execute(
            """
            UPDATE transfer SET state = ?, is_ready = ?, due = ?, since = ?, losses = ?, is_to_be_suspended = 0, worker = NULL
            WHERE number = ?
            """,
            [next.rawValue, next == .waiting && wait == 0 ? 1 : 0, now.wall + wait, now.wall, losses, number])
    }

    /// Fails the transfers whose deadline has passed, except running ones: their workers check the deadline.
    func miss() throws {
        let numbers = try Int64.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT number FROM transfer
                    WHERE deadline <= ? AND deadline IS NOT NULL AND state < 5 AND state <> 1 AND naming IS NULL
                    """), arguments: [now.wall])
        for number in numbers { try fail(number, .totalTimeout, "its deadline is over") }
    }

    private func fail(_ number: Int64, _ code: ErrorCode, _ message: String) throws {
        try end(number, .failed, StoredFailure(code, message).encoded)
    }

    /// Wakes the transfers whose wait is over. If the clock was set back, it also wakes those whose wait began in the
    /// future.
    func wake() throws {
        for (index, isOver) in [("due", "due <= ?"), ("since", "since > ?")] {
            try execute(
                """
                UPDATE transfer INDEXED BY transfer_\(index) SET state = 0, is_ready = 1
                WHERE is_ready = 0 AND state IN (0, 3, 4) AND losses < \(Self.suspicion) AND \(isOver)
                """, [now.wall])
        }
        guard try !isSuspectActive() else { return }
        try execute(
            """
            UPDATE transfer SET state = 0, is_ready = 1 WHERE number =
                (SELECT number FROM transfer INDEXED BY transfer_suspect WHERE \(Self.suspects) AND is_ready = 0 AND state IN (0, 3, 4)
                    AND (due <= ? OR since > ?) ORDER BY place, number LIMIT 1)
            """, [now.wall, now.wall])
    }

    static let suspects = "losses >= \(suspicion) AND state < 5"

    func isSuspectActive() throws -> Bool {
        try number(
            """
            SELECT EXISTS(SELECT 1 FROM transfer INDEXED BY transfer_suspect
                WHERE \(Self.suspects) AND (state = 1 OR (state = 0 AND is_ready = 1)))
            """) == 1
    }

    func wakeAfterNetwork() throws {
        try execute("UPDATE transfer SET state = 0, is_ready = 1 WHERE state = 3")
    }

    // MARK: Claims

    func claim(_ worker: TransferWorkerID, _ policy: ClaimPolicy, atMost count: Int) throws -> [TransferClaim] {
        var running = try RunningCounts(database, policy)
        var claims: [TransferClaim] = []
        while claims.count < count, running.total < policy.total, let number = try next(running) {
            try execute(
                """
                UPDATE transfer SET state = 1, is_ready = 0, fence = fence + 1, worker = ?, boot = ?, lease = ?, is_to_be_suspended = 0
                WHERE number = ?
                """,
                [worker.description, now.boot, now.uptime + policy.lease.milliseconds, number])
            guard let row = try row(number) else { break }
            running.add(host: row["host"], tags: row["tags"])
            let transfer = Self.transfer(row)
            claims.append(TransferClaim(key: .init(id: transfer.id, fence: transfer.fence), transfer: transfer))
        }
        return claims
    }

    /// The number of transfers at the front of the queue that are checked one by one.
    private static let glance = 256
    /// The maximum number of pairs of a host and tags whose first transfer is checked.
    private static let lanes = 1000

    /// The first transfer that the limits allow. Very many transfers of a host or a tag at its limit may precede it.
    private func next(_ running: RunningCounts) throws -> Int64? {
        let all = try Row.fetchCursor(
            database.cachedStatement(
                sql: """
                    SELECT number, host, tags FROM transfer INDEXED BY transfer_ready
                    WHERE state = 0 AND is_ready = 1 ORDER BY place, number
                    """))
        for _ in 0..<Self.glance {
            guard let row = try all.next() else { return nil }
            if running.letsRun(host: row[1], tags: row[2]) { return row[0] }
        }
        var first: (place: Int64, number: Int64)?
        var last = (host: "", tags: "")
        for _ in 0..<Self.lanes {
            let head = try Row.fetchOne(
                database.cachedStatement(
                    sql: """
                        SELECT host, tags, place, number FROM transfer INDEXED BY transfer_lane
                        WHERE state = 0 AND is_ready = 1 AND (host, tags) > (?, ?) ORDER BY host, tags, place, number LIMIT 1
                        """), arguments: [last.host, last.tags])
            guard let head else { return first?.number }
            last = (head[0], head[1])
            let candidate: (place: Int64, number: Int64) = (head[2], head[3])
            if running.letsRun(host: last.host, tags: last.tags), first.map({ candidate < $0 }) ?? true {
                first = candidate
            }
        }
        while let row = try all.next() {
            if running.letsRun(host: row[1], tags: row[2]) { return row[0] }
        }
        return nil
    }

    /// The numbers of running transfers, for the limits.
    private struct RunningCounts {
        private let policy: ClaimPolicy
        private(set) var total = 0
        private var hosts: [String: Int] = [:]
        private var tags: [ExactText: Int] = [:]
        private let tagLimits: [ExactText: Int]

        init(_ database: Database, _ policy: ClaimPolicy) throws {
            self.policy = policy
            tagLimits = Dictionary(uniqueKeysWithValues: policy.perTag.map { (ExactText($0.key), $0.value) })
            let cursor = try Row.fetchCursor(
                database.cachedStatement(sql: "SELECT host, tags FROM transfer WHERE state = 1"))
            while let row = try cursor.next() { add(host: row[0], tags: row[1]) }
        }

        mutating func add(host: String, tags: String) {
            total += 1
            hosts[host, default: 0] += 1
            guard !policy.perTag.isEmpty else { return }
            for tag in tags.split(separator: TransferQueries.separator) {
                self.tags[ExactText(String(tag)), default: 0] += 1
            }
        }

        func letsRun(host: String, tags: String) -> Bool {
            guard hosts[host, default: 0] < policy.perHost else { return false }
            guard !policy.perTag.isEmpty, !tags.isEmpty else { return true }
            return tags.split(separator: TransferQueries.separator).allSatisfy { tag in
                let tag = ExactText(String(tag))
                return tagLimits[tag].map { self.tags[tag, default: 0] < $0 } ?? true
            }
        }
    }

    // MARK: Leases

    func renew(
        _ worker: TransferWorkerID, _ lease: Duration, _ progress: [TransferClaim.Key: TransferProgress]
    ) throws -> [TransferClaim.Key: TransferOrder] {
        let forgotten = try Row.fetchAll(
            database.cachedStatement(sql: "\(Self.taking) WHERE state = 1 AND worker = ?"),
            arguments: [worker.description])
        for row in forgotten {
            let id = DurableTransfer.ID(row[6] as String)
            if let id, progress[TransferClaim.Key(id: id, fence: row[7])] != nil { continue }
            try take(row, isLoss: false)
        }
        var orders: [TransferClaim.Key: TransferOrder] = [:]
        for (key, progress) in progress {
            // Another worker's claim would have changed the fence, so an expired lease still belongs to this worker.
            try execute(
                """
                UPDATE transfer SET lease = ?, received = ?, total = coalesce(?, total),
                    losses = CASE WHEN ? > peak THEN 0 ELSE losses END, peak = max(peak, ?)
                WHERE id = ? AND fence = ? AND state = 1 AND worker = ? AND boot = ?
                """,
                [
                    now.uptime + lease.milliseconds, progress.received, progress.total, progress.received,
                    progress.received, key.id.description, key.fence, worker.description, now.boot,
                ])
            guard database.changesCount > 0 else { continue }
            let isToBeSuspended = try number(
                "SELECT is_to_be_suspended FROM transfer WHERE id = ?", [key.id.description])
            orders[key] = isToBeSuspended == 1 ? .suspend : .proceed
        }
        return orders
    }
}
#endif
