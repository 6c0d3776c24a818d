#if Storage
import Curlew
import CurlewTestingTraits
import Testing

@testable import CurlewStorage

@Suite("Commands to the stores of durable transfers", .noLeaks, .timeLimit(.minutes(5)))
struct TransferStoreCommandTests {
    private let place: StorePlace
    private let first = TransferWorkerID("first")
    private let second = TransferWorkerID("second")

    init() throws { place = try StorePlace() }

    @Test(
        "a running transfer is suspended by its worker or after the worker's loss, a waiting one at once",
        arguments: StoreKind.available)
    func suspension(kind: StoreKind) async throws {
        let store = try await place.open(kind)
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
        try await place.time.pass(40_000, at: store)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).isEmpty)
        #expect(try await store.counts() == [.suspended: 3])
        #expect(try await store.command(.resume, of: [transfers[1].id]) == 1)
        #expect(try await store.claim(second, policy: claimPolicy(), atMost: 10).map(\.key.id) == [transfers[1].id])
        try await store.close()
    }

    @Test(
        "a late suspend or resume command overrides the end that the worker reports", arguments: StoreKind.available)
    func lateCommands(kind: StoreKind) async throws {
        let store = try await place.open(kind)
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
        "a transfer whose file is being renamed is not cancelled, and each other is cancelled once",
        arguments: StoreKind.available)
    func cancelling(kind: StoreKind) async throws {
        let store = try await place.open(kind)
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

    @Test("a command changes all of very many transfers, or only the named ones", arguments: StoreKind.available)
    func manyCommanded(kind: StoreKind) async throws {
        let store = try await place.open(kind)
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
}
#endif
