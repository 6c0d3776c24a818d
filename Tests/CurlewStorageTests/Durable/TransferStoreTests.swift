#if Storage
import Curlew
import CurlewTestingTraits
import Dispatch
import GRDB
import Glibc
import Testing

@testable import CurlewStorage

@Suite("The store of durable transfers", .noLeaks, .timeLimit(.minutes(1)))
struct TransferStoreTests {
    private let folder: ScratchFolder
    private let time = StoreTime()

    init() throws {
        folder = try ScratchFolder()
    }

    private func open() async throws -> SQLiteTransferStore {
        try await SQLiteTransferStore.open(folder: folder.file("queue"), identifier: "q", clock: time.clock)
    }

    private func new(
        _ host: String = "a.test", tags: [String] = [], priority: RequestOptions.Priority = .normal,
        notBefore: Int64? = nil,
        deadline: Int64? = nil, mayBeRepeated: Bool = true
    ) -> NewTransfer {
        NewTransfer(
            id: DurableTransfer.ID(), host: host, tags: tags, priority: priority, notBefore: notBefore,
            deadline: deadline,
            mayBeRepeated: mayBeRepeated, request: Array("{}".utf8))
    }

    private func policy(total: Int = 100, perHost: Int = 100, perTag: [String: Int] = [:]) -> ClaimPolicy {
        ClaimPolicy(lease: .seconds(30), total: total, perHost: perHost, perTag: perTag)
    }

    private let first = TransferWorkerID("first")
    private let second = TransferWorkerID("second")

    @Test("what is enqueued is there for the next store, and is claimed once")
    func claimedOnce() async throws {
        var store = try await open()
        let transfers = (0..<5).map { _ in new() }
        try await store.enqueue(transfers)
        try await store.close()
        store = try await open()
        let other = try await open()
        let claims = try await store.claim(first, policy: policy(), atMost: 3)
        let rest = try await other.claim(second, policy: policy(), atMost: 10)
        #expect((claims + rest).map(\.key.id) == transfers.map(\.id))
        #expect(claims.allSatisfy { $0.key.fence == 1 && $0.transfer.state == .running })
        #expect(try await store.claim(first, policy: policy(), atMost: 10).isEmpty)
        #expect(try await store.counts() == [.running: 5])
        try await store.close()
        try await other.close()
    }

    @Test("who has lost a claim writes nothing")
    func fencing() async throws {
        let store = try await open()
        try await store.enqueue([new()])
        let old = try #require(try await store.claim(first, policy: policy(), atMost: 1).first)
        time.advance(uptime: 30_000)
        let new = try #require(try await store.claim(second, policy: policy(), atMost: 1).first)
        #expect(new.key.fence > old.key.fence)
        let progress = [old.key: TransferProgress(received: 5, total: nil)]
        #expect(try await store.renew(first, lease: .seconds(30), progress: progress).isEmpty)
        for change in [
            TransferChange.finished([]), .failed([]), .naming([]), .sending,
            .checkpoint(token: [1], TransferProgress(received: 1, total: 2), quota: nil),
            .back(trigger: .release, token: nil, wait: .zero, isFailure: true, result: nil),
        ] {
            #expect(try await store.record(change, of: old.key) == false)
        }
        let transfer = try await store.transfer(new.key.id)
        #expect(
            transfer?.state == .running && transfer?.received == 0 && transfer?.failures == 0 && transfer?.naming == nil
        )
        #expect(try await store.record(.finished([1]), of: new.key))
        #expect(try await store.record(.finished([1]), of: new.key) == false, "an end comes once")
        #expect(try await store.ends(after: 0, limit: 10).count == 1)
        try await store.close()
    }

    @Test("a lease holds while it is renewed, whatever the clock on the wall says, and not over a reboot")
    func leases() async throws {
        let store = try await open()
        try await store.enqueue([new()])
        let claim = try #require(try await store.claim(first, policy: policy(), atMost: 1).first)
        for step in [-86_400_000, 86_400_000, 86_400_000] as [Int64] {
            time.advance(wall: step, uptime: 20_000)
            let orders = try await store.renew(
                first, lease: .seconds(30), progress: [claim.key: TransferProgress(received: 7, total: 9)])
            #expect(orders.count == 1)
            #expect(try await store.claim(second, policy: policy(), atMost: 1).isEmpty)
        }
        #expect(try await store.transfer(claim.key.id)?.received == 7)
        let progress = [claim.key: TransferProgress(received: 8, total: 9)]
        time.advance(uptime: 86_400_000)
        #expect(
            try await store.renew(first, lease: .seconds(30), progress: progress).count == 1,
            "nobody has taken it, so it is the worker's again")
        #expect(try await store.claim(second, policy: policy(), atMost: 1).isEmpty)
        time.reboot()
        #expect(try await store.renew(first, lease: .seconds(30), progress: progress).isEmpty)
        #expect(try await store.claim(second, policy: policy(), atMost: 1).count == 1)
        try await store.close()
    }

    @Test("the limits in all, of a host and of a tag hold over all workers")
    func limits() async throws {
        let store = try await open()
        try await store.enqueue([
            new("a.test"), new("a.test"), new("a.test"), new("b.test", tags: ["video"]),
            new("c.test", tags: ["x", "video"]),
            new("d.test"),
        ])
        let limited = policy(total: 4, perHost: 2, perTag: ["video": 1])
        let one = try await store.claim(first, policy: limited, atMost: 1)
        let rest = try await store.claim(second, policy: limited, atMost: 10)
        let numbers = (one + rest).map(\.transfer.number)
        #expect(numbers == [1, 2, 4, 6])
        #expect(try await store.claim(first, policy: limited, atMost: 10).isEmpty)
        #expect(try await store.record(.finished([]), of: rest[1].key))
        #expect(try await store.claim(first, policy: limited, atMost: 10).map(\.transfer.number) == [5])
        try await store.close()
    }

    @Test("a priority goes first, and ten minutes of waiting are worth a step of it")
    func priorities() async throws {
        let store = try await open()
        try await store.enqueue([new(priority: .low), new(priority: .high)])
        time.advance(wall: 1_199_000)
        try await store.enqueue([new(priority: .high)])
        time.advance(wall: 2_000)
        try await store.enqueue([new(priority: .high)])
        let claims = try await store.claim(first, policy: policy(), atMost: 10)
        #expect(claims.map(\.transfer.number) == [2, 3, 1, 4])
        try await store.close()
    }

    @Test("a date and a backoff are waited for, and a clock that is set back prolongs no backoff")
    func waits() async throws {
        let store = try await open()
        let now = time.clock.now().wall
        try await store.enqueue([new(notBefore: now + 5_000), new()])
        let claim = try #require(try await store.claim(first, policy: policy(), atMost: 10).first)
        #expect(claim.transfer.number == 2)
        #expect(
            try await store.record(
                .back(trigger: .release, token: nil, wait: .seconds(60), isFailure: true, result: nil), of: claim.key))
        #expect(try await store.claim(first, policy: policy(), atMost: 10).isEmpty)
        #expect(try await store.outlook(of: nil).wait == .seconds(5))
        time.advance(wall: 5_000)
        #expect(try await store.claim(first, policy: policy(), atMost: 10).map(\.transfer.number) == [1])
        time.advance(wall: -86_400_000)
        let again = try await store.claim(first, policy: policy(), atMost: 10)
        #expect(again.map(\.transfer.number) == [2] && again.first?.transfer.failures == 1)
        try await store.close()
    }

    @Test("a deadline that is over fails what waits, once")
    func deadlines() async throws {
        let store = try await open()
        try await store.enqueue([new(deadline: time.clock.now().wall + 1_000)])
        time.advance(wall: 1_000)
        for _ in 0..<2 { #expect(try await store.claim(first, policy: policy(), atMost: 10).isEmpty) }
        let ends = try await store.ends(after: 0, limit: 10)
        #expect(ends.count == 1)
        #expect(ends.first.map { DurableTransfer($0).failure?.code } == .totalTimeout)
        try await store.close()
    }

    @Test("one that runs is suspended by its worker, or when that is gone; one that waits at once")
    func suspension() async throws {
        let store = try await open()
        let transfers = [new(), new(), new()]
        try await store.enqueue(transfers)
        let claims = try await store.claim(first, policy: policy(), atMost: 2)
        #expect(try await store.command(.suspend, of: nil) == 3)
        #expect(try await store.counts() == [.running: 2, .suspended: 1])
        let progress = Dictionary(
            uniqueKeysWithValues: claims.map { ($0.key, TransferProgress(received: 0, total: nil)) })
        let orders = try await store.renew(first, lease: .seconds(30), progress: progress)
        #expect(orders.count == 2)
        for case .proceed in orders.values { Issue.record("one is not to be suspended") }
        #expect(
            try await store.record(
                .back(trigger: .suspend, token: nil, wait: .zero, isFailure: false, result: nil), of: claims[0].key))
        time.advance(uptime: 40_000)
        #expect(try await store.claim(second, policy: policy(), atMost: 10).isEmpty)
        #expect(try await store.counts() == [.suspended: 3])
        #expect(try await store.command(.resume, of: [transfers[1].id]) == 1)
        #expect(try await store.claim(second, policy: policy(), atMost: 10).map(\.key.id) == [transfers[1].id])
        try await store.close()
    }

    @Test("what is suspended or resumed at the last moment is, whatever its worker says")
    func lateCommands() async throws {
        let store = try await open()
        try await store.enqueue([new(), new(), new()])
        let claims = try await store.claim(first, policy: policy(), atMost: 3)
        func back(_ claim: TransferClaim, _ trigger: TransferTrigger) async throws -> DurableTransfer.State? {
            let change = TransferChange.back(trigger: trigger, token: nil, wait: .zero, isFailure: false, result: nil)
            #expect(try await store.record(change, of: claim.key))
            return try await store.transfer(claim.key.id)?.state
        }
        #expect(try await store.command(.suspend, of: claims.map(\.key.id)) == 3)
        #expect(try await store.command(.resume, of: [claims[1].key.id]) == 1)
        #expect(try await back(claims[0], .release) == .suspended, "its worker was shut down before it knew")
        #expect(try await back(claims[1], .suspend) == .waiting, "its worker stopped it already")
        #expect(try await back(claims[2], .loseNetwork) == .suspended)
        try await store.close()
    }

    @Test("a claim that its worker has forgotten is given back, and one of a moment ago is not")
    func forgotten() async throws {
        let store = try await open()
        try await store.enqueue([new(), new()])
        let claims = try await store.claim(first, policy: policy(), atMost: 2)
        let progress = [claims[0].key: TransferProgress(received: 0, total: nil)]
        #expect(try await store.renew(first, lease: .seconds(30), progress: progress).count == 1)
        #expect(try await store.counts() == [.running: 1, .waiting: 1])
        #expect(try await store.claim(second, policy: policy(), atMost: 2).map(\.key.id) == [claims[1].key.id])
        try await store.close()
    }

    @Test(
        "two stores of one process and a process that comes and goes see one queue",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0))
    func oneProcess() async throws {
        let store = try await open()
        let other = try await open()
        try await store.enqueue([new()])
        // SQLite in another process: whether it takes itself for the last one is asked of the locks of this one.
        let path = folder.file("queue/q.queue")
        let command = """
            import sqlite3
            database = sqlite3.connect('\(path)')
            print(database.execute('SELECT count(*) FROM transfer').fetchone()[0])
            database.close()
            """
        #expect(try await output(of: ["/usr/bin/python3", "-c", command]) == "1\n")
        try await other.enqueue([new()])
        #expect(try await store.counts() == [.waiting: 2])
        #expect(folder.names(in: "queue").contains("q.queue-wal"), "its log is still in use")
        #expect(try await output(of: ["/usr/bin/python3", "-c", command]) == "2\n")
        try await other.close()
        try await store.close()
    }

    @Test("one whose file is about to be named is not cancelled, and each other one is, once")
    func cancelling() async throws {
        let store = try await open()
        try await store.enqueue([new(), new(), new()])
        let claims = try await store.claim(first, policy: policy(), atMost: 2)
        #expect(try await store.record(.naming([1]), of: claims[0].key))
        #expect(try await store.command(.cancel, of: nil) == 2)
        #expect(try await store.command(.cancel, of: nil) == 0)
        #expect(try await store.record(.finished([]), of: claims[1].key) == false)
        #expect(try await store.record(.finished([]), of: claims[0].key))
        #expect(try await store.counts() == [.finished: 1, .cancelled: 2])
        #expect(try await store.ends(after: 0, limit: 10).count == 3)
        try await store.close()
    }

    @Test("an upload that must not be sent twice fails when its worker was killed while it was sent")
    func unknownOutcome() async throws {
        let store = try await open()
        try await store.enqueue([new(mayBeRepeated: false), new(mayBeRepeated: false)])
        let claims = try await store.claim(first, policy: policy(), atMost: 2)
        #expect(try await store.record(.sending, of: claims[0].key))
        time.advance(uptime: 40_000)
        #expect(try await store.claim(second, policy: policy(), atMost: 10).map(\.key.id) == [claims[1].key.id])
        let end = try await store.ends(after: 0, limit: 10).first
        #expect(end.map { DurableTransfer($0).failure?.code } == .outcomeUnknown)
        try await store.close()
    }

    @Test("a transfer that each of its workers ends with runs beside no other such one, and fails at last")
    func poison() async throws {
        let store = try await open()
        let transfers = [new(), new()]
        try await store.enqueue(transfers)
        func lose() async throws -> [DurableTransfer.ID] {
            let worker = TransferWorkerID()
            let claims = try await store.claim(worker, policy: policy(), atMost: 10)
            await store.resign(worker)
            return claims.map(\.key.id)
        }
        for _ in 0..<3 { #expect(try await lose().count == 2) }
        #expect(try await lose().isEmpty, "they wait a while")
        var runs: [DurableTransfer.ID: Int] = [:]
        for _ in 0..<34 {
            time.advance(wall: 3_600_000)
            let claimed = try await lose()
            #expect(claimed.count == 1)
            for id in claimed { runs[id, default: 0] += 1 }
        }
        #expect(runs.values.allSatisfy { $0 == 17 } && runs.count == 2)
        #expect(try await lose().isEmpty)
        let ends = try await store.ends(after: 0, limit: 10)
        #expect(ends.count == 2 && ends.allSatisfy { DurableTransfer($0).failure?.code == .queueFailed })
        try await store.close()
    }

    @Test("what has come of a claim, and a worker that gives it back, show that a transfer ends no worker")
    func losses() async throws {
        let store = try await open()
        try await store.enqueue([new()])
        for round in 1...60 {
            let worker = TransferWorkerID()
            time.advance(wall: 3_600_000)
            let claim = try #require(try await store.claim(worker, policy: policy(), atMost: 1).first)
            if round.isMultiple(of: 19) {
                #expect(
                    try await store.record(
                        .back(trigger: .release, token: nil, wait: .zero, isFailure: false, result: nil), of: claim.key)
                )
            } else if round.isMultiple(of: 11) {
                let progress = TransferProgress(received: Int64(round), total: nil)
                #expect(try await store.record(.checkpoint(token: nil, progress, quota: nil), of: claim.key))
            }
            await store.resign(worker)
            #expect(try await store.claim(second, policy: policy(total: 0), atMost: 1).isEmpty)
        }
        #expect(try await store.counts() == [.waiting: 1])
        try await store.close()
    }

    @Test("what comes after very many of a host or a tag at its limit is found", arguments: [1, 1200])
    func fullLanes(hosts: Int) async throws {
        let store = try await open()
        var transfers = (0..<2000).map { new("host\($0 % hosts).test", tags: ["a", "full"]) }
        transfers.append(new("other.test", tags: ["full"], priority: .low))
        transfers.append(new("other.test", tags: ["free"], priority: .low))
        try await store.enqueue(transfers)
        let limits = policy(perTag: ["full": 1])
        #expect(try await store.claim(first, policy: limits, atMost: 1).map(\.key.id) == [transfers[0].id])
        let next = try await store.claim(first, policy: limits, atMost: 5)
        #expect(next.map(\.key.id) == [transfers[2001].id])
        try await store.close()
    }

    @Test("a queue of an older version is taken over, with all that it holds")
    func migration() async throws {
        try await open().close()
        let path = folder.file("queue/q.queue")
        for name in folder.names(in: "queue") { unlinkFile(folder.file("queue/\(name)")) }
        let database = try DatabaseQueue(path: path)
        let id = DurableTransfer.ID()
        try await database.write { database in
            try database.execute(sql: TransferSchema.schema.migrations[0])
            try database.execute(
                sql: """
                    PRAGMA application_id = \(TransferSchema.schema.application); PRAGMA user_version = 1;
                    INSERT INTO transfer (id, state, place, host, tags, enqueued, is_ready, due, since, repeatable, fence, worker, boot, lease, request)
                    VALUES ('\(id)', 1, 5, 'a.test', '', 5, 0, 0, 0, 1, 7, 'gone', 'one', 0, x'7B7D')
                    """)
        }
        try database.close()
        let store = try await open()
        #expect(store.movedAside == nil)
        let claims = try await store.claim(first, policy: policy(), atMost: 5)
        #expect(claims.map(\.key) == [TransferClaim.Key(id: id, fence: 8)])
        #expect(claims.first?.transfer.request == Array("{}".utf8))
        try await store.close()
        _ = try await open().close()
    }

    @Test("a quota counts what all downloads hold, and what is larger than it fails")
    func quota() async throws {
        let store = try await open()
        try await store.enqueue([new(), new()])
        let claims = try await store.claim(first, policy: policy(), atMost: 2)
        func keep(_ claim: TransferClaim, _ total: Int64) async throws -> Bool {
            try await store.record(
                .checkpoint(token: nil, TransferProgress(received: 0, total: total), quota: 100), of: claim.key)
        }
        #expect(try await keep(claims[0], 60))
        #expect(await curlewError { _ = try await keep(claims[1], 41) }?.code == .diskFull)
        #expect(await curlewError { _ = try await keep(claims[1], 101) }?.code == .responseTooLarge)
        #expect(try await keep(claims[1], 40))
        #expect(try await store.record(.finished([], size: 60), of: claims[0].key))
        #expect(await curlewError { _ = try await keep(claims[1], 41) }?.code == .diskFull, "until it is acknowledged")
        try await store.acknowledge([claims[0].key.id])
        #expect(try await keep(claims[1], 100))
        try await store.close()
    }

    @Test("a queue that is damaged is moved aside, and one of a newer version or another program is refused")
    func unusable() async throws {
        try await open().close()
        let path = folder.file("queue/q.queue")
        let database = try DatabaseQueue(path: path)
        try await database.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        var error = await curlewError { _ = try await open() }
        #expect(error?.code == .queueFailed && error?.message.contains("99") == true)
        try await database.write { try $0.execute(sql: "PRAGMA user_version = 1; PRAGMA application_id = 5") }
        error = await curlewError { _ = try await open() }
        #expect(error?.code == .queueFailed && error?.message.contains("another program") == true)
        try database.close()
        for end in ["-wal", "-shm"] { unlinkFile(path + end) }
        try folder.write("queue/q.queue", Array("this is no database at all, and rather long for that".utf8))
        error = await curlewError { _ = try await open() }
        #expect(error?.code == .queueFailed && error?.message.contains("another program") == true)
        try folder.write("queue/q.queue", Array("SQLite format 3\0and then nothing that it should be".utf8))
        let store = try await open()
        let aside = try #require(store.movedAside)
        #expect(folder.names(in: "queue").contains { aside.hasSuffix($0) })
        try await store.enqueue([new()])
        #expect(try await store.counts() == [.waiting: 1])
        try await store.close()
    }

    @Test("two queues in one folder know nothing of each other")
    func twoQueues() async throws {
        let store = try await open()
        let other = try await SQLiteTransferStore.open(
            folder: folder.file("queue"), identifier: "other", clock: time.clock)
        try await store.enqueue([new()])
        #expect(try await other.counts().isEmpty)
        try await store.close()
        try await other.close()
        for name in ["", ".hidden", "a/b", "ä"] {
            let error = await curlewError {
                _ = try await SQLiteTransferStore.open(folder: folder.file("queue"), identifier: name)
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test("a change of one store is seen by the other")
    func changes() async throws {
        let store = try await open()
        let other = try await open()
        var changes = other.changes().makeAsyncIterator()
        let enqueued = Task { [new = new()] in
            while !Task.isCancelled {
                try await store.enqueue([
                    NewTransfer(
                        id: DurableTransfer.ID(), host: new.host, tags: [], priority: .normal, notBefore: nil,
                        deadline: nil,
                        mayBeRepeated: true, request: new.request)
                ])
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
        #expect(await changes.next() != nil)
        enqueued.cancel()
        _ = await enqueued.result
        try await store.close()
        try await other.close()
    }
}

/// What a program writes to its output.
private func output(of arguments: [String]) async throws -> String {
    let folder = try ScratchFolder()
    let command = arguments.map {
        "'\($0.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }
    let status = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            continuation.resume(returning: system("\(command.joined(separator: " ")) > \(folder.file("output"))"))
        }
    }
    #expect(status == 0)
    return String(decoding: try folder.bytes("output"), as: UTF8.self)
}

private func unlinkFile(_ path: String) { _ = Glibc.unlink(path) }
#endif
