#if Postgres
internal import Curlew

/// A check of the owners of a schema and its objects. The functions of a schema run with the rights of the worker that
/// calls them, so a role that can make or replace a function has these rights.
enum PostgresOwnership {
    /// Trusted roles are superusers, the worker's role, and the roles whose rights it has. A worker that is a superuser
    /// has the rights of all roles, and trusts only superusers.
    private static let statement = """
        WITH me AS (SELECT oid, rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user),
        trusted AS (
            SELECT r.oid FROM pg_catalog.pg_roles r, me
                WHERE r.rolsuper OR r.oid = me.oid
                    OR (NOT me.rolsuper AND pg_catalog.pg_has_role(me.oid, r.oid, 'USAGE'))
                    OR (r.rolname = 'pg_database_owner' AND EXISTS (
                        SELECT 1 FROM pg_catalog.pg_database d JOIN pg_catalog.pg_roles o ON o.oid = d.datdba
                            WHERE d.datname = current_database() AND o.rolsuper))
        ),
        space AS (SELECT oid, nspowner, nspacl FROM pg_catalog.pg_namespace WHERE nspname = $1::text),
        found (kind, name, owner) AS (
            SELECT 'the schema', $1::text, nspowner FROM space
            UNION ALL SELECT 'the relation', c.relname::text, c.relowner
                FROM pg_catalog.pg_class c JOIN space s ON c.relnamespace = s.oid
            UNION ALL SELECT 'the function', p.proname::text, p.proowner
                FROM pg_catalog.pg_proc p JOIN space s ON p.pronamespace = s.oid
            UNION ALL SELECT 'the type', t.typname::text, t.typowner
                FROM pg_catalog.pg_type t JOIN space s ON t.typnamespace = s.oid
            UNION ALL SELECT 'the operator', o.oprname::text, o.oprowner
                FROM pg_catalog.pg_operator o JOIN space s ON o.oprnamespace = s.oid
            UNION ALL SELECT 'the right to create in', $1::text, a.grantee
                FROM space s, LATERAL pg_catalog.aclexplode(s.nspacl) a WHERE a.privilege_type = 'CREATE'
        )
        SELECT f.kind, f.name, coalesce(r.rolname::text, 'everybody') FROM found f
            LEFT JOIN pg_catalog.pg_roles r ON r.oid = f.owner
            WHERE NOT EXISTS (SELECT 1 FROM trusted WHERE trusted.oid = f.owner) LIMIT 1
        """

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/queueFailed`` if a role that is not trusted owns the
    ///   schema or an object in it, or may create objects there. A schema that does not exist passes.
    static func verify(_ connection: PostgresConnection, schema: String) async throws {
        guard let row = try await connection.run(statement, [.text(schema)]).first else { return }
        throw CurlewError(
            .queueFailed,
            "\(row.text(0) ?? "") \(row.text(1) ?? "") belongs to \(row.text(2) ?? ""), whose rights the role of this worker does not have"
        )
    }
}
#endif
