#if Storage && Postgres
import Curlew
import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import PostgresServer
import Testing

@testable import CurlewPostgres
@testable import CurlewStorage

@Suite(
    "A queue in PostgreSQL: silences, late calls, and lost connections", .noLeaks, .serialized,
    .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isReady, "there is no PostgreSQL server; Debian's package is postgresql"))
struct PostgresLateTests {
    private let place: StorePlace
    private let schema = "late-\(UInt64.random(in: 0...UInt64.max))"
    private let first = TransferWorkerID("first")
    private let second = TransferWorkerID("second")

    init() throws { place = try StorePlace() }

    private func settings(_ server: PostgresServer) -> PostgresSettings {
        var settings = PostgresSettings(server.url())
        settings.schema = schema
        settings.statementTimeout = .seconds(1)
        settings.connectTimeout = .seconds(1)
        return settings
    }

    private func run(_ sql: String) throws -> String {
        try PostgresServer.shared.get().run("SET search_path = \"\(schema)\"; \(sql)")
    }

    @Test("the first worker that returns after a silence longer than a lease takes no claim of other workers")
    func silence() async throws {
        let store = try await place.open(.postgres)
        try await store.enqueue([newTransfer(mayBeRepeated: false), newTransfer(), newTransfer()])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 2)
        #expect(try await store.record(.sending, of: claims[0].key))
        let progress = Dictionary(
            uniqueKeysWithValues: claims.map { ($0.key, TransferProgress(received: 0, total: nil)) })
        for silence in [31_000, 86_400_000] as [Int64] {
            place.time.advance(uptime: silence)
            #expect(try await store.outlook(of: second).wait == .zero)
            let taken = try await store.claim(second, policy: claimPolicy(), atMost: 1)
            #expect(taken.allSatisfy { claim in !claims.contains { $0.key.id == claim.key.id } })
            for claim in taken { #expect(try await store.record(.finished([]), of: claim.key)) }
            #expect(try await store.counts()[.running] == 2)
            // A worker that renews its leases before it claims takes no claim of another worker either.
            place.time.advance(uptime: silence)
            #expect(try await store.renew(second, lease: .seconds(30), progress: [:]).isEmpty)
            #expect(try await store.renew(first, lease: .seconds(30), progress: progress).count == 2)
        }
        // A worker that does not return loses its claims after a grace period.
        place.time.advance(uptime: 60_000)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).isEmpty)
        try await place.time.pass(40_000, at: store)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).isEmpty)
        try await place.time.pass(20_000, at: store)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).map(\.key.id) == [claims[1].key.id])
        let end = try await store.transfer(claims[0].key.id).map { DurableTransfer($0) }
        #expect(end?.failure?.code == .outcomeUnknown)
        try await store.close()
    }

    @Test("repeated silences prolong the claim of a lost worker for a limited time")
    func graces() async throws {
        let store = try await place.open(.postgres)
        try await store.enqueue([newTransfer()])
        #expect(try await store.claim(first, policy: claimPolicy(), atMost: 1).count == 1)
        for _ in 0..<5 {
            place.time.advance(uptime: 86_400_000)
            #expect(try await store.claim(second, policy: claimPolicy(), atMost: 1).isEmpty)
        }
        place.time.advance(uptime: 86_400_000)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 1).count == 1)
        try await store.close()
    }

    @Test("a late execution of an abandoned call undoes no newer change")
    func late() async throws {
        let store = try await PostgresTransferStore.open(settings(PostgresServer.shared.get()), identifier: "q")
        try await store.enqueue([newTransfer()])
        let claim = try #require(try await store.claim(first, policy: claimPolicy(), atMost: 1).first)
        let token = TransferChange.checkpoint(token: [7], TransferProgress(received: 70, total: 100), quota: nil)
        #expect(try await store.record(token, of: claim.key))
        func renewLate(_ call: Int) throws {
            _ = try run("SELECT renew_1('q', 'first', \(call), 30000, 45000, '{}', '{}', '{}', '{}', '', '')")
        }
        try renewLate(1)
        #expect(try await store.counts() == [.running: 1], "it was sent before the claim")
        let (id, fence) = (claim.key.id.description, claim.key.fence)
        #expect(
            try run("SELECT verdict FROM checkpoint_1('q', '\(id)', \(fence), 1, '\\x01', 10, 100, NULL)") == "1\n")
        let stored = try await store.transfer(claim.key.id)
        #expect(stored?.token == [7] && stored?.received == 70)
        try renewLate(1000)
        #expect(try await store.counts() == [.waiting: 1], "and this one has forgotten it")
        try await store.close()
    }

    @Test("defaults of a role, a database or a server do not change the queue's behaviour")
    func servers() async throws {
        var settings = try settings(PostgresServer.shared.get())
        settings.connection +=
            " options='-c bytea_output=escape -c default_transaction_isolation=serializable -c array_nulls=off -c lock_timeout=1 -c jit=on'"
        let store = try await PostgresTransferStore.open(settings, identifier: "q")
        let bytes = [UInt8](0...255)
        let new = NewTransfer(
            id: DurableTransfer.ID(), host: "a.test", tags: ["x"], priority: .high, notBefore: nil, deadline: nil,
            mayBeRepeated: true, request: bytes)
        try await store.enqueue([new])
        #expect(try await store.transfer(new.id)?.request == bytes)
        #expect(try await store.claim(first, policy: claimPolicy(), atMost: 1).map(\.transfer.request) == [bytes])
        let connection = try await PostgresConnection.connect(settings)
        try await PostgresMigration.setUp(connection, settings)
        #expect(try await connection.run("SHOW transaction_isolation").first?.text(0) == "read committed")
        await #expect(throws: CurlewError.self) {
            // The row simulates a change by another program.
            _ = try run("UPDATE transfer SET id = ''")
            _ = try await store.list(nil, after: 0, limit: 10)
        }
        try await store.close()
    }

    @Test("a command over all transfers runs in parts, and workers receive the first part before the last is done")
    func parts() async throws {
        var settings = try settings(PostgresServer.shared.get())
        settings.statementTimeout = .seconds(60)
        let store = try await PostgresTransferStore.open(settings, identifier: "q")
        try await store.enqueue((0..<2500).map { _ in newTransfer() })
        let claim = try #require(try await store.claim(first, policy: claimPolicy(), atMost: 1).first)
        let blocker = try await PostgresConnection.connect(settings)
        try await PostgresMigration.setUp(blocker, settings)
        _ = try await blocker.run("BEGIN")
        _ = try await blocker.run(
            "SELECT 1 FROM transfer WHERE number = (SELECT max(number) FROM transfer) FOR UPDATE")
        async let count = store.command(.suspend, of: nil)
        try await eventually("the parts before are done") {
            try await store.counts() == [.running: 1, .suspended: 1999, .waiting: 500]
        }
        let progress = [claim.key: TransferProgress(received: 1, total: nil)]
        let orders = try await store.renew(first, lease: .seconds(30), progress: progress)
        guard case .suspend? = orders[claim.key] else { throw CurlewError(.queueFailed, "no order has come") }
        _ = try await blocker.run("COMMIT")
        #expect(try await count == 2500)
        try await store.close()
    }

    @Test("calls succeed after the server has closed a connection")
    func ended() async throws {
        let postgres = try PostgresServer()
        let store = try await PostgresTransferStore.open(settings(postgres), identifier: "q")
        try await store.enqueue([newTransfer()])
        for round in 0..<4 {
            try postgres.run(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'curlew'")
            if round.isMultiple(of: 2) {
                #expect(try await store.command(round == 0 ? .suspend : .resume, of: nil) == 1)
            } else {
                #expect(try await store.counts().values.reduce(0, +) == 1)
            }
        }
        try await store.close()
        postgres.stop()
    }

    @Test("a worker that is shut down while the database is unreachable ends soon, and the next one continues")
    func shutdown() async throws {
        let folder = try ScratchFolder()
        let postgres = try PostgresServer()
        let gate = RequestCount()
        let content = RangedContent(pattern("e", count: 1 << 20), entityTag: "\"e\"")
        let server = try await MockServer.start { request in
            var content = content
            if gate.next() == 0 { content.throttle = .init(bytes: 16 << 10, every: .milliseconds(50)) }
            return content.response(to: request)
        }
        let http = try HTTPSession(chain: .bare)
        var options = quickOptions()
        options.lease = .seconds(1)
        let session = try await DurableSession(
            identifier: "q", postgres: settings(postgres), http: http, options: options)
        let id = try await session.enqueue(.download(server.url(), to: .file(folder.file("file"))))
        let run = Task { try await session.run() }
        try await eventually("some has come") { try await session.transfer(id)?.transferred ?? 0 > 100_000 }
        postgres.stand(still: true)
        run.cancel()
        _ = await run.result
        try await session.close()
        postgres.stand(still: false)
        let next = try await DurableSession(identifier: "q", postgres: settings(postgres), http: http, options: options)
        try await next.run(untilDrained: true)
        #expect(try await next.transfer(id)?.state == .finished)
        #expect(folder.names() == ["file"])
        try await next.close()
        await http.shutdown()
        await server.shutdown()
        postgres.stop()
    }

    @Test("a listener on a frozen connection does not delay the close of the store, and later listeners end at once")
    func closing() async throws {
        let postgres = try PostgresServer()
        var settings = settings(postgres)
        settings.connectTimeout = .seconds(3600)
        let store = try await PostgresTransferStore.open(settings, identifier: "q")
        postgres.stand(still: true)
        var changes = store.changes().makeAsyncIterator()
        try await store.close()
        #expect(await changes.next() == nil)
        changes = store.changes().makeAsyncIterator()
        #expect(await changes.next() == nil)
        postgres.stand(still: false)
        postgres.stop()
    }
}
#endif
