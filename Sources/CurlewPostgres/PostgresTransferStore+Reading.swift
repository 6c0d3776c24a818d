#if Postgres
internal import Curlew
internal import CurlewStorage

/// The queries on a queue.
extension PostgresTransferStore {
    static let columns = """
        number, id, state, enqueued, failures, received, total, CASE WHEN NOT is_ready AND state IN (0, 3, 4) THEN due END, fence,
            request, token, naming, result, ending
        """

    /// - Throws: An error for a row that this version does not understand, rather than misread it.
    func decoded(_ rows: [PostgresRow]) throws -> [StoredTransfer] {
        try rows.map { row in
            guard let number = row.number(0), let id = row.text(1).flatMap({ DurableTransfer.ID($0) }),
                let state = row.number(2).flatMap({ DurableTransfer.State(rawValue: Int($0)) }),
                let enqueued = row.number(3), let fence = row.number(8), let request = row.bytes(9),
                (10...12).allSatisfy({ row.text($0) == nil || row.bytes($0) != nil })
            else { throw CurlewError(.queueFailed, "a row of the queue cannot be read") }
            return StoredTransfer(
                number: number, id: id, state: state, enqueued: enqueued, failures: Int(row.number(4) ?? 0),
                received: row.number(5) ?? 0, total: row.number(6), due: row.number(7), fence: fence, request: request,
                token: row.bytes(10), naming: row.bytes(11), result: row.bytes(12), ending: row.number(13))
        }
    }

    func ends(after cursor: Int64, limit: Int) async throws -> [StoredTransfer] {
        try decoded(
            await call(
                "SELECT \(Self.columns) FROM transfer WHERE queue = $1 AND ending IS NOT NULL AND ending > $2 ORDER BY ending LIMIT $3",
                [.text(queue), .number(cursor), .number(limit)]))
    }

    func transfer(_ id: DurableTransfer.ID) async throws -> StoredTransfer? {
        try decoded(
            await call(
                "SELECT \(Self.columns) FROM transfer WHERE queue = $1 AND id = $2",
                [.text(queue), .text(id.description)])
        ).first
    }

    func list(
        _ states: Set<DurableTransfer.State>?, after number: Int64, limit: Int
    ) async throws -> [StoredTransfer] {
        // An index has the transfers of each state in order. A single statement sees all of them at one moment.
        let conditions = states.map { $0.map { "state = \($0.rawValue)" }.sorted() } ?? ["true"]
        let pages = conditions.map {
            "(SELECT * FROM transfer WHERE queue = $1 AND \($0) AND number > $2 ORDER BY number LIMIT $3)"
        }
        guard !pages.isEmpty else { return [] }
        return try decoded(
            await call(
                "SELECT \(Self.columns) FROM (\(pages.joined(separator: " UNION ALL "))) x ORDER BY number LIMIT $3",
                [.text(queue), .number(number), .number(limit)]))
    }

    func counts() async throws -> [DurableTransfer.State: Int] {
        let rows = try await call(
            "SELECT state, count(*) FROM transfer WHERE queue = $1 GROUP BY state", [.text(queue)])
        var counts: [DurableTransfer.State: Int] = [:]
        for row in rows {
            guard let state = row.number(0).flatMap({ DurableTransfer.State(rawValue: Int($0)) }) else { continue }
            counts[state] = Int(row.number(1) ?? 0)
        }
        return counts
    }

    func outlook(of worker: TransferWorkerID?) async throws -> TransferOutlook {
        let row = try await call(
            "SELECT is_ready, wait, is_drained, running, own FROM outlook_1($1, $2, $3)",
            [.text(queue), .text(reach), worker.map { .text($0.description) } ?? .null]
        ).first
        return TransferOutlook(
            isReady: row?.bool(0) ?? false, wait: row?.number(1).map { .milliseconds(max(0, $0)) },
            isDrained: row?.bool(2) ?? false, running: Int(row?.number(3) ?? 0), own: Int(row?.number(4) ?? 0))
    }
}
#endif
