#if Postgres
internal import Curlew

/// Makes the tables of a schema, or migrates them to this version.
enum PostgresMigration {
    /// Sets up a new connection, before its other statements.
    static func setUp(_ connection: PostgresConnection, _ settings: PostgresSettings) async throws {
        let milliseconds = settings.statementTimeout.wholeMilliseconds
        let values = [
            ("search_path", quoted(settings.schema)), ("statement_timeout", "\(milliseconds)"), ("lock_timeout", "0"),
            ("idle_in_transaction_session_timeout", "\(milliseconds)"),
            // The functions rely on seeing the data committed before each of their statements.
            ("default_transaction_isolation", "read committed"), ("default_transaction_deferrable", "off"),
            ("bytea_output", "hex"), ("array_nulls", "on"),
            // Each statement has an index in its order. Outdated statistics of a fast-growing table would mislead the
            // planner.
            ("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("enable_sort", "off"), ("jit", "off"),
            ("plan_cache_mode", "force_generic_plan"),
        ]
        _ = try await connection.run(
            "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS x (name, value)",
            [.array(values.map(\.0)), .array(values.map(\.1))])
        // Promised changes must survive a failure of the server's machine, whatever the database's default is.
        _ = try await connection.run(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
        try await PostgresOwnership.verify(connection, schema: settings.schema)
    }

    static func quoted(_ name: String) -> String { "\"\(name)\"" }

    /// - Throws: ``Curlew/CurlewError`` for a schema that this version cannot use.
    static func prepare(_ connection: PostgresConnection, schema: String) async throws {
        try await migrate(connection, schema: schema)
        // Another role may have made the schema since the connection was set up.
        try await PostgresOwnership.verify(connection, schema: schema)
    }

    private static func migrate(_ connection: PostgresConnection, schema: String) async throws {
        if try await version(connection, schema) == PostgresSchema.version { return }
        try await connection.transaction { connection in
            // The advisory lock allows one migration at a time.
            _ = try await connection.runNow(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [.text("curlew/\(schema)")])
            let version = try await readVersion(connection, schema)
            if version == 0 {
                let rows = try await connection.runNow(
                    "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", [.text(schema)])
                if rows.isEmpty { try await connection.runScript("CREATE SCHEMA \(quoted(schema))") }
                try await connection.runScript(
                    "CREATE TABLE curlew_version (version integer NOT NULL, compatible integer NOT NULL)")
                try await connection.runScript("INSERT INTO curlew_version VALUES (0, 0)")
            }
            for (step, migration) in PostgresSchema.migrations.enumerated() where step >= version {
                try await connection.runScript(migration.sql)
                _ = try await connection.runNow(
                    "UPDATE curlew_version SET version = $1::integer, compatible = $2::integer",
                    [.number(step + 1), .number(migration.compatible)])
            }
        }
    }

    private static func version(_ connection: PostgresConnection, _ schema: String) async throws -> Int {
        try await readVersion(schema) { try await connection.run($0, $1) }
    }

    private static func readVersion(_ connection: isolated PostgresConnection, _ schema: String) async throws -> Int {
        try await readVersion(schema) { try await connection.runNow($0, $1) }
    }

    /// The version of the schema, or this program's version if the schema is newer but compatible; 0 for a new schema.
    private static func readVersion(
        _ schema: String, _ run: (String, [PostgresValue]) async throws -> [PostgresRow]
    ) async throws -> Int {
        let table = "\(quoted(schema)).curlew_version"
        guard try await run("SELECT to_regclass($1)", [.text(table)]).first?.text(0) != nil else { return 0 }
        guard let row = try await run("SELECT version, compatible FROM \(table)", []).first,
            let version = row.number(0), let compatible = row.number(1)
        else { throw CurlewError(.queueFailed, "the schema has no version") }
        guard compatible <= PostgresSchema.version else {
            throw CurlewError(
                .queueFailed,
                "the queue's schema has the version \(version), which needs Curlew's version \(compatible), and this one has \(PostgresSchema.version)"
            )
        }
        return min(Int(version), PostgresSchema.version)
    }
}

extension Duration {
    /// The duration in whole milliseconds, within the bounds that a database can add to a time.
    var wholeMilliseconds: Int64 { min(max(nanosecondsClamped / 1_000_000, 0), 1_000_000_000_000_000) }
}
#endif
