#if Storage
internal import Curlew
internal import FoundationEssentials
internal import GRDB

/// The queries on a queue.
extension TransferQueries {
    private static let selection =
        "SELECT transfer.*, ending.cursor AS ending FROM transfer LEFT JOIN ending ON ending.number = transfer.number"

    func row(_ number: Int64) throws -> Row? {
        try Row.fetchOne(
            database.cachedStatement(sql: "\(Self.selection) WHERE transfer.number = ?"), arguments: [number])
    }

    static func transfer(_ row: Row) -> StoredTransfer {
        let isReady: Bool = row["is_ready"]
        let state = State(rawValue: row["state"]) ?? .failed
        let waits = !isReady && [.waiting, .waitingForNetwork, .waitingForDisk].contains(state)
        func bytes(_ name: String) -> [UInt8]? { (row[name] as Data?).map { Array($0) } }
        return StoredTransfer(
            number: row["number"], id: DurableTransfer.ID(row["id"] as String) ?? DurableTransfer.ID(), state: state,
            enqueued: row["enqueued"], failures: row["failures"], received: row["received"], total: row["total"],
            due: waits ? row["due"] : nil, fence: row["fence"], request: bytes("request") ?? [], token: bytes("token"),
            naming: bytes("naming"), result: bytes("result"), ending: row["ending"])
    }

    func transfer(_ id: DurableTransfer.ID) throws -> StoredTransfer? {
        try Row.fetchOne(
            database.cachedStatement(sql: "\(Self.selection) WHERE transfer.id = ?"), arguments: [id.description]
        ).map(Self.transfer)
    }

    func list(_ states: Set<State>?, after number: Int64, limit: Int) throws -> [StoredTransfer] {
        let list =
            states.map { "AND state IN (\($0.map { String($0.rawValue) }.sorted().joined(separator: ",")))" } ?? ""
        return try Row.fetchAll(
            database.cachedStatement(
                sql: "\(Self.selection) WHERE transfer.number > ? \(list) ORDER BY transfer.number LIMIT ?"),
            arguments: [number, limit]
        ).map(Self.transfer)
    }

    func ends(after cursor: Int64, limit: Int) throws -> [StoredTransfer] {
        try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT transfer.*, ending.cursor AS ending FROM ending JOIN transfer ON transfer.number = ending.number
                    WHERE ending.cursor > ? ORDER BY ending.cursor LIMIT ?
                    """), arguments: [cursor, limit]
        ).map(Self.transfer)
    }

    func counts() throws -> [State: Int] {
        let rows = try Row.fetchAll(
            database.cachedStatement(sql: "SELECT state, count(*) FROM transfer GROUP BY state"))
        return Dictionary(
            rows.compactMap { row in State(rawValue: row[0]).map { ($0, row[1]) } },
            uniquingKeysWith: { first, _ in first })
    }

    func outlook(of worker: TransferWorkerID?) throws -> TransferOutlook {
        func exists(_ condition: String, _ arguments: StatementArguments = []) throws -> Bool {
            try number("SELECT EXISTS(SELECT 1 FROM transfer \(condition))", arguments) == 1
        }
        let isReady = try exists("INDEXED BY transfer_ready WHERE state = 0 AND is_ready = 1")
        // A due transfer that is suspected of crashing workers waits until the suspect before it ends. Its end causes a
        // notification, so no timer is needed.
        let due = try Int64.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT min(due) FROM transfer INDEXED BY transfer_due
                    WHERE is_ready = 0 AND state IN (0, 3, 4)
                        AND (losses < \(Self.suspicion) OR due > ?)
                    """), arguments: [now.wall])
        let suspect =
            try isSuspectActive()
            ? nil
            : Int64.fetchOne(
                database.cachedStatement(
                    sql:
                        "SELECT min(due) FROM transfer INDEXED BY transfer_suspect WHERE \(Self.suspects) AND state IN (0, 3, 4)"
                ))
        let deadline = try Int64.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT min(deadline) FROM transfer
                    WHERE deadline IS NOT NULL AND state < 5 AND state <> 1 AND naming IS NULL
                    """))
        let lease = try Int64.fetchOne(
            database.cachedStatement(
                sql: "SELECT min(CASE WHEN boot = ? THEN lease ELSE 0 END) FROM transfer WHERE state = 1"),
            arguments: [now.boot])
        let isSetBack = try exists(
            "INDEXED BY transfer_since WHERE is_ready = 0 AND state IN (0, 3, 4) AND since > ? AND losses < \(Self.suspicion)",
            [now.wall])
        let waits = [
            isSetBack ? 0 : nil, due.map { $0 - now.wall }, suspect.map { $0 - now.wall },
            deadline.map { $0 - now.wall },
            lease.map { $0 - now.uptime },
        ]
        let wait = waits.compactMap(\.self).min().map { Duration.milliseconds(max(0, $0)) }
        return TransferOutlook(
            isReady: isReady, wait: wait, isDrained: try !exists("WHERE state IN (0, 1, 3, 4)"),
            running: Int(try number("SELECT count(*) FROM transfer WHERE state = 1")),
            own: Int(
                try number(
                    "SELECT count(*) FROM transfer WHERE state = 1 AND worker = ? AND is_to_be_suspended = 0",
                    [worker?.description])))
    }
}
#endif
