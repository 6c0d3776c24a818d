#if Storage
internal import Curlew
internal import Dispatch
internal import FoundationEssentials
internal import GRDB
internal import CurlewPlatform

/// A queue in a SQLite database in a folder, for the processes of one machine.
///
/// Leases use the machine's clock since boot (`CLOCK_BOOTTIME`), which is never set back; a lease of an earlier boot
/// has expired. A worker whose process has ended is detected by its lock, which the kernel releases.
package final class SQLiteTransferStore: TransferStore {
    /// The maximum time that a call waits for the locks of other processes: 10 s.
    package static let patience = Duration.seconds(10)
    private static let opening = DispatchQueue(label: "curlew.queue.opening")

    private let folder: TransferFolder
    private let database: DatabasePair
    private let use: Guarded<TransferFolder.Lock?>
    private let clock: TransferClock
    private let workers = Guarded<[TransferWorkerID: TransferFolder.Lock]>([:])
    private let listeners = Guarded<[UInt64: AsyncStream<Void>.Continuation]>([:])
    private let lastListener = Guarded<UInt64>(0)
    /// The path that a damaged queue was moved to when this one was opened; nil if the queue was intact.
    package let movedAside: String?

    package static func open(
        folder path: String, identifier: String, clock: TransferClock = .system, patience: Duration = patience
    ) async throws -> SQLiteTransferStore {
        try await opening.perform {
            try SQLiteTransferStore(try TransferFolder(path, identifier: identifier), clock, patience)
        }
    }

    private init(_ folder: TransferFolder, _ clock: TransferClock, _ patience: Duration) throws {
        self.folder = folder
        self.clock = clock
        let lock = try folder.lockForOpening()
        defer { withExtendedLifetime(lock) {} }
        let use = try folder.useLock()
        do {
            try folder.makeDatabase()
            database = try Self.database(in: folder, patience)
            movedAside = nil
        } catch let error as DatabaseError where error.isCorruption {
            // The exclusive lock keeps all other users out during the replacement.
            guard use.take(exclusively: true) else {
                throw CurlewError(.queueFailed, "the queue is damaged, and in use: \(error.reason)")
            }
            if folder.isForeign { throw CurlewError(.queueFailed, "the queue's file is another program's") }
            movedAside = try folder.moveAside()
            try folder.makeDatabase()
            do { database = try Self.database(in: folder, patience) } catch { throw CurlewError(queue: error) }
        } catch {
            throw CurlewError(queue: error)
        }
        _ = use.take(exclusively: false)
        folder.sweep()
        self.use = Guarded(use)
    }

    private static func database(in folder: TransferFolder, _ patience: Duration) throws -> DatabasePair {
        try DatabasePair(
            path: folder.database, label: "curlew.queue", patience: patience, checkpointLock: folder.checkpointLock
        ) { database in
            try TransferSchema.schema.prepare(database)
            let verdict = try String.fetchOne(database, sql: "PRAGMA quick_check(1)")
            guard verdict == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: verdict) }
        }
    }

    package var patience: Duration? { nil }
    package var seesGoneWorkers: Bool { true }

    package func close() async throws {
        for listener in listeners.withLock({ Array($0.values) }) { listener.finish() }
        do { try await database.close() } catch { throw CurlewError(queue: error) }
        use.withLock { $0 = nil }
    }

    // MARK: Calls

    /// - Parameters:
    ///   - isPromise: True if the change must survive a failure of the machine.
    ///   - isTold: True if listeners are notified of an actual change.
    private func write<Value: Sendable>(
        isPromise: Bool = true, isTold: Bool = true, _ work: @escaping @Sendable (TransferQueries) throws -> Value
    ) async throws -> Value {
        let now = clock.now()
        do {
            let (value, hasChanged) = try await database.write(isPromise: isPromise) { database in
                let before = database.totalChangesCount
                let value = try work(TransferQueries(database: database, now: now))
                return (value, database.totalChangesCount != before)
            }
            if isTold, hasChanged { notify() }
            return value
        } catch {
            throw CurlewError(queue: error)
        }
    }

    private func read<Value: Sendable>(_ work: @escaping @Sendable (TransferQueries) throws -> Value) async throws
        -> Value
    {
        let now = clock.now()
        do {
            return try await database.read { try work(TransferQueries(database: $0, now: now)) }
        } catch {
            throw CurlewError(queue: error)
        }
    }

    package func enqueue(_ transfers: [NewTransfer]) async throws {
        try await write { try $0.enqueue(transfers) }
    }

    package func claim(_ worker: TransferWorkerID, policy: ClaimPolicy, atMost count: Int) async throws
        -> [TransferClaim]
    {
        if workers.withLock({ $0[worker] }) == nil {
            let lock = try folder.enlist(worker)
            workers.withLock { $0[worker] = lock }
        }
        return try await write { [folder] queries in
            try queries.expire { $0 != worker && folder.isGone($0) }
            try queries.miss()
            try queries.wake()
            return try queries.claim(worker, policy, atMost: count)
        }
    }

    package func renew(
        _ worker: TransferWorkerID, lease: Duration, progress: [TransferClaim.Key: TransferProgress]
    ) async throws -> [TransferClaim.Key: TransferOrder] {
        try await write(isPromise: false, isTold: false) { try $0.renew(worker, lease, progress) }
    }

    package func record(_ change: TransferChange, of claim: TransferClaim.Key) async throws -> Bool {
        try await write { try $0.record(change, claim) }
    }

    package func command(_ command: TransferCommand, of ids: [DurableTransfer.ID]?) async throws -> Int {
        try await write { try $0.command(command, ids) }
    }

    package func wakeAfterNetwork() async throws { try await write { try $0.wakeAfterNetwork() } }

    package func ends(after cursor: Int64, limit: Int) async throws -> [StoredTransfer] {
        try await read { try $0.ends(after: cursor, limit: limit) }
    }

    package func acknowledge(_ ids: [DurableTransfer.ID]?) async throws { try await write { try $0.acknowledge(ids) } }

    package func transfer(_ id: DurableTransfer.ID) async throws -> StoredTransfer? {
        try await read { try $0.transfer(id) }
    }

    package func list(
        _ states: Set<DurableTransfer.State>?, after number: Int64, limit: Int
    ) async throws -> [StoredTransfer] {
        try await read { try $0.list(states, after: number, limit: limit) }
    }

    package func counts() async throws -> [DurableTransfer.State: Int] { try await read { try $0.counts() } }
    package func outlook(of worker: TransferWorkerID?) async throws -> TransferOutlook {
        try await read { try $0.outlook(of: worker) }
    }

    package func resign(_ worker: TransferWorkerID) async {
        workers.withLock { _ = $0.removeValue(forKey: worker) }
        folder.dismiss(worker)
    }

    // MARK: Changes

    /// The interval between two checks for changes of other processes.
    private static let pollInterval = Duration.milliseconds(250)

    private func notify() {
        for listener in listeners.withLock({ Array($0.values) }) { listener.yield() }
    }

    package func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = lastListener.withLock {
            $0 += 1
            return $0
        }
        listeners.withLock { $0[number] = continuation }
        // The stream's own commits need no check: `data_version` counts only those of other connections.
        let polling = Task { [weak self] in
            var last: Int64?
            while !Task.isCancelled {
                guard let database = self?.database else { return }
                let version = try? await database.read { try Int64.fetchOne($0, sql: "PRAGMA data_version") }
                if let version, version != last {
                    if last != nil { continuation.yield() }
                    last = version
                }
                try? await Task.sleep(for: Self.pollInterval)
            }
        }
        continuation.onTermination = { [weak self] _ in
            polling.cancel()
            self?.listeners.withLock { _ = $0.removeValue(forKey: number) }
        }
        return stream
    }
}

/// The clocks of a store.
package struct TransferClock: Sendable {
    /// A time on all of these clocks.
    package struct Moment: Sendable {
        /// Milliseconds since 1970; this clock may be set back and forth.
        package var wall: Int64
        /// Milliseconds since the machine was started.
        package var uptime: Int64
        /// The identifier of the machine's boot.
        package var boot: String

        package init(wall: Int64, uptime: Int64, boot: String) {
            self.wall = wall
            self.uptime = uptime
            self.boot = boot
        }
    }

    package let now: @Sendable () -> Moment

    package init(now: @escaping @Sendable () -> Moment) { self.now = now }

    package static let system: TransferClock = {
        let boot = (try? SecurityFile.bytes(of: "/proc/sys/kernel/random/boot_id", limit: 64)) ?? []
        let name = String(decoding: boot.filter { $0 > 0x20 }, as: UTF8.self)
        return TransferClock {
            Moment(wall: milliseconds(CLOCK_REALTIME), uptime: milliseconds(CLOCK_BOOTTIME), boot: name)
        }
    }()

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

extension DatabaseError {
    /// True if the file is damaged, not merely unusable for this version.
    var isCorruption: Bool {
        resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB
    }
}

extension CurlewError {
    /// Makes an error from one of the queue's database. Its message contains neither SQL nor arguments.
    init(queue error: any Error) {
        switch error {
        case let error as CurlewError: self = error
        case let error as DatabaseSchema.Refusal:
            self.init(.queueFailed, "the queue cannot be used: \(error.reason)")
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_FULL: self.init(.diskFull, "the disk has no room for the queue")
            case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(.queueFailed, "the queue is locked by another process")
            case .SQLITE_READONLY: self.init(.queueFailed, "the queue cannot be written")
            default: self.init(.queueFailed, "the queue cannot be used: \(error.reason)")
            }
        default: self.init(.queueFailed, "the queue cannot be used", underlying: error)
        }
    }
}
#endif
