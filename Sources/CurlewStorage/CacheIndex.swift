#if Storage
internal import Curlew
internal import Dispatch
internal import FoundationEssentials
internal import GRDB
internal import Glibc
internal import Synchronization

/// The database that knows the entries: their fields, small bodies, and what the limits are counted by.
///
/// It has two connections, each on a queue of its own, so that looking up waits for no writing. A call is one hop.
final class CacheIndex: Sendable {
    /// The longest that a call waits for its turn and for the locks of other processes.
    static let patience = Duration.milliseconds(250)
    /// The longest that opening waits for such a lock.
    private static let openingPatience = Duration.seconds(1)

    let file: IndexFile
    // In this order: the connection that is closed last puts the database in order.
    private let reader: DatabaseQueue
    private let writer: DatabaseQueue
    private let use: StoreFolder.HeldLock
    private let writingEnd: Deadline
    private let readingEnd: Deadline

    /// Opens an index, and makes its tables or migrates them.
    /// - Throws: ``Curlew/CurlewError``, or ``Unusable`` for what is no index that this version can use.
    init(_ file: IndexFile, in folder: StoreFolder) throws {
        self.file = file
        guard let use = try folder.use(file) else { throw Unusable(reason: "it is no file of ours") }
        self.use = use
        do {
            let writingEnd = Deadline(after: Self.openingPatience)
            let readingEnd = Deadline(after: Self.openingPatience)
            let path = folder.path(of: file)
            writer = try DatabaseQueue(path: path, configuration: Self.configuration(writingEnd, isReader: false))
            try writer.writeWithoutTransaction { try CacheSchema.prepare($0) }
            reader = try DatabaseQueue(path: path, configuration: Self.configuration(readingEnd, isReader: true))
            self.writingEnd = writingEnd
            self.readingEnd = readingEnd
        } catch let error as DatabaseError where error.isDamage {
            throw Unusable(reason: error.reason)
        } catch let error as Unusable {
            throw error
        } catch {
            throw CurlewError(index: error)
        }
    }

    /// Why an index is of no use.
    struct Unusable: Error {
        let reason: String
    }

    private static func configuration(_ end: Deadline, isReader: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.label = isReader ? "curlew.index.read" : "curlew.index.write"
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
            // What the operating system's failure takes away are the last entries, and never the order of the rest.
            if !isReader {
                try database.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")
            }
        }
        return configuration
    }

    /// Reads on the reader's queue.
    func read<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let start = Instant.now
        return try await withCheckedThrowingContinuation { continuation in
            reader.asyncUnsafeRead { [readingEnd] database in
                readingEnd.set(start.advanced(by: Self.patience.nanosecondsClamped))
                continuation.resume(with: Result { try work(database.get()) })
            }
        }
    }

    /// Reads, and blocks meanwhile.
    func readWaiting<Value>(_ work: (Database) throws -> Value) throws -> Value { try reader.unsafeRead(work) }

    /// Writes on the writer's queue, in a transaction.
    func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let start = Instant.now
        return try await withCheckedThrowingContinuation { continuation in
            write(start) {
                continuation.resume(with: $0)
            } work: {
                try work($0)
            }
        }
    }

    /// Writes when the writer's queue comes to it, and forgets about errors.
    func writeLater(_ work: @escaping @Sendable (Database) throws -> Void) {
        write(Instant.now, then: { _ in }, work: work)
    }

    private func write<Value: Sendable>(
        _ start: Instant, then completion: @escaping @Sendable (Result<Value, any Error>) -> Void,
        work: @escaping @Sendable (Database) throws -> Value
    ) {
        writer.asyncWriteWithoutTransaction { [writingEnd] database in
            // Whoever waited for others to fail does not wait as long once more.
            writingEnd.set(start.advanced(by: Self.patience.nanosecondsClamped))
            completion(
                Result {
                    var value: Value?
                    try database.inTransaction(.immediate) {
                        value = try work(database)
                        return .commit
                    }
                    guard let value else { throw CurlewError(.cacheFailed, "the index of the cache was not written") }
                    return value
                })
        }
    }

    /// Waits for what is under way, and closes both connections.
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

/// The moment up to which a connection waits for locks.
private final class Deadline: Sendable {
    private let nanoseconds: Atomic<Int64>

    init(after duration: Duration) {
        nanoseconds = Atomic(Instant.now.advanced(by: duration.nanosecondsClamped).nanoseconds)
    }

    func set(_ instant: Instant) { nanoseconds.store(instant.nanoseconds, ordering: .relaxed) }

    var isPast: Bool { Instant.now.nanoseconds >= nanoseconds.load(ordering: .relaxed) }
}

/// The tables of an index, and how those of older versions become them.
enum CacheSchema {
    /// The number that SQLite keeps in a file for whoever made it: "Curl".
    private static let application = 0x4375_726C

    /// The steps from each version to the next. `PRAGMA user_version` says how many were taken.
    private static let migrations = [
        """
        CREATE TABLE entry (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            uri TEXT NOT NULL,
            partition TEXT,
            used INTEGER NOT NULL,
            responded INTEGER NOT NULL,
            size INTEGER NOT NULL,
            body_size INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            boot INTEGER NOT NULL,
            metadata BLOB NOT NULL,
            body BLOB
        ) STRICT;
        CREATE INDEX entry_key ON entry (uri, partition);
        CREATE INDEX entry_used ON entry (used);
        CREATE TABLE total (entries INTEGER NOT NULL, size INTEGER NOT NULL) STRICT;
        INSERT INTO total VALUES (0, 0);
        CREATE TRIGGER entry_inserted AFTER INSERT ON entry BEGIN
            UPDATE total SET entries = entries + 1, size = size + new.size;
        END;
        CREATE TRIGGER entry_deleted AFTER DELETE ON entry BEGIN
            UPDATE total SET entries = entries - 1, size = size - old.size;
        END;
        CREATE TRIGGER entry_resized AFTER UPDATE OF size ON entry BEGIN
            UPDATE total SET size = size - old.size + new.size;
        END;
        """
    ]

    /// The newest version.
    static var version: Int { migrations.count }

    static func prepare(_ database: Database) throws {
        try database.inTransaction(.immediate) {
            let version = try number(database, "PRAGMA user_version")
            let application = try number(database, "PRAGMA application_id")
            guard version <= migrations.count else {
                throw CacheIndex.Unusable(
                    reason: "its schema has the version \(version), and \(migrations.count) is known")
            }
            if version == 0 {
                guard try number(database, "SELECT count(*) FROM sqlite_master") == 0 else {
                    throw CacheIndex.Unusable(reason: "it is another program's database")
                }
                try database.execute(sql: "PRAGMA application_id = \(Self.application)")
            } else if version < 0 || application != Self.application {
                throw CacheIndex.Unusable(reason: "it is another program's database")
            }
            for step in max(0, version)..<migrations.count {
                try database.execute(sql: migrations[step])
                try database.execute(sql: "PRAGMA user_version = \(step + 1)")
            }
            return .commit
        }
        try CacheQueries.check(database)
    }

    private static func number(_ database: Database, _ sql: String) throws -> Int {
        try Int.fetchOne(database, sql: sql) ?? 0
    }
}
#endif
