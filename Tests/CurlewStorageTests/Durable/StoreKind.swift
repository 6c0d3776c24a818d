#if Storage
import Curlew
import CurlewTestingTraits
import Glibc
import Testing

@testable import CurlewStorage

#if Postgres
import PostgresServer

@testable import CurlewPostgres
#endif

/// The stores with equal guarantees.
enum StoreKind: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case sqlite = "SQLite"
    case postgres = "PostgreSQL"

    var testDescription: String { rawValue }

    /// The stores that are available on this machine.
    static var available: [StoreKind] {
        #if Postgres
        if PostgresServer.isReady { return allCases }
        #endif
        return [.sqlite]
    }
}

/// The place of a test's queues, in either kind of store, and their clock.
final class StorePlace: Sendable {
    let folder: ScratchFolder
    let time = StoreTime()
    private let schema = "test-\(UInt64.random(in: 0...UInt64.max))"

    init() throws { folder = try ScratchFolder() }

    func open(_ kind: StoreKind, _ identifier: String = "q") async throws -> any TransferStore {
        switch kind {
        case .sqlite:
            return try await SQLiteTransferStore.open(
                folder: folder.file("queue"), identifier: identifier, clock: time.clock)
        case .postgres:
            #if Postgres
            var settings = PostgresSettings(try PostgresServer.shared.get().url())
            settings.schema = schema
            let clock = time.clock
            try await Self.turnClock(settings)
            return try await PostgresTransferStore.open(settings, identifier: identifier) { connection in
                let now = clock.now()
                _ = try await connection.run(
                    "SELECT set_config('curlew.wall', $1, false), set_config('curlew.uptime', $2, false)",
                    [.number(now.wall), .number(now.uptime)])
            }
            #else
            throw CurlewError(.unsupported, "built without PostgreSQL")
            #endif
        }
    }

    #if Postgres
    /// Replaces the clocks of the schema by the clock of the test.
    private static func turnClock(_ settings: PostgresSettings) async throws {
        try await PostgresTransferStore.open(settings, identifier: "clock").close()
        let connection = try await PostgresConnection.connect(settings)
        try await PostgresMigration.setUp(connection, settings)
        for (function, setting) in [("moment_1", "curlew.wall"), ("lease_moment_1", "curlew.uptime")] {
            _ = try await connection.run(
                "CREATE OR REPLACE FUNCTION \(function)() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT current_setting(''\(setting)'')::bigint'"
            )
        }
    }
    #endif
}
#endif
