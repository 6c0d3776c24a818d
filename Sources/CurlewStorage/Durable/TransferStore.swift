#if Storage || Postgres
package import Curlew

/// A store for the transfers of a queue: their requests, their progress, their owners and their ends.
///
/// Workers and callers use only these functions, and each call is atomic. The following rules apply to every store, and
/// one test suite checks them for each:
/// - The changes of ``enqueue(_:)``, ``claim(_:policy:atMost:)``, ``record(_:of:)``, ``command(_:of:)`` and
///   ``acknowledge(_:)`` survive a failure of the process and of the machine. Other changes may be lost with the
///   machine.
/// - A transfer fails when twenty workers in a row have ended while they ran it without further progress, because it
///   may be the cause. From the third time on it waits, longer each time, and runs beside no other such transfer.
/// - A claim has a number, its *fence*, which increases with each claim of a transfer, and also with a cancellation. A
///   write with an old fence has no effect.
/// - Leases use the store's clock, which is the same for all users and never goes back.
package protocol TransferStore: Sendable {
    /// The time for which workers tolerate a failing store; nil means the length of a lease.
    var patience: Duration? { get }
    /// True if each claim detects workers whose processes have ended; otherwise only their leases reveal that.
    var seesGoneWorkers: Bool { get }

    /// Adds transfers.
    func enqueue(_ transfers: [NewTransfer]) async throws

    /// Maintains the queue and claims the next transfers for a worker. The maintenance takes transfers from workers
    /// that are gone, wakes those that are due, and fails those whose deadline has passed.
    func claim(_ worker: TransferWorkerID, policy: ClaimPolicy, atMost count: Int) async throws -> [TransferClaim]

    /// Extends the leases of a worker's claims and records the progress of their transfers. An expired lease is renewed
    /// unless another worker has claimed the transfer. A claim of the worker that is missing in `progress` was
    /// forgotten by it and is released.
    /// - Returns: The claims that the worker still has.
    func renew(_ worker: TransferWorkerID, lease: Duration, progress: [TransferClaim.Key: TransferProgress])
        async throws
        -> [TransferClaim.Key: TransferOrder]

    /// Records a change of a claim.
    /// - Returns: False if the claim belongs to another worker by now; nothing is recorded then.
    func record(_ change: TransferChange, of claim: TransferClaim.Key) async throws -> Bool

    /// Suspends, resumes or cancels transfers. More than a thousand may be changed in parts, each of which is atomic.
    /// - Parameter ids: The transfers; nil means all that have not ended.
    /// - Returns: The number of transfers that were changed, or will be as soon as their worker sees the command.
    func command(_ command: TransferCommand, of ids: [DurableTransfer.ID]?) async throws -> Int

    /// Wakes the transfers that wait for the network, which is available again.
    func wakeAfterNetwork() async throws

    /// The unacknowledged ends of transfers, in the order in which they ended.
    func ends(after cursor: Int64, limit: Int) async throws -> [StoredTransfer]

    /// Removes transfers that have ended.
    /// - Parameter ids: The transfers; nil means all.
    func acknowledge(_ ids: [DurableTransfer.ID]?) async throws

    func transfer(_ id: DurableTransfer.ID) async throws -> StoredTransfer?
    /// The transfers in the order in which they were enqueued.
    func list(_ states: Set<DurableTransfer.State>?, after number: Int64, limit: Int) async throws -> [StoredTransfer]
    func counts() async throws -> [DurableTransfer.State: Int]
    /// The outlook of a worker; nil stands for a caller that is not a worker.
    func outlook(of worker: TransferWorkerID?) async throws -> TransferOutlook

    /// A stream that has an element whenever any process may have changed the queue, as long as it is read. Changes by
    /// ``renew(_:lease:progress:)`` may be omitted.
    func changes() -> AsyncStream<Void>

    /// Marks a worker as gone.
    func resign(_ worker: TransferWorkerID) async
    func close() async throws
}

/// The identifier of a worker.
package struct TransferWorkerID: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init() { description = DurableTransfer.ID().description }
    package init(_ description: String) { self.description = description }
}

/// A transfer to add.
package struct NewTransfer: Sendable {
    package let id: DurableTransfer.ID
    package let host: String
    package let tags: [String]
    package let priority: RequestOptions.Priority
    /// The start time in milliseconds since 1970.
    package let notBefore: Int64?
    package let deadline: Int64?
    package let mayBeRepeated: Bool
    /// The encoded request.
    package let request: [UInt8]
}

/// The lease and the limits of a claim.
package struct ClaimPolicy: Sendable {
    package var lease: Duration
    package var total: Int
    package var perHost: Int
    package var perTag: [String: Int]

    package init(lease: Duration, total: Int, perHost: Int, perTag: [String: Int]) {
        self.lease = lease
        self.total = total
        self.perHost = perHost
        self.perTag = perTag
    }
}

/// A transfer that a worker has claimed.
package struct TransferClaim: Sendable {
    package struct Key: Sendable, Hashable {
        package let id: DurableTransfer.ID
        package let fence: Int64

        package init(id: DurableTransfer.ID, fence: Int64) {
            self.id = id
            self.fence = fence
        }
    }

    package let key: Key
    package let transfer: StoredTransfer

    package init(key: Key, transfer: StoredTransfer) {
        self.key = key
        self.transfer = transfer
    }
}

/// The stored form of a transfer.
package struct StoredTransfer: Sendable, Hashable {
    package var number: Int64
    package var id: DurableTransfer.ID
    package var state: DurableTransfer.State
    /// The time of enqueuing in milliseconds since 1970.
    package var enqueued: Int64
    package var failures: Int
    package var received: Int64
    package var total: Int64?
    /// The time of the next attempt in milliseconds since 1970; nil if the transfer only waits for a slot.
    package var due: Int64?
    package var fence: Int64
    package var request: [UInt8]
    package var token: [UInt8]?
    package var naming: [UInt8]?
    /// The encoded result.
    package var result: [UInt8]?
    /// The position of the end among all ends, until it is acknowledged.
    package var ending: Int64?

    package init(
        number: Int64, id: DurableTransfer.ID, state: DurableTransfer.State, enqueued: Int64, failures: Int,
        received: Int64,
        total: Int64?, due: Int64?, fence: Int64, request: [UInt8], token: [UInt8]?, naming: [UInt8]?, result: [UInt8]?,
        ending: Int64?
    ) {
        self.number = number
        self.id = id
        self.state = state
        self.enqueued = enqueued
        self.failures = failures
        self.received = received
        self.total = total
        self.due = due
        self.fence = fence
        self.request = request
        self.token = token
        self.naming = naming
        self.result = result
        self.ending = ending
    }
}

/// The bytes of a transfer.
package struct TransferProgress: Sendable, Hashable {
    package var received: Int64
    package var total: Int64?

    package init(received: Int64, total: Int64?) {
        self.received = received
        self.total = total
    }

    /// The number of bytes that count towards the quota.
    package var size: Int64 { max(received, total ?? 0) }
}

/// The errors of a download that exceeds the quota.
package enum QuotaRefusal {
    package static func tooLarge(_ size: Int64, _ quota: Int64) -> CurlewError {
        CurlewError(.responseTooLarge, "the file has \(size) bytes, and the quota of the queue is \(quota)")
    }

    package static func full(_ size: Int64, _ quota: Int64, others: Int64) -> CurlewError {
        CurlewError(.diskFull, "the queue has \(others) bytes of its quota of \(quota), and \(size) are to come")
    }
}

/// The instruction to a worker for a claimed transfer.
package enum TransferOrder: Sendable {
    case proceed
    case suspend
}

/// A change of a claim.
package enum TransferChange: Sendable {
    /// The newest token, nil if the download cannot be resumed. The quota limits all bytes of the queue.
    case checkpoint(token: [UInt8]?, TransferProgress, quota: Int64?)
    /// The newest token of an upload, which continues by it: the request need not be sent twice any more.
    case resumable(token: [UInt8], TransferProgress)
    /// A request that must not be sent twice is about to be sent.
    case sending
    /// The file is about to be given its name; empty data cancels that.
    case naming([UInt8])
    /// The worker releases the transfer.
    /// - Parameters:
    ///   - trigger: ``TransferTrigger/release``, ``TransferTrigger/loseNetwork``, ``TransferTrigger/loseRoom`` or
    ///     ``TransferTrigger/suspend``.
    ///   - wait: The wait before the transfer may be claimed again.
    ///   - isFailure: True if an attempt has failed.
    ///   - total: The total size in bytes, if it has become known.
    ///   - result: The encoded error.
    ///
    /// A pending suspension takes precedence over the trigger. If the suspension was withdrawn,
    /// ``TransferTrigger/suspend`` only releases the transfer.
    case back(
        trigger: TransferTrigger, token: [UInt8]?, wait: Duration, isFailure: Bool, total: Int64? = nil,
        result: [UInt8]?)
    /// - Parameter size: The size of the file, which counts towards the quota; nil for an upload.
    case finished([UInt8], size: Int64? = nil)
    case failed([UInt8])
}

package enum TransferCommand: Sendable {
    case suspend
    case resume
    case cancel
}

/// The state of a queue from the view of a worker.
package struct TransferOutlook: Sendable {
    /// True if a transfer can be claimed now, unless a limit is reached.
    package var isReady: Bool
    /// The time until a transfer may have to be woken, or taken from another worker.
    package var wait: Duration?
    /// True if all transfers have ended, except suspended ones.
    package var isDrained: Bool
    /// The number of running transfers.
    package var running: Int
    /// The number of transfers of the querying worker, without those with a pending suspension.
    package var own: Int

    package init(isReady: Bool, wait: Duration?, isDrained: Bool, running: Int, own: Int) {
        self.isReady = isReady
        self.wait = wait
        self.isDrained = isDrained
        self.running = running
        self.own = own
    }
}
#endif
