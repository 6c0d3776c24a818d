#if Storage || Postgres
package import Curlew

/// Where the transfers of a queue are kept: what they are, how far they are, who has them, and what has ended.
///
/// All that workers and callers do is a call of this, and each call happens whole or not at all. The rules that hold for every
/// store, and that one suite of tests asks of each:
/// - What ``enqueue(_:)``, ``claim(_:policy:atMost:)``, ``record(_:of:)``, ``command(_:of:)`` and ``acknowledge(_:)`` have done survives the
///   process and the machine. The rest may be lost with the machine.
/// - A transfer whose workers end twenty times in a row, and nothing more comes of it each time, has failed: it may be what ends them.
///   From the third time on it waits, longer and longer, and runs beside no other such one.
/// - A claim has a number, its *fence*, that is greater with each claim of a transfer, and is greater, too, after a cancel.
///   Whoever writes with an old one writes nothing.
/// - A lease ends by the store's clock, which is the same for all of its users and never goes back.
package protocol TransferStore: Sendable {
    /// For so long workers bear a store that fails; nil is a lease.
    var patience: Duration? { get }
    /// True if each claim sees which workers are gone; otherwise their leases tell.
    var seesGoneWorkers: Bool { get }

    /// Adds transfers.
    func enqueue(_ transfers: [NewTransfer]) async throws

    /// Puts the queue in order (takes transfers from workers that are gone, wakes those whose time has come, fails those whose
    /// deadline is over) and gives a worker the next ones.
    func claim(_ worker: TransferWorkerID, policy: ClaimPolicy, atMost count: Int) async throws -> [TransferClaim]

    /// Extends the leases of a worker's claims, and writes down how far their transfers are. One whose lease is over, and that nobody has
    /// taken, is the worker's again. What is claimed in the worker's name and not among these, it has forgotten: that is given back.
    /// - Returns: The claims that it still has.
    func renew(_ worker: TransferWorkerID, lease: Duration, progress: [TransferClaim.Key: TransferProgress])
        async throws
        -> [TransferClaim.Key: TransferOrder]

    /// Writes down what has come of a claim.
    /// - Returns: False if it is another's by now, and nothing was written.
    func record(_ change: TransferChange, of claim: TransferClaim.Key) async throws -> Bool

    /// Suspends, resumes or cancels transfers. More than a thousand may be changed in parts, each of which happens whole.
    /// - Parameter ids: Which; nil are all that have not ended.
    /// - Returns: How many were changed, or will be as soon as their worker sees it.
    func command(_ command: TransferCommand, of ids: [DurableTransfer.ID]?) async throws -> Int

    /// The network can be reached again.
    func wakeAfterNetwork() async throws

    /// The ends of transfers that were not acknowledged, in the order in which they came.
    func ends(after cursor: Int64, limit: Int) async throws -> [StoredTransfer]

    /// Forgets transfers that have ended.
    /// - Parameter ids: Which; nil are all.
    func acknowledge(_ ids: [DurableTransfer.ID]?) async throws

    func transfer(_ id: DurableTransfer.ID) async throws -> StoredTransfer?
    /// Transfers in the order in which they were enqueued.
    func list(_ states: Set<DurableTransfer.State>?, after number: Int64, limit: Int) async throws -> [StoredTransfer]
    func counts() async throws -> [DurableTransfer.State: Int]
    /// What a worker may look forward to; nil is nobody.
    func outlook(of worker: TransferWorkerID?) async throws -> TransferOutlook

    /// Elements as long as anybody listens: one whenever something may have changed, by whomever. What ``renew(_:lease:progress:)`` writes need
    /// not be told.
    func changes() -> AsyncStream<Void>

    /// Whoever works is seen as gone from then on.
    func resign(_ worker: TransferWorkerID) async
    func close() async throws
}

/// The name of a worker.
package struct TransferWorkerID: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init() { description = DurableTransfer.ID().description }
    package init(_ description: String) { self.description = description }
}

/// A transfer to be added.
package struct NewTransfer: Sendable {
    package let id: DurableTransfer.ID
    package let host: String
    package let tags: [String]
    package let priority: RequestOptions.Priority
    /// Milliseconds since 1970.
    package let notBefore: Int64?
    package let deadline: Int64?
    package let mayBeRepeated: Bool
    /// The request, encoded.
    package let request: [UInt8]
}

/// What a worker takes.
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

/// A transfer that a worker has.
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

/// A transfer as a store has it.
package struct StoredTransfer: Sendable, Hashable {
    package var number: Int64
    package var id: DurableTransfer.ID
    package var state: DurableTransfer.State
    /// Milliseconds since 1970.
    package var enqueued: Int64
    package var failures: Int
    package var received: Int64
    package var total: Int64?
    /// When it is tried next, in milliseconds since 1970; nil as soon as there is a place.
    package var due: Int64?
    package var fence: Int64
    package var request: [UInt8]
    package var token: [UInt8]?
    package var naming: [UInt8]?
    /// What has come of it, encoded.
    package var result: [UInt8]?
    /// The place of its end among all ends, until it is acknowledged.
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

    /// The bytes that count for a quota.
    package var size: Int64 { max(received, total ?? 0) }
}

/// Why a quota of bytes lets a download not go on.
package enum QuotaRefusal {
    package static func tooLarge(_ size: Int64, _ quota: Int64) -> CurlewError {
        CurlewError(.responseTooLarge, "the file has \(size) bytes, and the quota of the queue is \(quota)")
    }

    package static func full(_ size: Int64, _ quota: Int64, others: Int64) -> CurlewError {
        CurlewError(.diskFull, "the queue has \(others) bytes of its quota of \(quota), and \(size) are to come")
    }
}

/// What a worker is to do with a transfer that it has.
package enum TransferOrder: Sendable {
    case proceed
    case suspend
}

/// What has come of a claim.
package enum TransferChange: Sendable {
    /// The newest token, nil if nothing can be resumed; within a quota of bytes for all that the queue holds.
    case checkpoint(token: [UInt8]?, TransferProgress, quota: Int64?)
    /// The newest token of an upload, which goes on by it: it need not be sent twice any more.
    case resumable(token: [UInt8], TransferProgress)
    /// A request that must not be sent twice is on its way.
    case sending
    /// The file is about to get its name; empty if it is not, after all.
    case naming([UInt8])
    /// The worker gives it back.
    /// - Parameters:
    ///   - trigger: ``TransferTrigger/release``, ``TransferTrigger/loseNetwork``, ``TransferTrigger/loseRoom`` or ``TransferTrigger/suspend``.
    ///   - wait: The wait before it may be claimed again.
    ///   - isFailure: Whether an attempt has failed.
    ///   - total: The bytes in all, if that has become known.
    ///   - result: The error, encoded.
    ///
    /// Whatever the trigger, one that is to be suspended is, and one that is to be suspended no more is not.
    case back(
        trigger: TransferTrigger, token: [UInt8]?, wait: Duration, isFailure: Bool, total: Int64? = nil,
        result: [UInt8]?)
    /// - Parameter size: The bytes of the file, which count for the quota; nil for an upload.
    case finished([UInt8], size: Int64? = nil)
    case failed([UInt8])
}

package enum TransferCommand: Sendable {
    case suspend
    case resume
    case cancel
}

/// What a worker may look forward to.
package struct TransferOutlook: Sendable {
    /// True if something may be claimed now, unless a limit is reached.
    package var isReady: Bool
    /// The time until something may have to be woken, or taken from another.
    package var wait: Duration?
    /// True if no transfer is left that has not ended, but those that are suspended.
    package var isDrained: Bool
    /// The transfers that run.
    package var running: Int
    /// Those of the worker that asks, without those that it is to suspend.
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
