#if Storage
internal import Curlew
internal import FoundationEssentials
internal import GRDB
internal import GRDBSQLite

/// A cache entry in the index.
struct StoredEntry: Sendable {
    /// The name of the entry; in a damaged row it may be invalid.
    let id: String
    /// The time of the last use, in microseconds since 1970.
    let used: Int64
    let bodySize: Int64
    /// The CRC-32 of the body.
    let checksum: UInt32
    /// The boot of the operating system in which the body was last known to be complete.
    let boot: Int64
    let fields: Fields
    /// True if the body is a file.
    let isFile: Bool
    /// The body, if it is small and was requested.
    var body: [UInt8]?

    /// The encoded fields (``HTTPCache/Entry/encoded``), or the decoded entry if it is known.
    enum Fields: Sendable {
        case encoded([UInt8])
        case decoded(HTTPCache.Entry)
    }
}

/// A deleted row.
struct DeletedEntry: Sendable {
    let id: String
    let isFile: Bool
}

/// The use of an entry that is not yet recorded in the index.
struct EntryUse: Sendable {
    /// The time of the use, in microseconds since 1970.
    var time: Int64
    /// True if the body was compared with its checksum.
    var isVerified: Bool
}

/// The statements on an index. They decode only values that the tables allow.
struct CacheQueries {
    let database: Database
    /// The entries that are already decoded.
    var decoded: Guarded<DecodedEntries>?

    private static let columns = "id, used, body_size, checksum, boot, metadata, body IS NULL, body"
    private static let byKey = "SELECT \(columns) FROM entry WHERE uri = ? AND partition IS ?"
    private static let byID = "SELECT \(columns) FROM entry WHERE id = ?"
    private static let list = "SELECT \(columns) FROM entry WHERE id > ? ORDER BY id LIMIT ?"

    /// Prepares the statements that need most of the schema.
    static func check(_ database: Database) throws {
        _ = try database.cachedStatement(sql: byKey)
        _ = try database.cachedStatement(sql: "SELECT entries, total.size, responded, number FROM total, entry LIMIT 0")
    }

    // MARK: Reading

    /// The entries under a key, in no particular order. A single entry includes its body if the body is small.
    func entries(for key: HTTPCache.Entry.Key) throws -> [StoredEntry] {
        let rows = try EntryRows(database, Self.byKey)
        rows.bind(key.uri, at: 1)
        if let partition = key.partition { rows.bind(partition, at: 2) }
        var entries: [StoredEntry] = []
        while try rows.next() { entries.append(rows.entry(withBody: entries.isEmpty, decoded)) }
        if entries.count > 1 {
            for index in entries.indices { entries[index].body = nil }
        }
        return entries
    }

    func entry(_ id: HTTPCache.Entry.ID) throws -> StoredEntry? {
        let rows = try EntryRows(database, Self.byID)
        rows.bind(id.description, at: 1)
        return try rows.next() ? rows.entry(withBody: true, nil) : nil
    }

    func list(after id: String, count: Int) throws -> [StoredEntry] {
        let rows = try EntryRows(database, Self.list)
        rows.bind(id, at: 1)
        rows.bind(count, at: 2)
        var entries: [StoredEntry] = []
        while try rows.next() { entries.append(rows.entry(withBody: false, nil)) }
        return entries
    }

    func totals() throws -> (entries: Int, size: Int) {
        let statement = try database.cachedStatement(sql: "SELECT entries, size FROM total")
        let cursor = try Row.fetchCursor(statement)
        guard let row = try cursor.next() else { return (0, 0) }
        return (Int(row[0] as Int64? ?? 0), Int(row[1] as Int64? ?? 0))
    }

    /// The names of all entries whose bodies are files.
    func fileNames() throws -> Set<String> {
        let cursor = try Row.fetchCursor(database, sql: "SELECT id FROM entry WHERE body IS NULL")
        var names: Set<String> = []
        while let row = try cursor.next() { names.insert(row[0] as String? ?? "") }
        return names
    }

    // MARK: Writing

    /// Records the times of entries' uses.
    func record(_ uses: [HTTPCache.Entry.ID: EntryUse], boot: Int64) throws {
        for (id, use) in uses {
            try execute(
                "UPDATE entry SET used = max(used, ?), boot = CASE ? WHEN 0 THEN boot ELSE ? END WHERE id = ?",
                [use.time, use.isVerified ? 1 : 0, boot, id.description])
        }
    }

    /// - Parameter body: The body, unless it is a file.
    func insert(
        _ entry: HTTPCache.Entry, metadata: [UInt8], size: Int, checksum: UInt32, body: [UInt8]?, used: Int64,
        boot: Int64
    ) throws {
        try execute(
            """
            INSERT INTO entry (id, uri, partition, used, responded, size, body_size, checksum, boot, metadata, body)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                entry.id.description, entry.key.uri, entry.key.partition, used, entry.responseTime, size,
                entry.bodySize,
                Int64(checksum), boot, Data(metadata), body.map { Data($0) },
            ])
    }

    /// - Returns: True if the entry existed, with a body of the same size.
    func update(_ entry: HTTPCache.Entry, metadata: [UInt8], size: Int) throws -> Bool {
        try execute(
            """
            UPDATE entry SET metadata = ?, responded = ?, size = ?
            WHERE id = ? AND uri = ? AND partition IS ? AND body_size = ?
            """,
            [
                Data(metadata), entry.responseTime, size, entry.id.description, entry.key.uri, entry.key.partition,
                entry.bodySize,
            ])
        return database.changesCount > 0
    }

    func delete(_ ids: [String]) throws -> [DeletedEntry] {
        try ids.flatMap { try delete("id = ?", [$0]) }
    }

    func delete(_ selection: HTTPCache.Selection) throws -> [DeletedEntry] {
        if selection.isAll { return try delete("TRUE", []) }
        if let ids = selection.ids { return try delete(ids.map(\.description)) }
        if let uris = selection.uris { return try uris.flatMap { try delete("uri = ?", [$0]) } }
        if let start = selection.start { return try delete("responded >= ?", [start]) }
        return []
    }

    func count(of key: HTTPCache.Entry.Key) throws -> Int {
        let statement = try database.cachedStatement(sql: "SELECT count(*) FROM entry WHERE uri = ? AND partition IS ?")
        return try Int.fetchOne(statement, arguments: [key.uri, key.partition]) ?? 0
    }

    /// Deletes the entries that were not used since a time.
    func deleteUnused(since time: Int64) throws -> [DeletedEntry] { try delete("used < ?", [time]) }

    /// Deletes the least recently used variants of a key.
    func deleteVariants(of key: HTTPCache.Entry.Key, beyond limit: Int, keeping id: HTTPCache.Entry.ID) throws
        -> [DeletedEntry]
    {
        try delete(
            """
            number IN (
                SELECT number FROM entry WHERE uri = ? AND partition IS ? AND id <> ?
                ORDER BY used DESC, number DESC LIMIT -1 OFFSET ?
            )
            """, [key.uri, key.partition, id.description, limit - 1])
    }

    /// Deletes the least recently used entries until the rest has at most `capacity` bytes.
    func deleteOldest(downTo capacity: Int, keeping id: HTTPCache.Entry.ID?) throws -> [DeletedEntry] {
        var deleted: [DeletedEntry] = []
        while true {
            let excess = try totals().size - capacity
            guard excess > 0 else { return deleted }
            let step = try delete(
                "number IN (SELECT number FROM entry WHERE id <> ? ORDER BY used, number LIMIT 1)",
                [id?.description ?? ""])
            if step.isEmpty { return deleted }
            deleted += step
        }
    }

    private func delete(_ condition: String, _ arguments: StatementArguments) throws -> [DeletedEntry] {
        let statement = try database.cachedStatement(
            sql: "DELETE FROM entry WHERE \(condition) RETURNING id, body IS NULL")
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        var deleted: [DeletedEntry] = []
        while let row = try cursor.next() {
            deleted.append(DeletedEntry(id: row[0] as String? ?? "", isFile: row[1] as Bool? ?? true))
        }
        return deleted
    }

    private func execute(_ sql: String, _ arguments: StatementArguments) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

/// The rows of a statement on entries, read by direct calls of SQLite. GRDB's rows, which store their columns' names,
/// cost as much as the rest of a look-up. The statement belongs to GRDB and lives in its connection's cache.
private final class EntryRows {
    // SQLITE_TRANSIENT: SQLite copies the bound value.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private let statement: Statement
    private var raw: OpaquePointer { statement.sqliteStatement }

    init(_ database: Database, _ sql: String) throws { statement = try database.cachedStatement(sql: sql) }

    // The reset ends the read transaction of the statement.
    deinit {
        sqlite3_reset(raw)
        sqlite3_clear_bindings(raw)
    }

    func bind(_ text: String, at index: Int32) {
        var text = text
        text.withUTF8 { bytes in
            _ = bytes.withMemoryRebound(to: CChar.self) { characters in
                // An empty text has no base address, and a null pointer would bind NULL.
                guard let start = characters.baseAddress else {
                    return sqlite3_bind_text(raw, index, "", 0, Self.copied)
                }
                return sqlite3_bind_text(raw, index, start, Int32(characters.count), Self.copied)
            }
        }
    }

    func bind(_ number: Int, at index: Int32) { sqlite3_bind_int64(raw, index, Int64(number)) }

    func next() throws -> Bool {
        let code = sqlite3_step(raw)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let message = sqlite3_db_handle(raw).map { String(cString: sqlite3_errmsg($0)) }
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
    }

    /// The entry in the row, with the columns of ``CacheQueries/columns``.
    func entry(withBody: Bool, _ decoded: Guarded<DecodedEntries>?) -> StoredEntry {
        let id = sqlite3_column_text(raw, 0).map { String(cString: $0) } ?? ""
        let isFile = sqlite3_column_int64(raw, 6) != 0
        let metadata = bytes(5)
        let known = decoded?.withLock { $0.entry(id, of: metadata) }
        return StoredEntry(
            id: id, used: sqlite3_column_int64(raw, 1), bodySize: sqlite3_column_int64(raw, 2),
            checksum: UInt32(truncatingIfNeeded: sqlite3_column_int64(raw, 3)), boot: sqlite3_column_int64(raw, 4),
            fields: known.map { .decoded($0) } ?? .encoded(Array(metadata)), isFile: isFile,
            body: withBody && !isFile ? Array(bytes(7)) : nil)
    }

    /// The bytes in a column, valid until the next row.
    private func bytes(_ index: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(raw, index)
        return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(raw, index)))
    }
}
#endif
