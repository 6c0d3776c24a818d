#if Storage
import Curlew
import CurlewTestingTraits
import Testing

@testable import CurlewStorage

/// The guarantees of every store of durable transfers.
@Suite("The stores of durable transfers", .noLeaks, .timeLimit(.minutes(5)))
struct TransferStoreTests {
    private let place: StorePlace
    private var time: StoreTime { place.time }

    init() throws { place = try StorePlace() }

    private func open(_ kind: StoreKind) async throws -> any TransferStore { try await place.open(kind) }

    private let first = TransferWorkerID("first")
    private let second = TransferWorkerID("second")

    @Test("an enqueued transfer is visible to the next store, and is claimed once", arguments: StoreKind.available)
    func claimedOnce(kind: StoreKind) async throws {
        var store = try await open(kind)
        let transfers = (0..<5).map { _ in newTransfer() }
        try await store.enqueue(transfers)
        try await store.close()
        store = try await open(kind)
        let other = try await open(kind)
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 3)
        let rest = try await other.claim(second, policy: claimPolicy(), atMost: 10)
        #expect((claims + rest).map(\.key.id) == transfers.map(\.id))
        #expect(claims.allSatisfy { $0.key.fence == 1 && $0.transfer.state == .running })
        #expect(try await store.claim(first, policy: claimPolicy(), atMost: 10).isEmpty)
        #expect(try await store.counts() == [.running: 5])
        try await store.close()
        try await other.close()
    }

    @Test("a worker without its claim cannot write", arguments: StoreKind.available)
    func fencing(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer()])
        let old = try #require(try await store.claim(first, policy: claimPolicy(), atMost: 1).first)
        try await time.pass(30_000, at: store)
        let new = try #require(try await store.claim(second, policy: claimPolicy(), atMost: 1).first)
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

    @Test(
        "a renewed lease holds whatever the wall clock shows, and ends with a reboot",
        arguments: StoreKind.available)
    func leases(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer()])
        let claim = try #require(try await store.claim(first, policy: claimPolicy(), atMost: 1).first)
        for step in [-86_400_000, 86_400_000, 86_400_000] as [Int64] {
            time.advance(wall: step, uptime: 20_000)
            let orders = try await store.renew(
                first, lease: .seconds(30), progress: [claim.key: TransferProgress(received: 7, total: 9)])
            #expect(orders.count == 1)
            #expect(try await store.claim(second, policy: claimPolicy(), atMost: 1).isEmpty)
        }
        #expect(try await store.transfer(claim.key.id)?.received == 7)
        let progress = [claim.key: TransferProgress(received: 8, total: 9)]
        time.advance(uptime: 86_400_000)
        #expect(
            try await store.renew(first, lease: .seconds(30), progress: progress).count == 1,
            "nobody has taken it, so it is the worker's again")
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 1).isEmpty)
        if kind == .sqlite {
            time.reboot()
        } else {
            // A reboot of this machine does not end workers of a PostgreSQL server, so the lease has to expire.
            try await time.pass(30_000, at: store)
            _ = try await store.claim(second, policy: claimPolicy(), atMost: 0)
        }
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 1).count == 1)
        #expect(try await store.renew(first, lease: .seconds(30), progress: progress).isEmpty)
        try await store.close()
    }

    @Test("the limits in total, per host and per tag hold across all workers", arguments: StoreKind.available)
    func limits(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([
            newTransfer("a.test"), newTransfer("a.test"), newTransfer("a.test"), newTransfer("b.test", tags: ["video"]),
            newTransfer("c.test", tags: ["x", "video"]),
            newTransfer("d.test"),
        ])
        let limited = claimPolicy(total: 4, perHost: 2, perTag: ["video": 1])
        let one = try await store.claim(first, policy: limited, atMost: 1)
        let rest = try await store.claim(second, policy: limited, atMost: 10)
        let numbers = (one + rest).map(\.transfer.number)
        #expect(numbers == [1, 2, 4, 6])
        #expect(try await store.claim(first, policy: limited, atMost: 10).isEmpty)
        #expect(try await store.record(.finished([]), of: rest[1].key))
        #expect(try await store.claim(first, policy: limited, atMost: 10).map(\.transfer.number) == [5])
        try await store.close()
    }

    @Test(
        "a higher priority is claimed first, and ten minutes of waiting are worth one step",
        arguments: StoreKind.available)
    func priorities(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer(priority: .low), newTransfer(priority: .high)])
        time.advance(wall: 1_199_000)
        try await store.enqueue([newTransfer(priority: .high)])
        time.advance(wall: 2_000)
        try await store.enqueue([newTransfer(priority: .high)])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 10)
        #expect(claims.map(\.transfer.number) == [2, 3, 1, 4])
        try await store.close()
    }

    @Test(
        "dates and backoffs are observed, and a clock that is set back does not prolong a backoff",
        arguments: StoreKind.available)
    func waits(kind: StoreKind) async throws {
        let store = try await open(kind)
        let now = time.clock.now().wall
        try await store.enqueue([newTransfer(notBefore: now + 5_000), newTransfer()])
        let claim = try #require(try await store.claim(first, policy: claimPolicy(), atMost: 10).first)
        #expect(claim.transfer.number == 2)
        #expect(
            try await store.record(
                .back(trigger: .release, token: nil, wait: .seconds(60), isFailure: true, result: nil), of: claim.key))
        #expect(try await store.claim(first, policy: claimPolicy(), atMost: 10).isEmpty)
        #expect(try await store.outlook(of: nil).wait == .seconds(5))
        time.advance(wall: 5_000)
        #expect(try await store.claim(first, policy: claimPolicy(), atMost: 10).map(\.transfer.number) == [1])
        time.advance(wall: -86_400_000)
        let again = try await store.claim(first, policy: claimPolicy(), atMost: 10)
        #expect(again.map(\.transfer.number) == [2] && again.first?.transfer.failures == 1)
        try await store.close()
    }

    @Test("a passed deadline fails a waiting transfer, once", arguments: StoreKind.available)
    func deadlines(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer(deadline: time.clock.now().wall + 1_000)])
        time.advance(wall: 1_000)
        for _ in 0..<2 { #expect(try await store.claim(first, policy: claimPolicy(), atMost: 10).isEmpty) }
        let ends = try await store.ends(after: 0, limit: 10)
        #expect(ends.count == 1)
        #expect(ends.first.map { DurableTransfer($0).failure?.code } == .totalTimeout)
        try await store.close()
    }

    @Test(
        "a running transfer is suspended by its worker or after the worker's loss, a waiting one at once",
        arguments: StoreKind.available)
    func suspension(kind: StoreKind) async throws {
        let store = try await open(kind)
        let transfers = [newTransfer(), newTransfer(), newTransfer()]
        try await store.enqueue(transfers)
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 2)
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
        try await time.pass(40_000, at: store)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).isEmpty)
        #expect(try await store.counts() == [.suspended: 3])
        #expect(try await store.command(.resume, of: [transfers[1].id]) == 1)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).map(\.key.id) == [transfers[1].id])
        try await store.close()
    }

    @Test(
        "a late suspend or resume command overrides the end that the worker reports", arguments: StoreKind.available)
    func lateCommands(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer(), newTransfer(), newTransfer()])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 3)
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

    @Test(
        "a claim that its worker no longer renews is released, except a very recent one",
        arguments: StoreKind.available)
    func forgotten(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer(), newTransfer()])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 2)
        let progress = [claims[0].key: TransferProgress(received: 0, total: nil)]
        #expect(try await store.renew(first, lease: .seconds(30), progress: progress).count == 1)
        #expect(try await store.counts() == [.running: 1, .waiting: 1])
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 2).map(\.key.id) == [claims[1].key.id])
        try await store.close()
    }

    @Test(
        "a transfer whose file is being renamed is not cancelled, and each other is cancelled once",
        arguments: StoreKind.available)
    func cancelling(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer(), newTransfer(), newTransfer()])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 2)
        #expect(try await store.record(.naming([1]), of: claims[0].key))
        #expect(try await store.command(.cancel, of: nil) == 2)
        #expect(try await store.command(.cancel, of: nil) == 0)
        #expect(try await store.record(.finished([]), of: claims[1].key) == false)
        #expect(try await store.record(.finished([]), of: claims[0].key))
        #expect(try await store.counts() == [.finished: 1, .cancelled: 2])
        #expect(try await store.ends(after: 0, limit: 10).count == 3)
        try await store.close()
    }

    @Test(
        "an upload that must not be sent twice fails if its worker is killed while sending",
        arguments: StoreKind.available)
    func unknownOutcome(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer(mayBeRepeated: false), newTransfer(mayBeRepeated: false)])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 2)
        #expect(try await store.record(.sending, of: claims[0].key))
        try await time.pass(40_000, at: store)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).map(\.key.id) == [claims[1].key.id])
        let end = try await store.ends(after: 0, limit: 10).first
        #expect(end.map { DurableTransfer($0).failure?.code } == .outcomeUnknown)
        try await store.close()
    }

    @Test(
        "a transfer that crashes each worker runs without other suspects, and finally fails",
        arguments: StoreKind.available)
    func poison(kind: StoreKind) async throws {
        let store = try await open(kind)
        let transfers = [newTransfer(), newTransfer()]
        try await store.enqueue(transfers)
        func lose() async throws -> [DurableTransfer.ID] {
            let worker = TransferWorkerID()
            let claims = try await store.claim(worker, policy: claimPolicy(), atMost: 10)
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

    @Test(
        "progress of a claim, or its release, clears the suspicion that a transfer crashes workers",
        arguments: StoreKind.available)
    func losses(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer()])
        for round in 1...60 {
            let worker = TransferWorkerID()
            time.advance(wall: 3_600_000)
            let claim = try #require(try await store.claim(worker, policy: claimPolicy(), atMost: 1).first)
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
            #expect(try await store.claim(second, policy: claimPolicy(total: 0), atMost: 1).isEmpty)
        }
        #expect(try await store.counts() == [.waiting: 1])
        try await store.close()
    }

    @Test(
        "a transfer is found behind very many transfers of a full host or tag",
        arguments: StoreKind.available, [1, 1200])
    func fullLanes(kind: StoreKind, hosts: Int) async throws {
        let store = try await open(kind)
        var transfers = (0..<2000).map { newTransfer("host\($0 % hosts).test", tags: ["a", "full"]) }
        transfers.append(newTransfer("other.test", tags: ["full"], priority: .low))
        transfers.append(newTransfer("other.test", tags: ["free"], priority: .low))
        try await store.enqueue(transfers)
        let limits = claimPolicy(perTag: ["full": 1])
        #expect(try await store.claim(first, policy: limits, atMost: 1).map(\.key.id) == [transfers[0].id])
        let next = try await store.claim(first, policy: limits, atMost: 5)
        #expect(next.map(\.key.id) == [transfers[2001].id])
        try await store.close()
    }

    @Test(
        "each of very many hosts gets its turn, however many transfers of a full host wait before it",
        arguments: StoreKind.available)
    func manyLanes(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue((0..<3000).map { _ in newTransfer("full.test") })
        try await store.enqueue((0..<600).map { newTransfer("host\($0).test") })
        let limited = claimPolicy(total: 1000, perHost: 1)
        var claimed: Set<Int64> = []
        for worker in [first, second, first] {
            for claim in try await store.claim(worker, policy: limited, atMost: 250) {
                #expect(claimed.insert(claim.transfer.number).inserted)
            }
        }
        #expect(claimed == Set<Int64>([1]).union(3001...3600))
        try await store.close()
    }

    @Test(
        "very many transfers that are due at once are all woken, and passed deadlines are noticed",
        arguments: StoreKind.available)
    func manyDue(kind: StoreKind) async throws {
        let store = try await open(kind)
        let now = time.clock.now().wall
        try await store.enqueue((0..<1100).map { _ in newTransfer(notBefore: now + 5_000) })
        try await store.enqueue((0..<600).map { _ in newTransfer(deadline: now + 5_000) })
        time.advance(wall: 5_000)
        var rounds = 0
        while try await store.outlook(of: first).wait == .zero, rounds < 10 {
            #expect(try await store.claim(first, policy: claimPolicy(), atMost: 0).isEmpty)
            rounds += 1
        }
        #expect(try await store.counts() == [.waiting: 1100, .failed: 600])
        let all = claimPolicy(total: 2000, perHost: 2000)
        #expect(try await store.claim(first, policy: all, atMost: 2000).count == 1100)
        try await store.close()
    }

    @Test("a command changes all of very many transfers, or only the named ones", arguments: StoreKind.available)
    func manyCommanded(kind: StoreKind) async throws {
        let store = try await open(kind)
        let transfers = (0..<2500).map { _ in newTransfer() }
        try await store.enqueue(transfers)
        #expect(try await store.command(.suspend, of: nil) == 2500)
        #expect(try await store.counts() == [.suspended: 2500])
        #expect(try await store.command(.resume, of: transfers.prefix(1200).map(\.id)) == 1200)
        #expect(try await store.counts() == [.waiting: 1200, .suspended: 1300])
        #expect(try await store.command(.cancel, of: nil) == 2500)
        #expect(try await store.command(.cancel, of: nil) == 0)
        #expect(try await store.ends(after: 0, limit: 5000).count == 2500)
        try await store.close()
    }

    @Test(
        "a quota counts the bytes of all downloads, and a download that exceeds it fails",
        arguments: StoreKind.available)
    func quota(kind: StoreKind) async throws {
        let store = try await open(kind)
        try await store.enqueue([newTransfer(), newTransfer()])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 2)
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

    @Test("a change by one store is seen by the other", arguments: StoreKind.available)
    func changes(kind: StoreKind) async throws {
        let store = try await open(kind)
        let other = try await open(kind)
        var changes = other.changes().makeAsyncIterator()
        let enqueued = Task { [new = newTransfer()] in
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
#endif
