#if Storage && Postgres
import Curlew
import PostgresServer

@testable import CurlewPostgres
@testable import CurlewStorage

/// A queue in a schema of its own, with timeouts of one second.
struct PostgresQueue {
    let schema = "queue-\(UInt64.random(in: 0...UInt64.max))"

    func settings(_ server: PostgresServer, role: String = "curlew") -> PostgresSettings {
        var settings = PostgresSettings(server.url(role: role))
        settings.schema = schema
        settings.statementTimeout = .seconds(1)
        settings.connectTimeout = .seconds(1)
        return settings
    }

    func session(
        _ server: PostgresServer, _ http: HTTPSession, _ options: DurableSession.Options = quickOptions()
    ) async throws -> DurableSession {
        try await DurableSession(identifier: "q", postgres: settings(server), http: http, options: options)
    }
}
#endif
