#if Storage
import Curlew
import CurlewStorage

/// The code of the article Caching that needs a disk; the documentation tests compare the two.
enum CacheSnippets {
    private func singleUser() async throws -> HTTPSession {
        let store = try await DiskCacheStore(folder: "/home/me/.cache/birds")
        var options = StandardChain.Options.singleUser
        options.cache = HTTPCache(store: store, mode: .singleUser)
        let api = try HTTPSession(baseURL: "https://api.example.com/", chain: options)
        return api
    }
}

/// The code of the article on transfers that outlive the process.
enum DurableSnippets {
    private func enqueue() async throws -> DurableSession {
        let http = try HTTPSession()
        let transfers = try await DurableSession(identifier: "mirror", folder: "/var/lib/example/transfers", http: http)
        var request = DurableTransfer.Request.download("https://example.com/disc.iso", to: .folder("/srv/mirror"))
        request.tags = ["nightly"]
        try await transfers.enqueue(request)
        return transfers
    }

    private func follow(_ transfers: DurableSession) async throws {
        async let work: Void = transfers.run()
        for try await event in transfers.events {
            guard case .ended(let transfer) = event else { continue }
            print(transfer.request.url, transfer.state)
            try await transfers.acknowledge(transfer.id)
        }
        try await work
    }

    private func watch(_ transfers: DurableSession, _ id: DurableTransfer.ID) async throws {
        for try await transfer in transfers.updates(of: id) {
            print(transfer.state, transfer.transferred, transfer.total ?? 0)
        }
    }
}
#endif

#if Storage && Postgres
import CurlewPostgres

/// The code of the article on a fleet's queue.
enum FleetSnippets {
    private func work(_ http: HTTPSession) async throws {
        var database = PostgresSettings("postgres://transfers@db.example/app?sslmode=verify-full")
        database.reach = .shared("media")
        let transfers = try await DurableSession(identifier: "mirror", postgres: database, http: http)
        try await transfers.run()
    }
}
#endif
