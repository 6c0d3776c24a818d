#if Storage
import Curlew
import CurlewTestingTraits
import Testing

@testable import CurlewStorage

/// The guarantees of every store of durable transfers: claims, leases and lost workers.
@Suite("The claims of the stores of durable transfers", .noLeaks, .timeLimit(.minutes(5)))
struct TransferStoreTests {
    private let place: StorePlace
    private let first = TransferWorkerID("first")
    private let second = TransferWorkerID("second")

    init() throws { place = try StorePlace() }

    @Test("an enqueued transfer is visible to the next store, and is claimed once", arguments: StoreKind.available)
    func claimedOnce(kind: StoreKind) async throws {
        var store = try await place.open(kind)
        let transfers = (0..<5).map { _ in newTransfer() }
        try await store.enqueue(transfers)
        try await store.close()
        store = try await place.open(kind)
        let other = try await place.open(kind)
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
        let store = try await place.open(kind)
        try await store.enqueue([newTransfer()])
        let old = try #require(try await store.claim(first, policy: claimPolicy(), atMost: 1).first)
        try await place.time.pass(30_000, at: store)
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
        let store = try await place.open(kind)
        try await store.enqueue([newTransfer()])
        let claim = try #require(try await store.claim(first, policy: claimPolicy(), atMost: 1).first)
        for step in [-86_400_000, 86_400_000, 86_400_000] as [Int64] {
            place.time.advance(wall: step, uptime: 20_000)
            let orders = try await store.renew(
                first, lease: .seconds(30), progress: [claim.key: TransferProgress(received: 7, total: 9)])
            #expect(orders.count == 1)
            #expect(try await store.claim(second, policy: claimPolicy(), atMost: 1).isEmpty)
        }
        #expect(try await store.transfer(claim.key.id)?.received == 7)
        let progress = [claim.key: TransferProgress(received: 8, total: 9)]
        place.time.advance(uptime: 86_400_000)
        #expect(
            try await store.renew(first, lease: .seconds(30), progress: progress).count == 1,
            "nobody has taken it, so it is the worker's again")
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 1).isEmpty)
        if kind == .sqlite {
            place.time.reboot()
        } else {
            // A reboot of this machine does not end workers of a PostgreSQL server, so the lease has to expire.
            try await place.time.pass(30_000, at: store)
            _ = try await store.claim(second, policy: claimPolicy(), atMost: 0)
        }
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 1).count == 1)
        #expect(try await store.renew(first, lease: .seconds(30), progress: progress).isEmpty)
        try await store.close()
    }

    @Test(
        "a claim that its worker no longer renews is released, except a very recent one",
        arguments: StoreKind.available)
    func forgotten(kind: StoreKind) async throws {
        let store = try await place.open(kind)
        try await store.enqueue([newTransfer(), newTransfer()])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 2)
        let progress = [claims[0].key: TransferProgress(received: 0, total: nil)]
        #expect(try await store.renew(first, lease: .seconds(30), progress: progress).count == 1)
        #expect(try await store.counts() == [.running: 1, .waiting: 1])
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 2).map(\.key.id) == [claims[1].key.id])
        try await store.close()
    }

    @Test(
        "an upload that must not be sent twice fails if its worker is killed while sending",
        arguments: StoreKind.available)
    func unknownOutcome(kind: StoreKind) async throws {
        let store = try await place.open(kind)
        try await store.enqueue([newTransfer(mayBeRepeated: false), newTransfer(mayBeRepeated: false)])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 2)
        #expect(try await store.record(.sending, of: claims[0].key))
        try await place.time.pass(40_000, at: store)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).map(\.key.id) == [claims[1].key.id])
        let end = try await store.ends(after: 0, limit: 10).first
        #expect(end.map { DurableTransfer($0).failure?.code } == .outcomeUnknown)
        try await store.close()
    }

    @Test(
        "a transfer that crashes each worker runs without other suspects, and finally fails",
        arguments: StoreKind.available)
    func poison(kind: StoreKind) async throws {
        let store = try await place.open(kind)
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
            place.time.advance(wall: 3_600_000)
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
        let store = try await place.open(kind)
        try await store.enqueue([newTransfer()])
        for round in 1...60 {
            let worker = TransferWorkerID()
            place.time.advance(wall: 3_600_000)
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

    @Test("a change by one store is seen by the other", arguments: StoreKind.available)
    func changes(kind: StoreKind) async throws {
        let store = try await place.open(kind)
        let other = try await place.open(kind)
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
