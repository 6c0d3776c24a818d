import ArgumentParser
import Curlew
import CurlewPostgres
import CurlewStorage
import HTTPTypes

/// The queue on which the commands of `curlew queue` operate.
struct QueuePlace: ParsableArguments {
    @Option(
        name: .customLong("queue-folder"),
        help: "The folder of the queue; by default curlew in the user's folder for state.")
    var path: String?

    @Option(help: "The name of the queue in its folder or its database.")
    var name = "default"

    @Option(help: "The PostgreSQL database that has the queue, in place of a folder: postgres://… or libpq's words.")
    var store: String?

    @Option(help: "The name of the folders that all machines have under one path; without it files are this machine's.")
    var shared: String?

    func validate() throws {
        guard path == nil || store == nil else { throw ValidationError("There is --queue-folder or --store.") }
        if let store, store.hasPrefix("/") || store.hasPrefix("."), !store.contains("=") {
            throw ValidationError("--store is a database of PostgreSQL; a folder is --queue-folder.")
        }
        guard shared == nil || store != nil else { throw ValidationError("--shared is for --store.") }
    }

    func open(parallel: Int? = nil) async throws -> (session: DurableSession, http: HTTPSession) {
        var options = DurableSession.Options()
        if let parallel { options.limits.total = parallel }
        if let store {
            var settings = PostgresSettings(store)
            if let shared { settings.reach = .shared(shared) }
            let http = try HTTPSession(chain: .singleUser)
            return (
                try await DurableSession(identifier: name, postgres: settings, http: http, options: options), http
            )
        }
        guard let folder = path ?? UserFolder.path("XDG_STATE_HOME", in: ".local/state") else {
            throw CurlewError(.queueFailed, "there is neither XDG_STATE_HOME nor HOME; --queue-folder names the folder")
        }
        let http = try HTTPSession(chain: .singleUser)
        let session = try await DurableSession(identifier: name, folder: folder, http: http, options: options)
        if let damaged = session.damagedQueue {
            Messages.note("the queue was damaged; it is now \(damaged)")
        }
        return (session, http)
    }

    /// Opens the queue, and closes it after the work.
    func with<Value>(_ work: (DurableSession) async throws -> Value) async throws -> Value {
        let (session, http) = try await open()
        let value = try await work(session)
        try await session.close()
        await http.shutdown(deadline: .seconds(1))
        return value
    }
}
