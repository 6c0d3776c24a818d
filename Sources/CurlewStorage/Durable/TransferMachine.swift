#if Storage || Postgres
extension DurableTransfer {
    /// The state of a transfer. The article <doc:TransfersThatOutliveTheProcess> has the table of its changes.
    public enum State: Int, Sendable, Hashable, Codable, CaseIterable, CustomStringConvertible {
        /// It waits for a worker, for its time, or for the end of a backoff.
        case waiting = 0
        /// A worker has it, or had it and was killed.
        case running = 1
        /// It was suspended, and waits to be resumed.
        case suspended = 2
        /// There was no network, and a worker waits for it.
        case waitingForNetwork = 3
        /// There was not enough room on the disk, or in the quota.
        case waitingForDisk = 4
        /// The file has its name, or the server has taken the upload.
        case finished = 5
        /// It has failed, and is not tried again.
        case failed = 6
        /// It was cancelled.
        case cancelled = 7

        /// True if nothing comes after it.
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

/// What may happen to a transfer.
package enum TransferTrigger: Sendable, CaseIterable {
    /// A worker takes it.
    case claim
    /// Its worker gives it back: to be tried again, at once or later.
    case release
    /// Its worker found that there is no network.
    case loseNetwork
    /// Its worker found too little room.
    case loseRoom
    /// What it waited for is there, or it is time to look again.
    case wake
    /// The lease of its worker has run out, or that was killed.
    case expire
    case suspend
    case resume
    case cancel
    case succeed
    case fail
    /// Its deadline is over.
    case miss
}

extension DurableTransfer.State {
    /// The state after a trigger; nil if it changes nothing in this one.
    ///
    /// ``TransferTrigger/suspend`` and ``TransferTrigger/expire`` of one that runs depend on more than its state: a worker ends it first, and one that
    /// was to be suspended is.
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
