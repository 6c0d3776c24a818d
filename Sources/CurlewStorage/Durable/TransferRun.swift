#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials
internal import CurlewPlatform
internal import HTTPTypes

/// A run of one claim, from the stored state to the recorded outcome.
final class TransferRun: Sendable {
    /// The reason why a run is stopped from outside.
    enum Stop: Sendable {
        /// The worker ends; the transfer is released.
        case shutdown
        case suspension
        /// The claim belongs to another worker by now, or the transfer has ended.
        case lost
    }

    struct State {
        var stop: Stop?
        var work: Task<TransferChange, Never>?
        var download: DownloadTask?
        var upload: CallBytes?
        /// The token of a resumable upload, once it runs; the inner value is nil until the server has stored bytes.
        var uploadToken: [UInt8]??
        /// True while a request is in transfer that must not be sent twice.
        var isSent = false
        /// The total size from the server.
        var total: Int64?
        /// True if the queue could not be written.
        var hasQueueFailed = false
        /// True if the naming of the file was stored in the queue.
        var isAnnounced = false
    }

    let claim: TransferClaim
    let session: DurableSession
    let store: any TransferStore
    let state = Guarded(State())

    init(_ claim: TransferClaim, _ session: DurableSession) {
        self.claim = claim
        self.session = session
        store = session.store
    }

    /// The names of the part files; nil for an upload, and for a destination that is not allowed.
    var names: PartNames? { names(of: claim.transfer) }

    private func names(of transfer: StoredTransfer) -> PartNames? {
        PartNames(transfer, in: TransferFolders(session.options.folders))
    }

    /// The number of bytes so far.
    var progress: TransferProgress {
        state.withLock { state in
            if let upload = state.upload { return TransferProgress(received: upload.sent, total: upload.total) }
            guard let progress = state.download?.currentProgress.received, progress.wire > 0 else {
                return TransferProgress(received: claim.transfer.received, total: claim.transfer.total)
            }
            return TransferProgress(received: progress.wire, total: progress.total)
        }
    }

    /// Stops the run; ``perform()`` returns soon after.
    func stop(_ reason: Stop) {
        let work = state.withLock { state in
            state.stop = state.stop ?? reason
            return state.work
        }
        work?.cancel()
    }

    var stopReason: Stop? { state.withLock { $0.stop } }

    /// Runs the transfer and records its outcome.
    func perform() async {
        let work = Task { await outcome() }
        let isStopped = state.withLock { state in
            state.work = work
            return state.stop != nil
        }
        if isStopped { work.cancel() }
        await record(await work.value)
        // The task retains this run through its custody.
        state.withLock { $0.download = nil }
    }

    /// Records a change during the run.
    /// - Returns: False if the claim belongs to another worker by now.
    func write(_ change: TransferChange) async throws -> Bool {
        do {
            return try await store.record(change, of: claim.key)
        } catch {
            if (error as? CurlewError)?.code == .queueFailed { state.withLock { $0.hasQueueFailed = true } }
            throw error
        }
    }

    /// The time for which a failing queue is tolerated.
    var patience: Duration { max(store.patience ?? .zero, session.options.leaseInUse) }

    /// The time for which a worker at shutdown tolerates a failing queue. A transfer that is not released waits for the
    /// end of the lease.
    private static func patience(atShutdown change: TransferChange) -> Duration {
        if case .back = change { .seconds(5) } else { .seconds(30) }
    }

    /// Records the outcome and retries until the lease may have expired, or longer if no other worker can take the
    /// transfer. After that the next worker finds out the outcome.
    private func record(_ change: TransferChange) async {
        let start = ContinuousClock.now
        var stopped: ContinuousClock.Instant?
        while stopReason != .lost {
            do {
                if try await store.record(change, of: claim.key) {
                    if case .failed = change { await names?.removeAll() }
                    return
                }
                break
            } catch {
                if stopReason == .shutdown { stopped = stopped ?? .now }
                guard start.duration(to: .now) < patience,
                    stopped.map({ $0.duration(to: .now) < Self.patience(atShutdown: change) }) ?? true
                else { return }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
        await removeOwnPart()
    }

    /// Removes the part file of a run that has lost its claim, unless the present owner of the transfer resumes from
    /// it.
    private func removeOwnPart() async {
        guard let names else { return }
        let latest: StoredTransfer?
        // If the store cannot be queried, the part file is kept: the next worker finds it by its name.
        do { latest = try await store.transfer(claim.key.id) } catch { return }
        guard let latest else { return await names.removeAll() }
        switch latest.state {
        case .finished, .failed, .cancelled: await names.removeAll()
        case _ where isPart(names.current, of: self.names(of: latest)?.token): break
        default: await DownloadCustody.removeParts([names.current], in: names.folder)
        }
    }

    private func isPart(_ name: String, of token: ResumeToken?) -> Bool {
        token?.partPath.utf8.reversed().starts(with: "/\(name)".utf8.reversed()) ?? false
    }
}
#endif
