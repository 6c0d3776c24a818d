#if Storage
internal import Curlew
internal import FoundationEssentials
internal import GRDB

/// The tables of a queue. States are the raw values of ``DurableTransfer/State``.
enum TransferSchema {
    /// Its application is "CurQ".
    static let schema = DatabaseSchema(
        application: 0x4375_7251,
        migrations: [
            """
            CREATE TABLE transfer (
                number INTEGER PRIMARY KEY AUTOINCREMENT,
                id TEXT NOT NULL UNIQUE,
                state INTEGER NOT NULL DEFAULT 0,
                place INTEGER NOT NULL,
                host TEXT NOT NULL,
                tags TEXT NOT NULL,
                enqueued INTEGER NOT NULL,
                is_ready INTEGER NOT NULL,
                due INTEGER NOT NULL,
                since INTEGER NOT NULL,
                deadline INTEGER,
                repeatable INTEGER NOT NULL,
                sent INTEGER NOT NULL DEFAULT 0,
                failures INTEGER NOT NULL DEFAULT 0,
                fence INTEGER NOT NULL DEFAULT 0,
                worker TEXT,
                boot TEXT,
                lease INTEGER,
                is_to_be_suspended INTEGER NOT NULL DEFAULT 0,
                received INTEGER NOT NULL DEFAULT 0,
                total INTEGER,
                held INTEGER NOT NULL DEFAULT 0,
                request BLOB NOT NULL,
                token BLOB,
                naming BLOB,
                result BLOB
            ) STRICT;
            CREATE INDEX transfer_ready ON transfer (place, number, host) WHERE state = 0 AND is_ready = 1;
            CREATE INDEX transfer_due ON transfer (due, since) WHERE is_ready = 0;
            CREATE INDEX transfer_state ON transfer (state, number);
            CREATE INDEX transfer_worker ON transfer (worker) WHERE state = 1;
            CREATE INDEX transfer_deadline ON transfer (deadline) WHERE deadline IS NOT NULL AND state < 5;
            CREATE INDEX transfer_held ON transfer (held) WHERE held > 0;
            CREATE TABLE ending (cursor INTEGER PRIMARY KEY AUTOINCREMENT, number INTEGER NOT NULL UNIQUE) STRICT;
            """
        ])
}

/// The statements on a queue, at one moment.
struct TransferQueries {
    typealias State = DurableTransfer.State

    let database: Database
    let now: TransferClock.Moment

    /// One step of priority is worth so many milliseconds of waiting.
    private static let priorityStep: Int64 = 600_000
    /// Separates and surrounds tags.
    private static let separator = "\u{1F}"

    private func execute(_ sql: String, _ arguments: StatementArguments = []) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    private func number(_ sql: String, _ arguments: StatementArguments = []) throws -> Int64 {
        try Int64.fetchOne(database.cachedStatement(sql: sql), arguments: arguments) ?? 0
    }

    // MARK: Adding

    func enqueue(_ transfers: [NewTransfer]) throws {
        for transfer in transfers {
            let due = transfer.notBefore ?? 0
            let isReady = due <= now.wall
            try execute(
                """
                INSERT INTO transfer (id, place, host, tags, enqueued, is_ready, due, since, deadline, repeatable, request)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    transfer.id.description, now.wall - Int64(transfer.priority.rawValue) * Self.priorityStep,
                    transfer.host,
                    transfer.tags.isEmpty
                        ? "" : Self.separator + transfer.tags.joined(separator: Self.separator) + Self.separator,
                    now.wall, isReady ? 1 : 0, due,
                    // The date is the caller's: a clock that is set back does not bring it nearer.
                    Int64.min, transfer.deadline, transfer.mayBeRepeated ? 1 : 0, Data(transfer.request),
                ])
        }
    }

    // MARK: Order

    /// Takes transfers from workers whose lease has run out, or whose process is gone.
    func expire(isGone: (TransferWorkerID) -> Bool) throws {
        let workers = try String.fetchAll(
            database, sql: "SELECT DISTINCT worker FROM transfer WHERE state = 1 AND worker IS NOT NULL")
        for worker in workers {
            let isOver = isGone(TransferWorkerID(worker))
            let rows = try Row.fetchAll(
                database.cachedStatement(
                    sql: """
                        SELECT number, repeatable, sent, is_to_be_suspended, naming IS NOT NULL FROM transfer
                        WHERE state = 1 AND worker = ? AND (? OR boot <> ? OR lease <= ?)
                        """),
                arguments: [worker, isOver, now.boot, now.uptime])
            for row in rows {
                let number: Int64 = row[0]
                if row[1] == 0, row[2] == 1, row[4] == 0 {
                    let failure = StoredFailure(
                        .outcomeUnknown, "its process ended while it was sent, and it must not be sent twice")
                    try end(number, .failed, failure.encoded)
                } else {
                    let next: State = row[3] == 1 ? .suspended : .waiting
                    try execute(
                        "UPDATE transfer SET state = ?, is_ready = ?, is_to_be_suspended = 0, worker = NULL WHERE number = ?",
                        [next.rawValue, next == .waiting ? 1 : 0, number])
                }
            }
        }
    }

    /// Fails those whose deadline is over, unless a worker has them: it sees that by itself.
    func miss() throws {
        let numbers = try Int64.fetchAll(
            database.cachedStatement(
                sql:
                    "SELECT number FROM transfer WHERE deadline <= ? AND deadline IS NOT NULL AND state < 5 AND state <> 1 AND naming IS NULL"
            ),
            arguments: [now.wall])
        let failure = StoredFailure(.totalTimeout, "its deadline is over")
        for number in numbers { try end(number, .failed, failure.encoded) }
    }

    /// Wakes those whose time has come, and, should the clock have been set back, those whose wait began later than now.
    func wake() throws {
        try execute(
            """
            UPDATE transfer SET state = 0, is_ready = 1
            WHERE is_ready = 0 AND state IN (0, 3, 4) AND (due <= ? OR since > ?)
            """, [now.wall, now.wall])
    }

    func wakeAfterNetwork() throws {
        try execute("UPDATE transfer SET state = 0, is_ready = 1 WHERE state = 3")
    }

    // MARK: Claims

    func claim(_ worker: TransferWorkerID, _ policy: ClaimPolicy, atMost count: Int) throws -> [TransferClaim] {
        var running = try RunningCounts(database)
        var claims: [TransferClaim] = []
        while claims.count < count, running.total < policy.total,
            let number = try next(policy, running)
        {
            try execute(
                """
                UPDATE transfer SET state = 1, is_ready = 0, fence = fence + 1, worker = ?, boot = ?, lease = ?, is_to_be_suspended = 0
                WHERE number = ?
                """,
                [worker.description, now.boot, now.uptime + policy.lease.milliseconds, number])
            guard let row = try row(number) else { break }
            running.add(host: row[Column.host], tags: row[Column.tags])
            let transfer = Self.transfer(row)
            let held = try self.number("SELECT sum(held) FROM transfer WHERE held > 0 AND number <> ?", [number])
            claims.append(
                TransferClaim(key: .init(id: transfer.id, fence: transfer.fence), transfer: transfer, held: held))
        }
        return claims
    }

    /// The first that the limits let run.
    private func next(_ policy: ClaimPolicy, _ running: RunningCounts) throws -> Int64? {
        let full = running.hosts.filter { $0.value >= policy.perHost }.map(\.key)
        let fullTags = policy.perTag.filter { running.tags[$0.key, default: 0] >= $0.value }.map(\.key)
        var conditions = ""
        var arguments: [any DatabaseValueConvertible] = []
        if !full.isEmpty {
            conditions += " AND host NOT IN (\(full.map { _ in "?" }.joined(separator: ",")))"
            arguments += full
        }
        for tag in fullTags {
            conditions += " AND instr(tags, ?) = 0"
            arguments.append(Self.separator + tag + Self.separator)
        }
        let sql =
            "SELECT number FROM transfer WHERE state = 0 AND is_ready = 1\(conditions) ORDER BY place, number LIMIT 1"
        return try Int64.fetchOne(
            database.cachedStatement(sql: sql), arguments: StatementArguments(arguments))
    }

    /// The transfers that run, by what there are limits for.
    private struct RunningCounts {
        var total = 0
        var hosts: [String: Int] = [:]
        var tags: [String: Int] = [:]

        init(_ database: Database) throws {
            let cursor = try Row.fetchCursor(
                database.cachedStatement(sql: "SELECT host, tags FROM transfer WHERE state = 1"))
            while let row = try cursor.next() { add(host: row[0], tags: row[1]) }
        }

        mutating func add(host: String, tags: String) {
            total += 1
            hosts[host, default: 0] += 1
            for tag in tags.split(separator: "\u{1F}") { self.tags[String(tag), default: 0] += 1 }
        }
    }

    func renew(
        _ worker: TransferWorkerID, _ lease: Duration, _ progress: [TransferClaim.Key: TransferProgress]
    ) throws -> [TransferClaim.Key: TransferOrder] {
        for (key, progress) in progress {
            try execute(
                "UPDATE transfer SET received = ?, total = coalesce(?, total) WHERE id = ? AND fence = ? AND state = 1",
                [progress.received, progress.total, key.id.description, key.fence])
        }
        // What has run out may be another's at any moment, and is not revived.
        try execute(
            "UPDATE transfer SET lease = ? WHERE worker = ? AND state = 1 AND boot = ? AND lease > ?",
            [now.uptime + lease.milliseconds, worker.description, now.boot, now.uptime])
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql:
                    "SELECT id, fence, is_to_be_suspended FROM transfer WHERE worker = ? AND state = 1 AND boot = ? AND lease > ?"
            ),
            arguments: [worker.description, now.boot, now.uptime])
        return Dictionary(
            rows.compactMap { row in
                DurableTransfer.ID(row[0] as String).map {
                    (TransferClaim.Key(id: $0, fence: row[1]), row[2] == 1 ? TransferOrder.suspend : .proceed)
                }
            }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Outcomes

    func record(_ change: TransferChange, _ claim: TransferClaim.Key) throws -> Bool {
        let held = try Int64.fetchOne(
            database.cachedStatement(sql: "SELECT number FROM transfer WHERE id = ? AND fence = ? AND state = 1"),
            arguments: [claim.id.description, claim.fence])
        guard let number = held else { return false }
        switch change {
        case .checkpoint(let token, let progress, let quota): try checkpoint(number, token, progress, quota)
        case .sending: try execute("UPDATE transfer SET sent = 1 WHERE number = ?", [number])
        case .naming(let naming):
            try execute("UPDATE transfer SET naming = ? WHERE number = ?", [Data(naming), number])
        case .back(let trigger, let token, let wait, let isFailure, let result):
            guard let next = State.running.after(trigger) else { return false }
            let isReady = next == .waiting && wait <= .zero
            try execute(
                """
                UPDATE transfer SET state = ?, is_ready = ?, due = ?, since = ?, failures = failures + ?, token = ?, worker = NULL,
                    sent = 0, is_to_be_suspended = 0, result = coalesce(?, result) WHERE number = ?
                """,
                [
                    next.rawValue, isReady ? 1 : 0, now.wall + wait.milliseconds, now.wall, isFailure ? 1 : 0,
                    token.map { Data($0) }, result.map { Data($0) }, number,
                ])
        case .finished(let result): try end(number, .finished, result)
        case .failed(let result): try end(number, .failed, result)
        }
        return true
    }

    private func checkpoint(_ number: Int64, _ token: [UInt8]?, _ progress: TransferProgress, _ quota: Int64?) throws {
        let held = max(progress.received, progress.total ?? 0)
        if let quota {
            guard held <= quota else {
                throw CurlewError(
                    .responseTooLarge, "the file has \(held) bytes, and the quota of the queue is \(quota)")
            }
            let others = try self.number("SELECT sum(held) FROM transfer WHERE held > 0 AND number <> ?", [number])
            guard others <= quota - held else {
                throw CurlewError(
                    .diskFull, "the queue has \(others) bytes of its quota of \(quota), and \(held) are to come")
            }
        }
        try execute(
            "UPDATE transfer SET token = ?, received = ?, total = ?, held = ? WHERE number = ?",
            [token.map { Data($0) }, progress.received, progress.total, held, number])
    }

    private func end(_ number: Int64, _ state: State, _ result: [UInt8]) throws {
        // The token stays until the end is acknowledged: by it is found what has to be removed.
        try execute(
            """
            UPDATE transfer SET state = ?, is_ready = 0, due = 0, since = 0, worker = NULL, is_to_be_suspended = 0, result = ?,
                naming = NULL, fence = fence + 1, held = CASE ? WHEN 5 THEN held ELSE 0 END WHERE number = ?
            """, [state.rawValue, Data(result), state.rawValue, number])
        try execute("INSERT INTO ending (number) VALUES (?)", [number])
    }

    // MARK: Commands

    func command(_ command: TransferCommand, _ ids: [DurableTransfer.ID]?) throws -> Int {
        let rows: [Row]
        let columns = "number, state, naming IS NOT NULL"
        if let ids {
            rows = try ids.compactMap { id in
                try Row.fetchOne(
                    database.cachedStatement(sql: "SELECT \(columns) FROM transfer WHERE id = ?"),
                    arguments: [id.description])
            }
        } else {
            rows = try Row.fetchAll(database, sql: "SELECT \(columns) FROM transfer WHERE state < 5")
        }
        var count = 0
        for row in rows {
            guard let state = State(rawValue: row[1]) else { continue }
            if try apply(command, number: row[0], state: state, isNamed: row[2] == 1) { count += 1 }
        }
        return count
    }

    private func apply(_ command: TransferCommand, number: Int64, state: State, isNamed: Bool) throws -> Bool {
        switch command {
        case .suspend:
            guard let next = state.after(.suspend) else { return false }
            if state == .running {
                // Its worker ends it, and keeps what has come.
                try execute("UPDATE transfer SET is_to_be_suspended = 1 WHERE number = ?", [number])
            } else {
                try execute("UPDATE transfer SET state = ?, is_ready = 0 WHERE number = ?", [next.rawValue, number])
            }
        case .resume:
            if state == .running {
                try execute("UPDATE transfer SET is_to_be_suspended = 0 WHERE number = ?", [number])
                return true
            }
            guard let next = state.after(.resume) else { return false }
            try execute(
                "UPDATE transfer SET state = ?, is_ready = CASE WHEN since = ? AND due > ? THEN 0 ELSE 1 END WHERE number = ?",
                [next.rawValue, Int64.min, now.wall, number])
        case .cancel:
            // What is about to get its name has as good as ended.
            guard state.after(.cancel) != nil, !isNamed else { return false }
            try end(number, .cancelled, [])
        }
        return true
    }

    func acknowledge(_ ids: [DurableTransfer.ID]?) throws {
        guard let ids else {
            try execute("DELETE FROM transfer WHERE state >= 5")
            try execute("DELETE FROM ending")
            return
        }
        for id in ids {
            try execute(
                "DELETE FROM ending WHERE number = (SELECT number FROM transfer WHERE id = ? AND state >= 5)",
                [id.description])
            try execute("DELETE FROM transfer WHERE id = ? AND state >= 5", [id.description])
        }
    }

    // MARK: Reading

    private enum Column {
        static let host = "host", tags = "tags"
    }

    private func row(_ number: Int64) throws -> Row? {
        try Row.fetchOne(database.cachedStatement(sql: "SELECT * FROM transfer WHERE number = ?"), arguments: [number])
    }

    private static func transfer(_ row: Row) -> StoredTransfer {
        let isReady: Bool = row["is_ready"]
        let state = State(rawValue: row["state"]) ?? .failed
        let waits = !isReady && [.waiting, .waitingForNetwork, .waitingForDisk].contains(state)
        func bytes(_ name: String) -> [UInt8]? { (row[name] as Data?).map { Array($0) } }
        return StoredTransfer(
            number: row["number"], id: DurableTransfer.ID(row["id"] as String) ?? DurableTransfer.ID(), state: state,
            enqueued: row["enqueued"], failures: row["failures"], received: row["received"], total: row["total"],
            due: waits ? row["due"] : nil, fence: row["fence"], request: bytes("request") ?? [], token: bytes("token"),
            naming: bytes("naming"), result: bytes("result"))
    }

    func transfer(_ id: DurableTransfer.ID) throws -> StoredTransfer? {
        try Row.fetchOne(
            database.cachedStatement(sql: "SELECT * FROM transfer WHERE id = ?"), arguments: [id.description]
        ).map(Self.transfer)
    }

    func list(_ states: Set<State>?, after number: Int64, limit: Int) throws -> [StoredTransfer] {
        let list =
            states.map { "AND state IN (\($0.map { String($0.rawValue) }.sorted().joined(separator: ",")))" } ?? ""
        return try Row.fetchAll(
            database.cachedStatement(sql: "SELECT * FROM transfer WHERE number > ? \(list) ORDER BY number LIMIT ?"),
            arguments: [number, limit]
        ).map(Self.transfer)
    }

    func ends(after cursor: Int64, limit: Int) throws -> [(cursor: Int64, transfer: StoredTransfer)] {
        try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT ending.cursor, transfer.* FROM ending JOIN transfer ON transfer.number = ending.number
                    WHERE ending.cursor > ? ORDER BY ending.cursor LIMIT ?
                    """), arguments: [cursor, limit]
        ).map { ($0["cursor"], Self.transfer($0)) }
    }

    func counts() throws -> [State: Int] {
        let rows = try Row.fetchAll(
            database.cachedStatement(sql: "SELECT state, count(*) FROM transfer GROUP BY state"))
        return Dictionary(
            rows.compactMap { row in State(rawValue: row[0]).map { ($0, row[1]) } },
            uniquingKeysWith: { first, _ in first })
    }

    func outlook() throws -> TransferOutlook {
        let isReady = try number("SELECT EXISTS(SELECT 1 FROM transfer WHERE state = 0 AND is_ready = 1)") == 1
        let due = try Int64.fetchOne(
            database.cachedStatement(sql: "SELECT min(due) FROM transfer WHERE is_ready = 0 AND state IN (0, 3, 4)"))
        let deadline = try Int64.fetchOne(
            database.cachedStatement(
                sql: "SELECT min(deadline) FROM transfer WHERE deadline IS NOT NULL AND state < 5 AND state <> 1"))
        let lease = try Int64.fetchOne(
            database.cachedStatement(
                sql: "SELECT min(CASE WHEN boot = ? THEN lease ELSE 0 END) FROM transfer WHERE state = 1"),
            arguments: [now.boot])
        let waits = [due.map { $0 - now.wall }, deadline.map { $0 - now.wall }, lease.map { $0 - now.uptime }]
        let wait = waits.compactMap(\.self).min().map { Duration.milliseconds(max(0, $0)) }
        return TransferOutlook(
            isReady: isReady, wait: wait,
            active: Int(try number("SELECT count(*) FROM transfer WHERE state IN (0, 1, 3, 4)")),
            suspended: Int(try number("SELECT count(*) FROM transfer WHERE state = 2")))
    }
}

extension Duration {
    /// Whole milliseconds, in the bounds of what a database can add to a time.
    var milliseconds: Int64 { min(max(nanosecondsClamped / 1_000_000, 0), 1_000_000_000_000_000) }
}

/// An error as it is kept.
struct StoredFailure: Codable, Sendable {
    let code: ErrorCode
    let message: String

    init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: CurlewError) { self.init(error.code, error.message) }

    var error: CurlewError { CurlewError(code, message) }
    var encoded: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }
}
#endif
