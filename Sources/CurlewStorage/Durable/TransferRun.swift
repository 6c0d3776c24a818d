#if Storage
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

    /// Tries for as long as the lease may last; after that it is another's to find out.
    private func record(_ change: TransferChange) async {
        let end = ContinuousClock.now.advanced(by: session.options.lease)
        while stopReason != .lost {
            do {
                if try await store.record(change, of: claim.key) {
                    if case .failed = change { await PartNames(claim.transfer)?.removeAll() }
                    return
                }
                break
            } catch {
                guard ContinuousClock.now < end else { return }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
        await removeOwnPart()
    }

    /// What a run that has lost its claim has written is nobody's, unless who has the transfer now resumes from it.
    private func removeOwnPart() async {
        guard let names = PartNames(claim.transfer) else { return }
        let latest: StoredTransfer?
        // Who has it now is not known: whoever runs it next finds the file by its name.
        do { latest = try await store.transfer(claim.key.id) } catch { return }
        guard let latest else { return await names.removeAll() }
        switch latest.state {
        case .finished, .failed, .cancelled: await names.removeAll()
        case _ where PartNames.token(of: latest)?.partPath.hasSuffix("/\(names.current)") == true: break
        default: await DownloadCustody.removeParts([names.current], in: names.folder)
        }
    }

    // MARK: What comes of it

    private func outcome() async -> TransferChange {
        do {
            if let settled = try await settled() { return settled }
            let decoder = JSONDecoder()
            guard let stored = try? decoder.decode(StoredRequest.self, from: Data(claim.transfer.request)),
                let request = stored.request
            else { return failed(CurlewError(.queueFailed, "the request cannot be read")) }
            do {
                var options = RequestOptions()
                options.rateLimit = request.rateLimit
                options.isIdempotent = request.isIdempotent
                if let deadline = request.deadline {
                    let left = deadline.timeIntervalSince(Date())
                    guard left > 0 else { return failed(CurlewError(.totalTimeout, "its deadline is over")) }
                    options.totalTimeout = .milliseconds(Int64(min(left, 1e9) * 1000) + 1)
                }
                let fields = try await fields(of: request)
                switch request.content {
                case .download(let destination): return try await download(request, destination, fields, options)
                case .upload(let path): return try await upload(request, path, stored.sourceState, fields, options)
                }
            } catch {
                return await change(after: error, request)
            }
        } catch {
            // A file that is whole cannot be given its name at the moment.
            return .back(
                trigger: .release, token: claim.transfer.token, wait: .seconds(5), isFailure: false, result: nil)
        }
    }

    /// Names the file that an earlier claim was about to name; nil if there is none.
    private func settled() async throws -> TransferChange? {
        guard let bytes = claim.transfer.naming else { return nil }
        guard let pending = try? JSONDecoder().decode(PendingFile.self, from: Data(bytes)) else { return nil }
        switch try await pending.name.settle() {
        case .isNamed:
            return .finished(
                StoredResult(file: .init(path: pending.name.target, size: pending.name.size, digest: pending.digest))
                    .encoded)
        case .isTaken: return failed(CurlewError(.fileExists, "there is a file at the destination already"))
        case .isLost:
            return failed(
                CurlewError(.fileFailed, "the file was whole, and was moved or removed before its end was written down")
            )
        }
    }

    private func failed(_ error: CurlewError) -> TransferChange { .failed(StoredFailure(error).encoded) }

    private func fields(of request: DurableTransfer.Request) async throws -> HTTPFields {
        var fields = request.fields
        guard let authorization = session.options.authorization else { return fields }
        do {
            for field in try await authorization(request) { fields[field.name] = field.value }
        } catch {
            throw AuthorizationFailure(cause: error as? CurlewError)
        }
        return fields
    }

    /// What provides the secrets has failed.
    private struct AuthorizationFailure: Error {
        let cause: CurlewError?
    }

    /// The change after an attempt that has failed, or was stopped.
    private func change(after error: any Error, _ request: DurableTransfer.Request) async -> TransferChange {
        var error = error
        var isRepeated = false
        if let failure = error as? AuthorizationFailure {
            error = failure.cause ?? CurlewError(.invalidRequest, "the session's authorization has failed")
            isRepeated = true
        }
        let failure = error as? CurlewError ?? CurlewError(.queueFailed, "the transfer has failed", underlying: error)
        // The download has removed what it cannot resume.
        let token = failure.resumeToken ?? (failure.code == .partFileInUse ? nil : untouchedToken(failure))
        let bytes = token.flatMap { try? JSONEncoder().encode($0) }.map { Array($0) }
        func back(_ trigger: TransferTrigger, after wait: Duration, isFailure: Bool = false) -> TransferChange {
            .back(
                trigger: trigger, token: bytes, wait: wait, isFailure: isFailure, result: StoredFailure(failure).encoded
            )
        }
        let isSent = failure.stage == .exchanging || failure.stage == .receiving
        if let stop = stopReason {
            if isSent, !request.mayBeRepeated { return unknown }
            return .back(
                trigger: stop == .suspension ? .suspend : .release, token: bytes, wait: .zero, isFailure: false,
                result: nil)
        }
        if request.deadline.map({ $0 <= Date() }) == true {
            return failed(CurlewError(.totalTimeout, "its deadline is over"))
        }
        if failure.code == .diskFull { return back(.loseRoom, after: .seconds(30)) }
        if failure.stage == .connecting, failure.code.mayLackNetwork, await network() == .notReachable {
            return back(.loseNetwork, after: .seconds(60))
        }
        if failure.code == .partFileInUse { return back(.release, after: .seconds(1)) }
        let isOurs = [.overloaded, .rateLimited, .circuitOpen, .deadlineUnreachable].contains(failure.code)
        if isOurs { return back(.release, after: session.options.backoff.wait(after: claim.transfer.failures + 3)) }
        guard isRepeated || failure.isWorthRepeating else {
            // Of a server that has answered it is known what it did.
            return failed(failure)
        }
        if isSent, failure.response == nil, !request.mayBeRepeated { return unknown }
        guard claim.transfer.failures + 1 < request.attempts else { return failed(failure) }
        let asked = failure.response.flatMap { RetryAfter.wait(askedBy: $0.headerFields) } ?? .zero
        return back(
            .release,
            after: min(asked, session.options.retryAfterLimit)
                + session.options.backoff.wait(after: claim.transfer.failures + 1),
            isFailure: true)
    }

    private var unknown: TransferChange {
        failed(CurlewError(.outcomeUnknown, "it may have reached the server, and must not be sent twice"))
    }

    private func network() async -> ReachabilityStatus {
        if let network = session.options.network { return await network() }
        return await (try? ReachabilityMonitor())?.status ?? .unknown
    }

    /// The token that the run began with, if the failure left its bytes alone.
    private func untouchedToken(_ failure: CurlewError) -> ResumeToken? {
        let hasBegun = state.withLock { $0.download != nil }
        return hasBegun ? nil : PartNames.token(of: claim.transfer)
    }
}
#endif
