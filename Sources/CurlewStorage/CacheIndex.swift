#if Storage
internal import Curlew
internal import GRDB

/// The database of cache entries: their fields, small bodies, and the totals for the limits.
///
/// Reads never wait for writes, and a call needs one hop.
final class CacheIndex: Sendable {
    /// The maximum time that a call waits for its turn and for the locks of other processes, unless a test sets its
    /// own: 250 ms.
    static let patience = Duration.milliseconds(250)

    let file: IndexFile
    private let database: DatabasePair
    private let use: StoreFolder.HeldLock

    /// Opens an index, and makes or migrates its tables.
    /// - Throws: ``Curlew/CurlewError``, or ``Unusable`` for a file that this version cannot use as an index.
    init(_ file: IndexFile, in folder: StoreFolder, patience: Duration) throws {
        self.file = file
        guard let use = try folder.use(file) else { throw Unusable(reason: "it is no file of ours") }
        self.use = use
        do {
            let path = folder.path(of: file)
            database = try DatabasePair(
                path: path, label: "curlew.index", patience: patience,
                checkpointLock: folder.path(ofCheckpointLock: file)
            ) {
                try CacheSchema.schema.prepare($0)
                try CacheQueries.check($0)
            }
        } catch let error as DatabaseError where error.isDamage {
            throw Unusable(reason: error.reason)
        } catch let error as DatabaseSchema.Refusal {
            throw Unusable(reason: error.reason)
        } catch {
            throw CurlewError(index: error)
        }
    }

    /// The reason why an index is unusable.
    struct Unusable: Error {
        let reason: String
    }

    /// Reads on the reader's queue.
    func read<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.read(work)
    }

    /// Reads and blocks the thread meanwhile.
    func readWaiting<Value>(_ work: (Database) throws -> Value) throws -> Value { try database.readWaiting(work) }

    /// Writes on the writer's queue, in a transaction.
    func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.write(work)
    }

    /// Writes later on the writer's queue, and ignores errors.
    func writeLater(_ work: @escaping @Sendable (Database) throws -> Void) { database.writeLater(work) }

    /// Waits for pending work, and closes both connections.
    func close() async throws { try await database.close() }
}

/// The tables of an index, with the migrations from older versions.
enum CacheSchema {
    /// The schema; its application identifier is "Curl".
    static let schema = DatabaseSchema(
        application: 0x4375_726C,
        migrations: [
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
        ])
}
#endif
