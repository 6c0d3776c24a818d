#if Storage || Postgres
extension DurableTransfer {
    /// The state of a transfer. The article <doc:TransfersThatOutliveTheProcess> has a table of the transitions.
    public enum State: Int, Sendable, Hashable, Codable, CaseIterable, CustomStringConvertible {
        /// The transfer waits for a worker, for its start time, or for the end of a backoff.
        case waiting = 0
        /// A worker runs the transfer, or ran it and was killed.
        case running = 1
        /// The transfer was suspended, and waits to be resumed.
        case suspended = 2
        /// The network was unavailable, and the transfer waits for it.
        case waitingForNetwork = 3
        /// The disk or the quota had too little space.
        case waitingForDisk = 4
        /// The downloaded file has its final name, or the server accepted the upload.
        case finished = 5
        /// The transfer failed and is not retried.
        case failed = 6
        /// The transfer was cancelled.
        case cancelled = 7

        /// True if the state is final.
        public var hasEnded: Bool { rawValue >= State.finished.rawValue }

        public var description: String {
            switch self {
            case .waiting: "waiting"
            case .running: "running"
            case .suspended: "suspended"
            case .waitingForNetwork: "waiting for network"
            case .waitingForDisk: "waiting for disk"
            case .finished: "finished"
            case .failed: "failed"
            case .cancelled: "cancelled"
            }
        }
    }
}

/// An event in the life of a transfer.
package enum TransferTrigger: Sendable, CaseIterable {
    /// A worker claims the transfer.
    case claim
    /// The worker releases the transfer for another attempt, immediately or later.
    case release
    /// The worker found the network unavailable.
    case loseNetwork
    /// The worker found too little space.
    case loseRoom
    /// The awaited condition may be true, or the wait is over.
    case wake
    /// The worker's lease has expired, or its process was killed.
    case expire
    case suspend
    case resume
    case cancel
    case succeed
    case fail
    /// The deadline has passed.
    case miss
}

extension DurableTransfer.State {
    /// The state after a trigger; nil if the trigger has no effect in this state.
    ///
    /// For a running transfer, ``TransferTrigger/suspend`` and ``TransferTrigger/expire`` depend on more than the
    /// state. A suspension takes effect when the worker has stopped, and an expired transfer with a pending suspension
    /// becomes suspended.
    package func after(_ trigger: TransferTrigger) -> DurableTransfer.State? {
        switch (self, trigger) {
        case (.waiting, .claim): .running
        case (.running, .release), (.running, .expire): .waiting
        case (.running, .loseNetwork): .waitingForNetwork
        case (.running, .loseRoom): .waitingForDisk
        case (.waitingForNetwork, .wake), (.waitingForDisk, .wake): .waiting
        case (.waiting, .suspend), (.waitingForNetwork, .suspend), (.waitingForDisk, .suspend), (.running, .suspend):
            .suspended
        case (.suspended, .resume), (.waitingForNetwork, .resume), (.waitingForDisk, .resume): .waiting
        case (.running, .succeed): .finished
        case (.running, .fail): .failed
        case (let state, .cancel) where !state.hasEnded: .cancelled
        case (let state, .miss) where !state.hasEnded: .failed
        default: nil
        }
    }
}
#endif
