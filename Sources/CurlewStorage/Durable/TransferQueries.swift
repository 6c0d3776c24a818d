#if Storage
internal import Curlew
internal import FoundationEssentials
internal import GRDB

/// The tables of a queue. States are the raw values of ``DurableTransfer/State``.
enum TransferSchema {
    /// The schema; its application identifier is "CurQ".
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
            """,
            """
            ALTER TABLE transfer ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE transfer ADD COLUMN peak INTEGER NOT NULL DEFAULT 0;
            DROP INDEX transfer_due;
            CREATE INDEX transfer_due ON transfer (due) WHERE is_ready = 0 AND state IN (0, 3, 4);
            CREATE INDEX transfer_since ON transfer (since) WHERE is_ready = 0 AND state IN (0, 3, 4);
            -- A cursor of a queue that was here before is none of this one's.
            DELETE FROM sqlite_sequence WHERE name = 'ending';
            INSERT INTO sqlite_sequence (name, seq)
                VALUES ('ending', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000);
            CREATE INDEX transfer_lane ON transfer (host, tags, place, number) WHERE state = 0 AND is_ready = 1;
            CREATE INDEX transfer_suspect ON transfer (place, number) WHERE losses >= 3 AND state < 5;
            """,
        ])
}

/// The statements on a queue, at one moment.
struct TransferQueries {
    typealias State = DurableTransfer.State

    let database: Database
    let now: TransferClock.Moment

    /// The waiting time, in milliseconds, that equals one step of priority: ten minutes.
    private static let priorityStep: Int64 = 600_000
    /// The separator between tags, also before the first and after the last.
    static let separator = "\u{1F}"

    func execute(_ sql: String, _ arguments: StatementArguments = []) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    func number(_ sql: String, _ arguments: StatementArguments = []) throws -> Int64 {
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
                    // `since` is as early as possible: the date is the caller's, and a clock that is set back must not
                    // end the wait early.
                    Int64.min, transfer.deadline, transfer.mayBeRepeated ? 1 : 0, Data(transfer.request),
                ])
        }
    }

    // MARK: Outcomes

    func record(_ change: TransferChange, _ claim: TransferClaim.Key) throws -> Bool {
        let held = try Row.fetchOne(
            database.cachedStatement(
                sql: "SELECT number, is_to_be_suspended FROM transfer WHERE id = ? AND fence = ? AND state = 1"),
            arguments: [claim.id.description, claim.fence])
        guard let held else { return false }
        let number: Int64 = held[0]
        switch change {
        case .checkpoint(let token, let progress, let quota): try checkpoint(number, token, progress, quota)
        case .resumable(let token, let progress):
            try execute(
                """
                UPDATE transfer SET token = ?, received = ?, total = ?, sent = 0, losses = CASE WHEN ? > peak THEN 0 ELSE losses END,
                    peak = max(peak, ?) WHERE number = ?
                """,
                [Data(token), progress.received, progress.total, progress.received, progress.received, number])
        case .sending: try execute("UPDATE transfer SET sent = 1 WHERE number = ?", [number])
        case .naming(let naming):
            try execute(
                "UPDATE transfer SET naming = ? WHERE number = ?", [naming.isEmpty ? nil : Data(naming), number])
        case .back(var trigger, let token, let wait, let isFailure, let total, let result):
            if held[1] == 1 { trigger = .suspend } else if trigger == .suspend { trigger = .release }
            guard let next = State.running.after(trigger) else { return false }
            let isReady = next == .waiting && wait <= .zero
            try execute(
                """
                UPDATE transfer SET state = ?, is_ready = ?, due = ?, since = ?, failures = failures + ?, token = ?, worker = NULL,
                    sent = 0, is_to_be_suspended = 0, losses = 0, result = coalesce(?, result), total = coalesce(?, total),
                    held = CASE WHEN ? IS NULL THEN 0 ELSE held END WHERE number = ?
                """,
                [
                    next.rawValue, isReady ? 1 : 0, now.wall + wait.milliseconds, now.wall, isFailure ? 1 : 0,
                    token.map { Data($0) }, result.map { Data($0) }, total, token.map { Data($0) }, number,
                ])
        case .finished(let result, let size):
            try end(number, .finished, result)
            try execute(
                "UPDATE transfer SET received = coalesce(?, received), total = coalesce(?, total), held = ? WHERE number = ?",
                [size, size, size ?? 0, number])
        case .failed(let result): try end(number, .failed, result)
        }
        return true
    }

    private func checkpoint(_ number: Int64, _ token: [UInt8]?, _ progress: TransferProgress, _ quota: Int64?) throws {
        let held = progress.size
        if let quota {
            guard held <= quota else { throw QuotaRefusal.tooLarge(held, quota) }
            let others = try self.number("SELECT sum(held) FROM transfer WHERE held > 0 AND number <> ?", [number])
            guard others <= quota - held else { throw QuotaRefusal.full(held, quota, others: others) }
        }
        try execute(
            """
            UPDATE transfer SET token = ?, received = ?, total = ?, held = ?, losses = CASE WHEN ? > peak THEN 0 ELSE losses END,
                peak = max(peak, ?) WHERE number = ?
            """,
            [
                token.map { Data($0) }, progress.received, progress.total, held, progress.received, progress.received,
                number,
            ])
    }

    func end(_ number: Int64, _ state: State, _ result: [UInt8]) throws {
        // The token stays until the end is acknowledged: it locates the files to remove.
        try execute(
            """
            UPDATE transfer SET state = ?, is_ready = 0, due = 0, since = 0, worker = NULL, is_to_be_suspended = 0, result = ?,
                naming = NULL, fence = fence + 1, held = 0 WHERE number = ?
            """, [state.rawValue, Data(result), number])
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
                // The worker stops the transfer and keeps the received bytes.
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
                """
                UPDATE transfer SET state = ?, is_ready = CASE WHEN since = ? AND due > ? THEN 0 ELSE 1 END, losses = 0
                WHERE number = ?
                """,
                [next.rawValue, Int64.min, now.wall, number])
        case .cancel:
            // A download whose file is being given its name is as good as finished.
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
}

extension Duration {
    /// The duration in whole milliseconds, within the bounds that a database can add to a time.
    var milliseconds: Int64 { min(max(nanosecondsClamped / 1_000_000, 0), 1_000_000_000_000_000) }
}
#endif
