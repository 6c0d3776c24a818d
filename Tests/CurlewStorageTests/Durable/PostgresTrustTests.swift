#if Storage && Postgres
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Glibc
import PostgresServer
import Testing

@testable import CurlewPostgres
@testable import CurlewStorage

@Suite(
    "Trust in a PostgreSQL database: owners of the schema", .noLeaks, .serialized, .timeLimit(.minutes(2)),
    .enabled(if: PostgresServer.isReady, "there is no PostgreSQL server; Debian's package is postgresql"))
struct PostgresTrustTests {
    private let schema = "trust-\(UInt64.random(in: 0...UInt64.max))"
    private let worker = "worker_\(UInt32.random(in: 0...UInt32.max))"
    private let stranger = "stranger_\(UInt32.random(in: 0...UInt32.max))"
    private let postgres: PostgresServer

    init() throws {
        postgres = try PostgresServer.shared.get()
        try postgres.run("CREATE ROLE \(worker) LOGIN; CREATE ROLE \(stranger) LOGIN")
        try postgres.run("GRANT CREATE ON DATABASE postgres TO \(worker), \(stranger)")
    }

    private func open(_ role: String) async throws -> PostgresTransferStore {
        var settings = PostgresSettings(postgres.url(role: role))
        settings.schema = schema
        return try await PostgresTransferStore.open(settings, identifier: "q")
    }

    private func refusal(_ role: String) async -> CurlewError? {
        await curlewError { try await open(role).close() }
    }

    @Test("a schema that another role has created is refused")
    func foreignSchema() async throws {
        try await open(stranger).close()
        try postgres.run("GRANT ALL ON SCHEMA \"\(schema)\" TO \(worker)", role: stranger)
        try postgres.run("GRANT ALL ON ALL TABLES IN SCHEMA \"\(schema)\" TO \(worker)", role: stranger)
        for role in [worker, "curlew"] {
            let error = await refusal(role)
            #expect(error?.code == .queueFailed && error?.message.contains(stranger) == true, "\(role)")
        }
        // A member of the role that owns the schema has its rights.
        try postgres.run("GRANT \(stranger) TO \(worker)")
        #expect(await refusal(worker) == nil)
    }

    @Test("a relation, a function, a type or an operator of another role in the schema is refused")
    func foreignObjects() async throws {
        try await open(worker).close()
        let name = "\"\(schema)\""
        for (make, remove) in [
            ("CREATE TABLE \(name).foreign_table ()", "DROP TABLE \(name).foreign_table"),
            (
                "CREATE FUNCTION \(name).foreign_1(text) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
                "DROP FUNCTION \(name).foreign_1(text)"
            ),
            ("CREATE TYPE \(name).foreign_type AS ENUM ('a')", "DROP TYPE \(name).foreign_type"),
            (
                "CREATE OPERATOR \(name).=== (FUNCTION = int4eq, LEFTARG = integer, RIGHTARG = integer)",
                "DROP OPERATOR \(name).=== (integer, integer)"
            ),
        ] {
            try postgres.run("GRANT CREATE, USAGE ON SCHEMA \(name) TO \(stranger)", role: worker)
            try postgres.run(make, role: stranger)
            try postgres.run("REVOKE ALL ON SCHEMA \(name) FROM \(stranger)", role: worker)
            let error = await refusal(worker)
            #expect(error?.code == .queueFailed && error?.message.contains(stranger) == true, "\(make)")
            try postgres.run(remove)
            #expect(await refusal(worker) == nil, "\(remove)")
        }
    }

    @Test("a schema in which another role, or PUBLIC, may create objects is refused")
    func rightToCreate() async throws {
        try await open(worker).close()
        for grantee in [stranger, "PUBLIC"] {
            try postgres.run("GRANT CREATE ON SCHEMA \"\(schema)\" TO \(grantee)")
            #expect(await refusal(worker)?.code == .queueFailed)
            try postgres.run("REVOKE CREATE ON SCHEMA \"\(schema)\" FROM \(grantee)")
            #expect(await refusal(worker) == nil)
        }
    }

    @Test("a schema of a superuser, or one that an administrator created for the role, is used")
    func administrators() async throws {
        try await open("curlew").close()
        try postgres.run("GRANT USAGE ON SCHEMA \"\(schema)\" TO \(worker)")
        try postgres.run("GRANT SELECT ON ALL TABLES IN SCHEMA \"\(schema)\" TO \(worker)")
        #expect(await refusal(worker) == nil)
        try postgres.run("DROP SCHEMA \"\(schema)\" CASCADE; CREATE SCHEMA \"\(schema)\" AUTHORIZATION \(worker)")
        #expect(await refusal(worker) == nil)
    }

    @Test("a schema whose owner changes is refused by the next connection")
    func changedHands() async throws {
        let store = try await open(worker)
        _ = try await store.counts()
        try postgres.run("DROP SCHEMA \"\(schema)\" CASCADE")
        try await open(stranger).close()
        try postgres.run("GRANT ALL ON SCHEMA \"\(schema)\" TO \(worker)", role: stranger)
        try postgres.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(worker)'")
        #expect(await curlewError { _ = try await store.counts() }?.message.contains(stranger) == true)
        try await store.close()
    }
}

@Suite("The protection of a connection to PostgreSQL", .timeLimit(.minutes(1)))
struct PostgresProtectionTests {
    private func isRefused(_ words: [String: String], _ protection: PostgresSettings.Protection) -> Bool {
        do { try EffectiveConnection(words: words).verify(protection) } catch {
            return (error as? CurlewError)?.code == .invalidRequest
        }
        return false
    }

    @Test(
        "a socket and the loopback interface need no protection",
        arguments: [
            "", "/run/postgresql", "@abstract", "localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1",
            "/one,127.0.0.1",
        ])
    func local(host: String) {
        #expect(!isRefused(["host": host, "sslmode": "disable"], .verified))
        #expect(!isRefused(["host": "db.example", "hostaddr": host.isEmpty ? "127.0.0.1" : "::1"], .verified))
    }

    @Test(
        "a connection over a network needs the protection that the settings require",
        arguments: [
            "db.example", "127.0.0.1.example", "10.0.0.1", "::2", "localhost.example", "/run/postgresql,db.example",
            "/run/postgresql,\u{301}db.example",
        ])
    func network(host: String) {
        for mode in ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] {
            let words = ["host": host, "sslmode": mode]
            #expect(isRefused(words, .verified) == (mode != "verify-full"))
            #expect(isRefused(words, .encrypted) == ["disable", "allow", "prefer"].contains(mode))
            #expect(!isRefused(words, .none))
        }
        #expect(!isRefused(["host": host, "sslmode": "disable", "gssencmode": "require"], .verified))
        #expect(isRefused(["host": "localhost", "hostaddr": "10.0.0.1"], .verified))
    }

    @Test(
        "a connection without protection is refused before data is sent, and the message names the missing setting")
    func refused() async throws {
        let http = try HTTPSession(chain: .bare)
        // The address is reserved for documentation (RFC 5737).
        var settings = PostgresSettings("postgres://me:hunter2@192.0.2.1/app?sslmode=require")
        settings.connectTimeout = .seconds(1)
        let verified = settings
        let error = await curlewError { _ = try await DurableSession(identifier: "q", postgres: verified, http: http) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("verify-full") == true && error?.message.contains("hunter2") == false)
        settings.protection = .encrypted
        let encrypted = settings
        let other = await curlewError { _ = try await DurableSession(identifier: "q", postgres: encrypted, http: http) }
        #expect(other?.code == .queueFailed)
        await http.shutdown()
    }
}
#endif
