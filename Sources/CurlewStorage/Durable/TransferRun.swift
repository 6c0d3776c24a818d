#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials
internal import Glibc
internal import HTTPTypes

/// One claim of a transfer, from what is on the disk to what has come of it.
final class TransferRun: Sendable {
    /// Why a run is stopped from outside.
    enum Stop: Sendable {
        /// The worker ends; the transfer is given back.
        case shutdown
        case suspension
        /// The claim is another's, or nobody's, by now.
        case lost
    }

    struct State {
        var stop: Stop?
        var work: Task<TransferChange, Never>?
        var download: DownloadTask?
        var upload: CallBytes?
        /// The token of a resumable upload, once one runs: nil as long as the server has nothing.
        var uploadToken: [UInt8]??
        /// True while a request is on its way that must not be sent twice.
        var isSent = false
        /// The bytes in all, as the server has said.
        var total: Int64?
        /// Whether the queue could not be written.
        var hasQueueFailed = false
        /// Whether the file was about to get its name.
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

    /// The bytes so far.
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

    /// Runs the transfer, and writes down what has come of it.
    func perform() async {
        let work = Task { await outcome() }
        let isStopped = state.withLock { state in
            state.work = work
            return state.stop != nil
        }
        if isStopped { work.cancel() }
        await record(await work.value)
        // It holds this run by its custody.
        state.withLock { $0.download = nil }
    }

    /// Writes down what happens during the run.
    /// - Returns: False if the claim is another's by now.
    func write(_ change: TransferChange) async throws -> Bool {
        do {
            return try await store.record(change, of: claim.key)
        } catch {
            if (error as? CurlewError)?.code == .queueFailed { state.withLock { $0.hasQueueFailed = true } }
            throw error
        }
    }

    /// For so long a queue that cannot be written is borne.
    var patience: Duration { max(store.patience ?? .zero, session.options.leaseInUse) }

    /// For so long a worker that ends bears a queue that cannot be written. What is not given back waits for the lease.
    private static func patience(atShutdown change: TransferChange) -> Duration {
        if case .back = change { .seconds(5) } else { .seconds(30) }
    }

    /// Tries for as long as the lease may last, or longer where nobody can take it meanwhile; after that it is another's to find out.
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

    /// What a run that has lost its claim has written is nobody's, unless who has the transfer now resumes from it.
    private func removeOwnPart() async {
        guard let names else { return }
        let latest: StoredTransfer?
        // Who has it now is not known: whoever runs it next finds the file by its name.
        do { latest = try await store.transfer(claim.key.id) } catch { return }
        guard let latest else { return await names.removeAll() }
        switch latest.state {
        case .finished, .failed, .cancelled: await names.removeAll()
        case _ where self.names(of: latest)?.token?.partPath.hasSuffix("/\(names.current)") == true: break
        default: await DownloadCustody.removeParts([names.current], in: names.folder)
        }
    }
}
#endif
