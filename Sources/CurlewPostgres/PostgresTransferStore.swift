#if Postgres
internal import Curlew
internal import CurlewStorage
internal import FoundationEssentials

/// A queue in PostgreSQL, for the processes of any number of machines.
///
/// Leases use the server's clock. If the clock is set forward, leases end early, and the fences protect transfers that
/// were taken over. If it is set back, leases last longer.
final class PostgresTransferStore: TransferStore {
    private static let batch = 1000

    let settings: PostgresSettings
    let queue: String
    let reach: String
    private let link: PostgresLink
    /// The connection for renewals, which wait for no other call.
    private let renewals: PostgresLink
    /// The number of the last call of a worker.
    private let sequence = Guarded<Int64>(0)
    /// An action of a test before each call, such as setting the server's clock.
    private let beforeCall: (@Sendable (PostgresConnection) async throws -> Void)?
    let listeners = Guarded(Listeners())

    struct Listeners {
        var all: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var last: UInt64 = 0
        var task: Task<Void, Never>?
        var isClosed = false
    }

    static func open(
        _ settings: PostgresSettings, identifier: String,
        beforeCall: (@Sendable (PostgresConnection) async throws -> Void)? = nil
    ) async throws -> PostgresTransferStore {
        try settings.validate(identifier: identifier)
        let store = PostgresTransferStore(settings, identifier, beforeCall)
        do {
            try await store.link.perform(mayBeRepeated: true) { connection in
                try await PostgresMigration.prepare(connection, schema: settings.schema)
            }
        } catch {
            await store.link.close()
            throw CurlewError(postgres: error)
        }
        return store
    }

    private init(
        _ settings: PostgresSettings, _ identifier: String,
        _ beforeCall: (@Sendable (PostgresConnection) async throws -> Void)?
    ) {
        self.settings = settings
        self.beforeCall = beforeCall
        queue = identifier
        reach = settings.reach.name
        link = PostgresLink(settings) { try await PostgresMigration.setUp($0, settings) }
        renewals = PostgresLink(settings) { try await PostgresMigration.setUp($0, settings) }
    }

    deinit { listeners.withLock { $0.task?.cancel() } }

    var patience: Duration? { settings.outage }
    var seesGoneWorkers: Bool { false }

    /// The time, in milliseconds, in which workers must come back after an outage of the database.
    private func grace(_ lease: Duration) -> PostgresValue {
        .number((lease + settings.connectTimeout + PostgresLink.longestWait).wholeMilliseconds)
    }

    private func nextCall() -> PostgresValue {
        .number(
            sequence.withLock { sequence in
                sequence += 1
                return sequence
            })
    }

    func close() async throws {
        let (all, task) = listeners.withLock { listeners in
            listeners.isClosed = true
            return (Array(listeners.all.values), listeners.task)
        }
        for listener in all { listener.finish() }
        task?.cancel()
        await task?.value
        await renewals.close()
        await link.close()
    }

    // MARK: Calls

    @discardableResult
    func call(
        _ sql: String, _ parameters: [PostgresValue], mayBeRepeated: Bool = true, on other: PostgresLink? = nil
    ) async throws -> [PostgresRow] {
        do {
            return try await (other ?? link).perform(mayBeRepeated: mayBeRepeated) { [beforeCall] connection in
                try await beforeCall?(connection)
                return try await connection.run(sql, parameters)
            }
        } catch {
            throw CurlewError(postgres: error)
        }
    }

    private func bool(_ rows: [PostgresRow]) -> Bool { rows.first?.bool(0) ?? false }

    func enqueue(_ transfers: [NewTransfer]) async throws {
        let sql = """
            SELECT enqueue_1($1, $2, $3, $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::boolean[],
                $11::text[])
            """
        // The name identifies the call: if it is repeated because its answer was lost, it takes effect once.
        let name = PostgresValue.text(TransferWorkerID().description)
        let batches = stride(from: 0, to: transfers.count, by: Self.batch).map { start in
            parameters(of: transfers[start..<min(start + Self.batch, transfers.count)], start == 0 ? name : .null)
        }
        guard batches.count > 1 else {
            if let only = batches.first { try await call(sql, only) }
            return
        }
        try await separately { [beforeCall] link in
            try await link.perform(mayBeRepeated: true) { connection in
                try await beforeCall?(connection)
                try await connection.transaction { connection in
                    for batch in batches {
                        guard try await connection.runNow(sql, batch).first?.bool(0) == true else { return }
                    }
                }
            }
        }
    }

    /// Performs long work as many short statements on its own connection, so that other calls do not wait.
    private func separately<Value: Sendable>(_ work: (PostgresLink) async throws -> Value) async throws -> Value {
        guard await !link.isClosed else { throw CurlewError(.queueFailed, "the session is closed") }
        let own = PostgresLink(settings) { [settings] in try await PostgresMigration.setUp($0, settings) }
        let result: Result<Value, any Error>
        do { result = .success(try await work(own)) } catch { result = .failure(CurlewError(postgres: error)) }
        await own.close()
        return try result.get()
    }

    private func parameters(of transfers: ArraySlice<NewTransfer>, _ call: PostgresValue) -> [PostgresValue] {
        [
            .text(queue), .text(reach), call, .array(transfers.map(\.id.description)), .array(transfers.map(\.host)),
            .array(transfers.map { $0.tags.joined(separator: "\u{1F}") }),
            .array(transfers.map { String($0.priority.rawValue) }),
            .array(transfers.map { $0.notBefore.map { String($0) } }),
            .array(transfers.map { $0.deadline.map { String($0) } }),
            .array(transfers.map { $0.mayBeRepeated ? "t" : "f" }),
            .array(transfers.map { PostgresValue.hex($0.request) }),
        ]
    }

    func claim(_ worker: TransferWorkerID, policy: ClaimPolicy, atMost count: Int) async throws -> [TransferClaim] {
        let tags = policy.perTag.sorted { $0.key < $1.key }
        // The worker does not know a claim whose answer was lost: its next renewal releases that claim.
        let rows = try await call(
            """
            SELECT \(Self.columns) FROM claim_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text[], $11::integer[], $12, $13, $14)
            """,
            [
                .text(queue), .text(reach), .text(worker.description), nextCall(),
                .number(policy.lease.wholeMilliseconds), grace(policy.lease), .number(count), .number(policy.total),
                .number(policy.perHost), .array(tags.map(\.key)),
                .array(tags.map { String($0.value) }), .bytes(StoredFailure.tooLate), .bytes(StoredFailure.unknown),
                .bytes(StoredFailure.lost),
            ], mayBeRepeated: false)
        return try decoded(rows).map { transfer in
            TransferClaim(key: .init(id: transfer.id, fence: transfer.fence), transfer: transfer)
        }
    }

    func renew(
        _ worker: TransferWorkerID, lease: Duration, progress: [TransferClaim.Key: TransferProgress]
    ) async throws -> [TransferClaim.Key: TransferOrder] {
        let progress = Array(progress)
        let rows = try await call(
            """
            SELECT claimed, claim_fence, is_order
                FROM renew_1($1, $2, $3, $4, $5, $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10, $11)
            """,
            [
                .text(queue), .text(worker.description), nextCall(), .number(lease.wholeMilliseconds), grace(lease),
                .array(progress.map(\.key.id.description)), .array(progress.map { String($0.key.fence) }),
                .array(progress.map { String($0.value.received) }),
                .array(progress.map { $0.value.total.map { String($0) } }), .bytes(StoredFailure.unknown),
                .bytes(StoredFailure.lost),
            ], on: renewals)
        var orders: [TransferClaim.Key: TransferOrder] = [:]
        for row in rows {
            guard let id = row.text(0).flatMap({ DurableTransfer.ID($0) }), let fence = row.number(1) else { continue }
            orders[.init(id: id, fence: fence)] = row.bool(2) ? .suspend : .proceed
        }
        return orders
    }

    func record(_ change: TransferChange, of claim: TransferClaim.Key) async throws -> Bool {
        let key: [PostgresValue] = [.text(queue), .text(claim.id.description), .number(claim.fence)]
        switch change {
        case .checkpoint(let token, let progress, let quota):
            return try await checkpoint(key, token, progress, quota)
        case .resumable(let token, let progress):
            return bool(
                try await call(
                    "SELECT keep_token_1($1, $2, $3, $4, $5, $6, $7)",
                    key + [nextCall(), .bytes(token), .number(progress.received), .number(progress.total)]))
        case .sending: return bool(try await call("SELECT mark_1($1, $2, $3, false, NULL)", key))
        case .naming(let naming):
            let value = PostgresValue.bytes(naming.isEmpty ? nil : naming)
            return bool(try await call("SELECT mark_1($1, $2, $3, true, $4)", key + [value]))
        case .back(let trigger, let token, let wait, let isFailure, let total, let result):
            guard let next = DurableTransfer.State.running.after(trigger) else { return false }
            return bool(
                try await call(
                    "SELECT give_back_1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                    key + [
                        .number(next.rawValue), .bytes(token), .number(wait.wholeMilliseconds), .bool(isFailure),
                        .number(total), .bytes(result),
                    ]))
        case .finished(let result, let size): return try await end(key, .finished, result, size)
        case .failed(let result): return try await end(key, .failed, result, nil)
        }
    }

    private func end(
        _ key: [PostgresValue], _ state: DurableTransfer.State, _ result: [UInt8], _ size: Int64?
    ) async throws -> Bool {
        bool(
            try await call(
                "SELECT record_end_1($1, $2, $3, $4, $5, $6)",
                key + [.number(state.rawValue), .bytes(result), .number(size)]))
    }

    private func checkpoint(
        _ key: [PostgresValue], _ token: [UInt8]?, _ progress: TransferProgress, _ quota: Int64?
    ) async throws -> Bool {
        let row = try await call(
            "SELECT verdict, others FROM checkpoint_1($1, $2, $3, $4, $5, $6, $7, $8)",
            key + [nextCall(), .bytes(token), .number(progress.received), .number(progress.total), .number(quota)]
        ).first
        switch row?.number(0) {
        case 1: return true
        case 2: throw QuotaRefusal.tooLarge(progress.size, quota ?? 0)
        case 3: throw QuotaRefusal.full(progress.size, quota ?? 0, others: row?.number(1) ?? 0)
        default: return false
        }
    }

    func command(_ command: TransferCommand, of ids: [DurableTransfer.ID]?) async throws -> Int {
        let word =
            switch command {
            case .suspend: "suspend"
            case .resume: "resume"
            case .cancel: "cancel"
            }
        // A command is not repeated, because the repetition would count fewer transfers.
        let start: [PostgresValue] = [.text(queue), .text(word)]
        if let ids, ids.count <= Self.batch {
            let rows = try await call(
                "SELECT command_1($1, $2, $3::text[])", start + [.array(ids.map(\.description))], mayBeRepeated: false)
            return Int(rows.first?.number(0) ?? 0)
        }
        // Each part is its own transaction, and workers can make calls in between.
        return try await separately { [beforeCall] link in
            func part(_ sql: String, _ parameters: [PostgresValue]) async throws -> PostgresRow? {
                try await link.perform(mayBeRepeated: false) { connection in
                    try await beforeCall?(connection)
                    return try await connection.run(sql, parameters).first
                }
            }
            var count = 0
            if let ids {
                for first in stride(from: 0, to: ids.count, by: Self.batch) {
                    let some = ids[first..<min(first + Self.batch, ids.count)].map(\.description)
                    let row = try await part("SELECT command_1($1, $2, $3::text[])", start + [.array(some)])
                    count += Int(row?.number(0) ?? 0)
                }
                return count
            }
            var last: Int64? = 0
            while let after = last {
                let row = try await part(
                    "SELECT count, last FROM command_all_1($1, $2, $3)", start + [.number(after)])
                count += Int(row?.number(0) ?? 0)
                last = row?.number(1)
            }
            return count
        }
    }

    func wakeAfterNetwork() async throws {
        while bool(try await call("SELECT wake_network_1($1)", [.text(queue)])) {}
    }

    func acknowledge(_ ids: [DurableTransfer.ID]?) async throws {
        try await call(
            "SELECT acknowledge_1($1, $2::text[])", [.text(queue), ids.map { .array($0.map(\.description)) } ?? .null])
    }

    func resign(_ worker: TransferWorkerID) async {
        // If the server cannot be reached, the worker's leases expire.
        _ = try? await call(
            "SELECT resign_1($1, $2, $3, $4)",
            [
                .text(queue), .text(worker.description), .bytes(StoredFailure.unknown), .bytes(StoredFailure.lost),
            ])
    }
}

extension StoredFailure {
    fileprivate static let tooLate = StoredFailure(.totalTimeout, "its deadline is over").encoded
    fileprivate static let unknown = StoredFailure(
        .outcomeUnknown, "its process ended while it was sent, and it must not be sent twice"
    ).encoded
    fileprivate static let lost = StoredFailure(.queueFailed, "20 workers in a row ended while they ran it").encoded
}

extension CurlewError {
    /// Makes an error from one of the database. Its message contains neither statements nor parameters.
    init(postgres error: any Error) {
        switch error {
        case let error as CurlewError: self = error
        case is CancellationError: self.init(.queueFailed, "the call was cancelled")
        case let failure as PostgresFailure: self.init(failure)
        default: self.init(.queueFailed, "the queue cannot be used", underlying: error)
        }
    }

    private init(_ failure: PostgresFailure) {
        switch failure.state {
        case "53100": self.init(.diskFull, "the database has no room for the queue")
        case "42501": self.init(.queueFailed, "the role of the database lacks a right: \(failure.message)")
        case nil: self.init(.queueFailed, "the database cannot be reached: \(failure.message)")
        case let state?: self.init(.queueFailed, "the database refuses (\(state)): \(failure.message)")
        }
    }
}
#endif
