#if Storage && Postgres
import Curlew
import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import Glibc
import HTTPTypes
import PostgresServer
import Testing

@testable import CurlewPostgres
@testable import CurlewStorage

@Suite(
    "Faults around a queue of durable transfers in PostgreSQL", .noLeaks, .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isReady, "there is no PostgreSQL server; Debian's package is postgresql"))
struct PostgresFaultTests {
    private let folder: ScratchFolder
    private let queue = PostgresQueue()

    init() throws { folder = try ScratchFolder() }

    @Test("transfers of two sessions on one queue end once each, and both sessions are notified")
    func wholeWay() async throws {
        let postgres = try PostgresServer.shared.get()
        let server = try await MockServer.start { request in
            request.method == .put
                ? MockResponse(status: .created) : MockResponse(body: .bytes(Array(request.path.utf8)))
        }
        try folder.write("source", pattern("a", count: 1000))
        let http = try HTTPSession(chain: .bare)
        let (one, two) = (try await queue.session(postgres, http), try await queue.session(postgres, http))
        try await one.enqueue(
            (0..<20).map { .download(server.url("/\($0)"), to: .file(folder.file("\($0)"))) }
                + [.upload(file: folder.file("source"), to: server.url("/up"))])
        async let first: Void = one.run(untilDrained: true)
        async let second: Void = two.run(untilDrained: true)
        _ = try await (first, second)
        #expect(try await two.counts() == [.finished: 21])
        #expect(server.requestCount == 21)
        for number in 0..<20 { #expect(try folder.bytes("\(number)") == Array("/\(number)".utf8)) }
        var ended: [DurableTransfer] = []
        for try await event in two.events {
            guard case .ended(let transfer) = event else { break }
            ended.append(transfer)
        }
        #expect(ended.count == 21 && Set(ended.compactMap(\.cursor)).count == 21)
        try await two.acknowledgeAll()
        #expect(try await one.counts().isEmpty)
        for session in [one, two] { try await session.close() }
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a server that is killed or frozen during a transfer ends no transfer", arguments: [true, false])
    func outage(isKilled: Bool) async throws {
        let postgres = try PostgresServer()
        let bytes = pattern("b", count: 2 << 20)
        var content = RangedContent(bytes, entityTag: "\"b\"")
        content.throttle = .init(bytes: 64 << 10, every: .milliseconds(30))
        let slow = content
        let server = try await MockServer.start { slow.response(to: $0) }
        let http = try HTTPSession(chain: .bare)
        var options = quickOptions()
        options.lease = .seconds(2)
        let session = try await queue.session(postgres, http, options)
        let id = try await session.enqueue(.download(server.url(), to: .file(folder.file("file"))))
        let run = Task { try await session.run(untilDrained: true) }
        try await eventually("some has come") { try await session.transfer(id)?.transferred ?? 0 > 200_000 }
        if isKilled { postgres.kill() } else { postgres.stand(still: true) }
        let error = await curlewError { _ = try await session.counts() }
        #expect(error?.code == .queueFailed)
        try await eventually("the download has come to its end") {
            folder.names().contains { name in
                name == "file" || (name.hasSuffix(".part") && (try? folder.bytes(name).count) == bytes.count)
            }
        }
        if isKilled { try postgres.restart() } else { postgres.stand(still: false) }
        try await run.value
        #expect(try await session.transfer(id)?.state == .finished)
        #expect(try folder.bytes("file") == bytes)
        #expect(folder.names() == ["file"])
        try await session.close()
        await http.shutdown()
        await server.shutdown()
        postgres.stop()
    }

    @Test("a transaction is complete or absent after its server was killed")
    func transaction() async throws {
        let postgres = try PostgresServer()
        let http = try HTTPSession(chain: .bare)
        let session = try await queue.session(postgres, http)
        let requests = (0..<5000).map {
            DurableTransfer.Request.download("http://a.test/\($0)", to: .file("/nowhere/\($0)"))
        }
        let adding = Task { try await session.enqueue(requests) }
        // The second batch waits for the lock of this connection.
        let blocker = try await PostgresConnection.connect(queue.settings(postgres))
        try await PostgresMigration.setUp(blocker, queue.settings(postgres))
        await #expect(throws: (any Error).self) {
            try await blocker.transaction { connection in
                try await connection.runScript("LOCK TABLE transfer IN ACCESS EXCLUSIVE MODE")
                postgres.kill()
                try postgres.restart()
                try await connection.runScript("SELECT 1")
            }
        }
        let isAdded = (try? await adding.value) != nil
        try await eventually("it is there again") { (try? await session.counts()) != nil }
        let count = try await session.counts()
        #expect(count == [:] || count == [.waiting: 5000])
        #expect(!isAdded || count == [.waiting: 5000], "what was said to be there is")
        try await session.close()
        await http.shutdown()
        postgres.stop()
    }

    @Test("a full database refuses a transfer, and loses none", .enabled(if: TemporaryDisk.isPermitted))
    func fullDatabase() async throws {
        let postgres = try PostgresServer()
        let disk = try TemporaryDisk(size: 4 << 20)
        if let user = getpwnam("postgres") ?? getpwnam("nobody") {
            chown(disk.folder.path, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        try postgres.run("CREATE TABLESPACE small LOCATION '\(disk.folder.path)'")
        try postgres.run("ALTER ROLE curlew SET default_tablespace = small")
        let http = try HTTPSession(chain: .bare)
        let session = try await queue.session(postgres, http)
        var request = DurableTransfer.Request.download("http://a.test/", to: .file("/nowhere/file"))
        // The random text cannot be compressed.
        request.fields[.userAgent] = String((0..<30_000).map { _ in "0123456789abcdef".randomElement() ?? "0" })
        var count = 0
        var error: CurlewError?
        while error == nil, count < 500 {
            do {
                try await session.enqueue(request)
                count += 1
            } catch let refusal as CurlewError { error = refusal }
        }
        #expect(error?.code == .diskFull, "\(String(describing: error))")
        #expect(try await session.counts() == [.waiting: count])
        try await session.close()
        await http.shutdown()
        postgres.stop()
    }

    @Test("a transfer that crashed workers of a lost machine does not block transfers of another machine")
    func suspects() async throws {
        let postgres = try PostgresServer.shared.get()
        var stores: [PostgresTransferStore] = []
        for host in ["gone", "here"] {
            var settings = queue.settings(postgres)
            settings.reach = .host(host)
            stores.append(try await PostgresTransferStore.open(settings, identifier: "q"))
            try await stores[stores.count - 1].enqueue([newTransfer(), newTransfer()])
        }
        try postgres.run("UPDATE \"\(queue.schema)\".transfer SET losses = 3, is_ready = false, due = 1, since = 0")
        let here = stores[1]
        for number in [3, 4] as [Int64] {
            let claims = try await here.claim(TransferWorkerID("w"), policy: claimPolicy(), atMost: 4)
            #expect(claims.map(\.transfer.number) == [number], "one after the other")
            for claim in claims { #expect(try await here.record(.finished([]), of: claim.key)) }
        }
        #expect(try await here.outlook(of: nil).isDrained)
        for store in stores { try await store.close() }
    }

    @Test("a transfer that is enqueued again after a lost answer runs once, even if it was acknowledged meanwhile")
    func repetition() async throws {
        let postgres = try PostgresServer.shared.get()
        let store = try await PostgresTransferStore.open(queue.settings(postgres), identifier: "q")
        func add(_ call: String) throws -> String {
            try postgres.run(
                """
                SET search_path = "\(queue.schema)";
                SELECT enqueue_1('q', 'r', '\(call)', '{a}', '{h}', '{""}', '{0}', '{NULL}', '{NULL}', '{t}', '{"\\\\x41"}');
                """)
        }
        #expect(try add("one") == "t\n")
        #expect(try add("one") == "f\n")
        #expect(try await store.counts() == [.waiting: 1])
        try postgres.run("DELETE FROM \"\(queue.schema)\".transfer")
        #expect(try add("one") == "f\n")
        #expect(try await store.counts().isEmpty)
        // A repetition is not expected after a day, so the row is deleted.
        try postgres.run("UPDATE \"\(queue.schema)\".enqueuing SET moment = 0")
        #expect(try add("two") == "t\n")
        #expect(try postgres.run("SELECT call FROM \"\(queue.schema)\".enqueuing") == "two\n")
        try await store.close()
    }

    @Test("a worker that sleeps longer than its lease renames no file, whatever its clock shows")
    func sleeper() async throws {
        let bytes = pattern("s", count: 200_000)
        let content = RangedContent(bytes, entityTag: "\"s\"")
        let count = RequestCount()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            if count.next() == 0 { for await _ in gate { break } }
            return content.response(to: request)
        }
        let http = try HTTPSession(chain: .bare)
        let place = try StorePlace()
        let store = try await place.open(.postgres)
        let session = DurableSession(store: store, http: http, options: quickOptions())
        let id = try await session.enqueue(.download(server.url(), to: .file(folder.file("file"))))
        let policy = claimPolicy()
        let claim = try #require(try await store.claim(TransferWorkerID(), policy: policy, atMost: 1).first)
        let run = TransferRun(claim, session)
        let sleeper = Task { await run.perform() }
        try await server.waitForRequests(1)
        place.time.advance(wall: -3_600_000)
        try await place.time.pass(60_000, at: store)
        let taken = try #require(try await store.claim(TransferWorkerID(), policy: policy, atMost: 1).first)
        open.yield()
        await sleeper.value
        #expect(folder.names().isEmpty)
        await TransferRun(taken, session).perform()
        #expect(try await session.transfer(id)?.state == .finished)
        #expect(try folder.bytes("file") == bytes && folder.names() == ["file"])
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a cancelled caller leaves the connection usable for the others")
    func cancelled() async throws {
        let postgres = try PostgresServer()
        let http = try HTTPSession(chain: .bare)
        let session = try await queue.session(postgres, http)
        func backends() throws -> String {
            try postgres.run("SELECT pid FROM pg_stat_activity WHERE application_name = 'curlew' ORDER BY pid")
        }
        let before = try backends()
        #expect(before.split(separator: "\n").count == 1)
        for _ in 0..<20 {
            let caller = Task { try await session.counts() }
            caller.cancel()
            _ = await caller.result
        }
        #expect(try await session.counts().isEmpty)
        #expect(try backends() == before)
        try await session.close()
        try await eventually("the connection is closed") { try backends().isEmpty }
        await http.shutdown()
        postgres.stop()
    }

    @Test("workers receive each other's changes as notifications")
    func notifications() async throws {
        let postgres = try PostgresServer.shared.get()
        let http = try HTTPSession(chain: .bare)
        let (one, two) = (try await queue.session(postgres, http), try await queue.session(postgres, http))
        var changes = two.store.changes().makeAsyncIterator()
        // The first element reports that the connection listens.
        #expect(await changes.next() != nil)
        try await one.enqueue(.download("http://a.test/", to: .file("/nowhere/file")))
        #expect(await changes.next() != nil)
        for session in [one, two] { try await session.close() }
        await http.shutdown()
    }
}
#endif
