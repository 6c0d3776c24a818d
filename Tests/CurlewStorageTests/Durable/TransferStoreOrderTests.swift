#if Storage
import Curlew
import CurlewTestingTraits
import Testing

@testable import CurlewStorage

@Suite("The order and the limits of the stores of durable transfers", .noLeaks, .timeLimit(.minutes(5)))
struct TransferStoreOrderTests {
    private let place: StorePlace
    private let first = TransferWorkerID("first")
    private let second = TransferWorkerID("second")

    init() throws { place = try StorePlace() }

    @Test("the limits in total, per host and per tag hold across all workers", arguments: StoreKind.available)
    func limits(kind: StoreKind) async throws {
        let store = try await place.open(kind)
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
        let store = try await place.open(kind)
        try await store.enqueue([newTransfer(priority: .low), newTransfer(priority: .high)])
        place.time.advance(wall: 1_199_000)
        try await store.enqueue([newTransfer(priority: .high)])
        place.time.advance(wall: 2_000)
        try await store.enqueue([newTransfer(priority: .high)])
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 10)
        #expect(claims.map(\.transfer.number) == [2, 3, 1, 4])
        try await store.close()
    }

    @Test(
        "dates and backoffs are observed, and a clock that is set back does not prolong a backoff",
        arguments: StoreKind.available)
    func waits(kind: StoreKind) async throws {
        let store = try await place.open(kind)
        let now = place.time.clock.now().wall
        try await store.enqueue([newTransfer(notBefore: now + 5_000), newTransfer()])
        let claim = try #require(try await store.claim(first, policy: claimPolicy(), atMost: 10).first)
        #expect(claim.transfer.number == 2)
        #expect(
            try await store.record(
                .back(trigger: .release, token: nil, wait: .seconds(60), isFailure: true, result: nil), of: claim.key))
        #expect(try await store.claim(first, policy: claimPolicy(), atMost: 10).isEmpty)
        #expect(try await store.outlook(of: nil).wait == .seconds(5))
        place.time.advance(wall: 5_000)
        #expect(try await store.claim(first, policy: claimPolicy(), atMost: 10).map(\.transfer.number) == [1])
        place.time.advance(wall: -86_400_000)
        let again = try await store.claim(first, policy: claimPolicy(), atMost: 10)
        #expect(again.map(\.transfer.number) == [2] && again.first?.transfer.failures == 1)
        try await store.close()
    }

    @Test("a passed deadline fails a waiting transfer, once", arguments: StoreKind.available)
    func deadlines(kind: StoreKind) async throws {
        let store = try await place.open(kind)
        try await store.enqueue([newTransfer(deadline: place.time.clock.now().wall + 1_000)])
        place.time.advance(wall: 1_000)
        for _ in 0..<2 { #expect(try await store.claim(first, policy: claimPolicy(), atMost: 10).isEmpty) }
        let ends = try await store.ends(after: 0, limit: 10)
        #expect(ends.count == 1)
        #expect(ends.first.map { DurableTransfer($0).failure?.code } == .totalTimeout)
        try await store.close()
    }

    @Test(
        "a transfer is found behind very many transfers of a full host or tag",
        arguments: StoreKind.available, [1, 1200])
    func fullLanes(kind: StoreKind, hosts: Int) async throws {
        let store = try await place.open(kind)
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
        let store = try await place.open(kind)
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
        let store = try await place.open(kind)
        let now = place.time.clock.now().wall
        try await store.enqueue((0..<1100).map { _ in newTransfer(notBefore: now + 5_000) })
        try await store.enqueue((0..<600).map { _ in newTransfer(deadline: now + 5_000) })
        place.time.advance(wall: 5_000)
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

    @Test(
        "a quota counts the bytes of all downloads, and a download that exceeds it fails",
        arguments: StoreKind.available)
    func quota(kind: StoreKind) async throws {
        let store = try await place.open(kind)
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
}
#endif
