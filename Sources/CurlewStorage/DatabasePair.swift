#if Storage
internal import Curlew
internal import Dispatch
internal import GRDB
internal import CurlewPlatform
internal import Synchronization

/// A SQLite database in WAL mode with two connections, each on its own queue, so that reads never wait for writes. A
/// call needs one hop. Several processes may open the same database.
///
/// Commits never checkpoint the log automatically: up to version 3.51.2, SQLite can corrupt a database when two
/// connections checkpoint, or one checkpoints and another writes, at the same instant. Instead, a writer checkpoints
/// after a number of commits. It holds a lock of the file system and excludes other writers meanwhile (`TRUNCATE`).
final class DatabasePair: Sendable {
    /// The minimum time that opening waits for the locks of other processes, even if calls wait less: 1 s.
    private static let openingPatience = Duration.seconds(1)
    /// The size of the log above which it is checkpointed: 4 MiB.
    private static let longestLog: Int64 = 4 << 20
    /// The number of commits between two checks of the log's size.
    private static let commitsBetweenLooks = 32

    private let path: String
    // The order of these properties matters: the connection that closes last cleans up the database.
    private let reader: DatabaseQueue
    private let writer: DatabaseQueue
    private let writingEnd: Deadline
    private let readingEnd: Deadline
    private let patience: Duration
    private let checkpointLock: Int32
    private let state = Guarded(WriterState())

    /// The state that only the writer's queue uses.
    private struct WriterState {
        var isFull = false
        var commits = 0
    }

    /// - Parameters:
    ///   - path: The database file, which must exist.
    ///   - label: The name of the queues.
    ///   - patience: The maximum time that a call waits for its turn and for the locks of other processes.
    ///   - checkpointLock: The path of the lock for checkpoints.
    ///   - prepare: Makes or migrates the tables, outside a transaction.
    init(
        path: String, label: String, patience: Duration, checkpointLock: String, prepare: (Database) throws -> Void
    ) throws {
        self.path = path
        self.patience = patience
        let writingEnd = Deadline(after: max(Self.openingPatience, patience))
        let readingEnd = Deadline(after: max(Self.openingPatience, patience))
        writer = try DatabaseQueue(path: path, configuration: Self.configuration(label, writingEnd, isReader: false))
        try writer.writeWithoutTransaction(prepare)
        reader = try DatabaseQueue(path: path, configuration: Self.configuration(label, readingEnd, isReader: true))
        self.writingEnd = writingEnd
        self.readingEnd = readingEnd
        self.checkpointLock = open(checkpointLock, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    }

    deinit { if checkpointLock >= 0 { CurlewPlatform.close(checkpointLock) } }

    private static func configuration(_ label: String, _ end: Deadline, isReader: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.label = isReader ? "\(label).read" : "\(label).write"
        configuration.readonly = isReader
        configuration.foreignKeysEnabled = false
        configuration.journalMode = isReader ? .default : .wal
        configuration.qos = .default
        configuration.busyMode = .callback { _ in
            guard !end.isPast else { return false }
            usleep(1000)
            return true
        }
        configuration.prepareDatabase { database in
            guard !isReader else { return }
            // After a failure of the operating system the last commits may be lost, but earlier ones remain in order.
            try database.execute(
                sql: "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304; PRAGMA wal_autocheckpoint = 0")
        }
        return configuration
    }

    /// Reads on the reader's queue.
    func read<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let start = Instant.now
        return try await withCheckedThrowingContinuation { continuation in
            reader.asyncUnsafeRead { [readingEnd, patience] database in
                readingEnd.set(start.advanced(by: patience.nanosecondsClamped))
                continuation.resume(with: Result { try work(database.get()) })
            }
        }
    }

    /// Reads and blocks the thread meanwhile.
    func readWaiting<Value>(_ work: (Database) throws -> Value) throws -> Value { try reader.unsafeRead(work) }

    /// Writes on the writer's queue, in a transaction.
    /// - Parameter isPromise: True if the written data must survive a failure of the operating system from then on
    ///   (`synchronous = FULL`).
    func write<Value: Sendable>(
        isPromise: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        let start = Instant.now
        return try await withCheckedThrowingContinuation { continuation in
            write(start, isPromise) {
                continuation.resume(with: $0)
            } work: {
                try work($0)
            }
        }
    }

    /// Writes later on the writer's queue, and ignores errors.
    func writeLater(_ work: @escaping @Sendable (Database) throws -> Void) {
        write(Instant.now, false, then: { _ in }, work: work)
    }

    private func write<Value: Sendable>(
        _ start: Instant, _ isPromise: Bool, then completion: @escaping @Sendable (Result<Value, any Error>) -> Void,
        work: @escaping @Sendable (Database) throws -> Value
    ) {
        writer.asyncWriteWithoutTransaction { [self] database in
            // The time limit counts from the call, so that a wait for earlier failing calls is included.
            writingEnd.set(start.advanced(by: patience.nanosecondsClamped))
            completion(
                Result {
                    try setSynchronous(isPromise, database)
                    var value: Value?
                    try database.inTransaction(.immediate) {
                        value = try work(database)
                        return .commit
                    }
                    guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
                    return value
                })
            checkpointIfDue(database)
        }
    }

    private func setSynchronous(_ isFull: Bool, _ database: Database) throws {
        guard state.withLock({ $0.isFull }) != isFull else { return }
        try database.execute(sql: "PRAGMA synchronous = \(isFull ? "FULL" : "NORMAL")")
        state.withLock { $0.isFull = isFull }
    }

    private func checkpointIfDue(_ database: Database) {
        let isDue = state.withLock { state in
            state.commits += 1
            return state.commits.isMultiple(of: Self.commitsBetweenLooks)
        }
        var status = stat()
        guard isDue, stat("\(path)-wal", &status) == 0, Int64(status.st_size) > Self.longestLog else { return }
        checkpoint(database)
    }

    /// Writes the log into the database, unless another connection checkpoints or reads.
    private func checkpoint(_ database: Database) {
        guard checkpointLock >= 0, flock(checkpointLock, LOCK_EX | LOCK_NB) == 0 else { return }
        defer { flock(checkpointLock, LOCK_UN) }
        writingEnd.set(Instant.now.advanced(by: 50_000_000))
        // A failed checkpoint leaves the log unchanged.
        try? database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Waits for pending work, and closes both connections.
    func close() async throws {
        let _: Void = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { [reader, writer] in
                continuation.resume(
                    with: Result {
                        try reader.close()
                        try writer.close()
                    })
            }
        }
    }
}

/// The time until which a connection waits for locks.
private final class Deadline: Sendable {
    private let nanoseconds: Atomic<Int64>

    init(after duration: Duration) {
        nanoseconds = Atomic(Instant.now.advanced(by: duration.nanosecondsClamped).nanoseconds)
    }

    func set(_ instant: Instant) { nanoseconds.store(instant.nanoseconds, ordering: .relaxed) }

    var isPast: Bool { Instant.now.nanoseconds >= nanoseconds.load(ordering: .relaxed) }
}

/// The schema of a database, with migrations from older versions.
struct DatabaseSchema: Sendable {
    /// The number in a SQLite file that identifies its application.
    let application: Int
    /// The steps from each version to the next. `PRAGMA user_version` is the number of completed steps.
    let migrations: [String]

    /// The reason why this version cannot use a database.
    enum Refusal: Error {
        case isNewer(version: Int, known: Int)
        case isForeign

        var reason: String {
            switch self {
            case .isNewer(let version, let known): "its schema has the version \(version), and \(known) is known"
            case .isForeign: "it is another program's database"
            }
        }
    }

    /// Makes or migrates the tables.
    /// - Throws: ``Refusal`` or a database's error; the database is unchanged then.
    func prepare(_ database: Database) throws {
        // Usually the schema is current, and then no lock is needed.
        if try number(database, "PRAGMA user_version") == migrations.count,
            try number(database, "PRAGMA application_id") == application
        {
            return
        }
        try database.inTransaction(.immediate) {
            let version = try number(database, "PRAGMA user_version")
            let application = try number(database, "PRAGMA application_id")
            guard version == 0 || application == self.application else { throw Refusal.isForeign }
            guard version <= migrations.count else {
                throw Refusal.isNewer(version: version, known: migrations.count)
            }
            if version == 0 {
                guard try number(database, "SELECT count(*) FROM sqlite_master") == 0 else { throw Refusal.isForeign }
                try database.execute(sql: "PRAGMA application_id = \(self.application)")
            } else if version < 0 {
                throw Refusal.isForeign
            }
            for step in max(0, version)..<migrations.count {
                try database.execute(sql: migrations[step])
                try database.execute(sql: "PRAGMA user_version = \(step + 1)")
            }
            return .commit
        }
    }

    private func number(_ database: Database, _ sql: String) throws -> Int {
        try Int.fetchOne(database, sql: sql) ?? 0
    }
}
#endif
