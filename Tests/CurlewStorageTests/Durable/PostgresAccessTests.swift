#if Storage && Postgres
import Curlew
import CurlewTesting
import CurlewTestingTraits
import PostgresServer
import Testing

@testable import CurlewPostgres
@testable import CurlewStorage

@Suite(
    "The access to a queue of durable transfers in PostgreSQL", .noLeaks, .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isReady, "there is no PostgreSQL server; Debian's package is postgresql"))
struct PostgresAccessTests {
    private let folder: ScratchFolder
    private let queue = PostgresQueue()

    init() throws { folder = try ScratchFolder() }

    @Test("a server that answers a statement with a copy of a table, or with bytes that are none, is an error")
    func hostileServer() async throws {
        let server = try await RawServer.start { connection in
            // The start-up message begins with its length.
            let size = try await connection.readExactly(4)
            _ = try await connection.readExactly(size.reduce(0) { $0 << 8 | Int($1) } - 4)
            var answer: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0]
            for text in [
                "server_version\0" + "15.0\0", "default_transaction_read_only\0off\0", "in_hot_standby\0off\0",
            ] {
                answer += [0x53, 0, 0, 0, UInt8(text.utf8.count + 4)] + Array(text.utf8)
            }
            try await connection.write(answer + [0x5A, 0, 0, 0, 5, 0x49])
            _ = try await connection.read()
            // CopyInResponse without columns.
            try await connection.write([0x47, 0, 0, 0, 7, 0, 0, 0])
            _ = try await connection.drain()
        }
        var settings = PostgresSettings(
            "host=127.0.0.1 port=\(server.port) user=u dbname=d sslmode=disable gssencmode=disable")
        settings.protection = .none
        settings.statementTimeout = .seconds(20)
        let connection = try await PostgresConnection.connect(settings)
        let failure = await #expect(throws: PostgresFailure.self) { try await connection.run("SELECT 1") }
        #expect(failure?.message.contains("copy") == true)
        await server.shutdown()
    }

    @Test("a value of another type, and an absent column, are nil")
    func values() {
        for text in ["\\xZZ", "\\x0", "\\x 1", "\\x\"a", "x00", ""] {
            #expect(PostgresRow(values: [text]).bytes(0) == nil)
        }
        #expect(PostgresRow(values: ["\\x00fFa0"]).bytes(0) == [0, 255, 160])
        let empty = PostgresRow(values: [])
        #expect(empty.text(3) == nil && empty.number(0) == nil && empty.bytes(1) == nil && !empty.bool(0))
    }

    @Test("a role without rights, a newer schema and an absent server are refused with a clear message")
    func refusals() async throws {
        let postgres = try PostgresServer.shared.get()
        let http = try HTTPSession(chain: .bare)
        let role = "stranger_\(UInt32.random(in: 0...UInt32.max))"
        try postgres.run("CREATE ROLE \(role) LOGIN PASSWORD 'hunter2'")
        var error = await curlewError {
            _ = try await DurableSession(identifier: "q", postgres: queue.settings(postgres, role: role), http: http)
        }
        #expect(error?.code == .queueFailed && error?.message.contains("right") == true, "\(String(describing: error))")
        try await queue.session(postgres, http).close()
        error = await curlewError {
            _ = try await DurableSession(identifier: "q", postgres: queue.settings(postgres, role: role), http: http)
        }
        #expect(error?.code == .queueFailed)
        try postgres.run("GRANT USAGE ON SCHEMA \"\(queue.schema)\" TO \(role)")
        try postgres.run("GRANT SELECT ON ALL TABLES IN SCHEMA \"\(queue.schema)\" TO \(role)")
        let reader = try await DurableSession(
            identifier: "q", postgres: queue.settings(postgres, role: role), http: http)
        #expect(try await reader.counts().isEmpty)
        error = await curlewError {
            try await reader.enqueue(.download("http://a.test/", to: .file("/nowhere/file")))
        }
        #expect(error?.code == .queueFailed && error?.message.contains("right") == true)
        try await reader.close()
        try postgres.run("UPDATE \"\(queue.schema)\".curlew_version SET version = 7, compatible = 1")
        try await queue.session(postgres, http).close()
        try postgres.run("UPDATE \"\(queue.schema)\".curlew_version SET version = 7, compatible = 6")
        error = await curlewError { _ = try await queue.session(postgres, http) }
        #expect(error?.code == .queueFailed && error?.message.contains("7") == true)
        let refused = try RefusedPort.unused()
        var away = PostgresSettings("postgres://me:hunter2@127.0.0.1:\(refused.port)/nowhere")
        away.connectTimeout = .seconds(5)
        let nowhere = away
        error = await curlewError { _ = try await DurableSession(identifier: "q", postgres: nowhere, http: http) }
        #expect(error?.code == .queueFailed && error?.message.contains("hunter2") == false)
        for name in ["", "a b", "pg_x", "a\"b"] {
            var settings = queue.settings(postgres)
            settings.schema = name
            let bad = settings
            error = await curlewError { _ = try await DurableSession(identifier: "q", postgres: bad, http: http) }
            #expect(error?.code == .invalidRequest)
        }
        await http.shutdown()
    }

    @Test(
        "a connection string that libpq would misread is refused, without any part of its password in the message",
        arguments: [
            "postgres://me:hunter2/x@127.0.0.1:1/db", "postgres://me:1/hunter2@127.0.0.1:1/db",
            "postgres://me:hunter2%zz@127.0.0.1:1/db", "postgres://me:x@hunter2@127.0.0.1:1/db",
            "postgresql://me:hunter2?x@127.0.0.1/db", "postgres://u@127.0.0.1:1/db?password=a&hunter2",
            "host=127.0.0.1 port=1 password=my hunter2", "host=127.0.0.1 port=1 password='hunter2",
            "me:hunter2@127.0.0.1/db", "postgres://me:x@\u{301}hunter2@127.0.0.1:1/db",
        ])
    func misread(connection: String) async throws {
        let http = try HTTPSession(chain: .bare)
        let settings = PostgresSettings(connection)
        let error = await curlewError { _ = try await DurableSession(identifier: "q", postgres: settings, http: http) }
        #expect(error?.code == .invalidRequest)
        #expect(!String(reflecting: error as Any).contains("hunter2"))
        var shown = "\(settings) \(String(reflecting: settings)) "
        dump(settings, to: &shown)
        #expect(!shown.contains("hunter2"))
        await http.shutdown()
    }

    @Test("a timeout beyond the range of the clock is refused")
    func timeouts() async throws {
        let http = try HTTPSession(chain: .bare)
        for change in [
            { $0.statementTimeout = .zero }, { $0.statementTimeout = .seconds(Int64.max) },
            { $0.connectTimeout = .seconds(-1) }, { $0.outage = .seconds(Int64.max) },
        ] as [(inout PostgresSettings) -> Void] {
            var settings = PostgresSettings("host=/nowhere")
            change(&settings)
            let bad = settings
            let error = await curlewError { _ = try await DurableSession(identifier: "q", postgres: bad, http: http) }
            #expect(error?.code == .invalidRequest)
        }
        await http.shutdown()
    }

    @Test(
        "a commit of the queue is durable although the database's default is not, and a read-only role is refused")
    func durability() async throws {
        let postgres = try PostgresServer.shared.get()
        for (level, expected) in [("off", "on"), ("remote_write", "remote_write")] {
            var settings = queue.settings(postgres)
            settings.connection += " options='-c synchronous_commit=\(level)'"
            let connection = try await PostgresConnection.connect(settings)
            try await PostgresMigration.setUp(connection, settings)
            #expect(try await connection.run("SHOW synchronous_commit").first?.text(0) == expected)
        }
        var reading = queue.settings(postgres)
        reading.connection += " options='-c default_transaction_read_only=on'"
        let reader = reading
        let error = await curlewError { _ = try await PostgresTransferStore.open(reader, identifier: "q") }
        #expect(error?.code == .queueFailed)
        await #expect(throws: PostgresFailure.self) { _ = try await PostgresConnection.connect(reader) }
    }

    @Test("a queue belongs to its schema, and a worker only claims transfers within its reach")
    func places() async throws {
        let postgres = try PostgresServer.shared.get()
        let server = try await MockServer.start { _ in MockResponse(body: "good") }
        let http = try HTTPSession(chain: .bare)
        var other = queue.settings(postgres)
        other.schema = "\(queue.schema)-b"
        let apart = try await DurableSession(identifier: "q", postgres: other, http: http, options: quickOptions())
        var far = queue.settings(postgres)
        far.reach = .host("elsewhere")
        let elsewhere = try await DurableSession(identifier: "q", postgres: far, http: http, options: quickOptions())
        let session = try await queue.session(postgres, http)
        try await elsewhere.enqueue(.download(server.url("/far"), to: .file(folder.file("far"))))
        try await session.enqueue(.download(server.url("/near"), to: .file(folder.file("near"))))
        try await session.run(untilDrained: true)
        #expect(server.requestCount == 1 && folder.names() == ["near"])
        #expect(try await session.counts() == [.waiting: 1, .finished: 1])
        #expect(try await apart.counts().isEmpty)
        try await elsewhere.run(untilDrained: true)
        #expect(folder.names() == ["far", "near"])
        for session in [apart, elsewhere, session] { try await session.close() }
        await http.shutdown()
        await server.shutdown()
    }
}
#endif
