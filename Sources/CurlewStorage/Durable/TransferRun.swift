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

    private struct State {
        var stop: Stop?
        var work: Task<TransferChange, Never>?
        var download: DownloadTask?
        var upload: CallBytes?
        var token: ResumeToken?
    }

    private let claim: TransferClaim
    private let session: DurableSession
    private let store: any TransferStore
    private let state = Guarded(State())

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

    private var stopReason: Stop? { state.withLock { $0.stop } }

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
                    if case .failed = change { await removeRemains() }
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
        guard let latest = try? await store.transfer(claim.key.id) else { return await removeRemains() }
        switch latest.state {
        case .failed, .cancelled: await removeRemains()
        case _ where Self.token(latest.token)?.partPath.hasSuffix("/\(names.current)") == true: break
        default: await DownloadCustody.removeParts([names.current], in: names.folder)
        }
    }

    private func removeRemains() async {
        let token = state.withLock { $0.token } ?? Self.token(claim.transfer.token)
        await token?.discard()
        await PartNames(claim.transfer)?.removeAll()
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
        state.withLock { $0.token = token }
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
        return hasBegun ? nil : Self.token(claim.transfer.token)
    }

    private static func token(_ bytes: [UInt8]?) -> ResumeToken? {
        bytes.flatMap { try? JSONDecoder().decode(ResumeToken.self, from: Data($0)) }
    }

    // MARK: Downloads

    private func download(
        _ request: DurableTransfer.Request, _ destination: Destination, _ fields: HTTPFields, _ options: RequestOptions
    ) async throws -> TransferChange {
        guard let names = PartNames(claim.transfer) else {
            throw CurlewError(.invalidDestination, "the path of the destination cannot be used")
        }
        var token = Self.token(claim.transfer.token)
        // What was left behind before there was a token.
        await names.removeEarlier(except: token?.partPath)
        var settings = DownloadTask.Options(integrity: request.integrity, segments: request.segments)
        settings.checkpoint = session.options.checkpoint
        settings.custody = DownloadCustody(partName: names.current) { [self] token, total in
            try await keep(token, total, in: names.folder)
        } name: { [self] whole in
            try await name(whole, request.integrity.digest)
        }
        try checkFreeSpace(claim.transfer.total.map { max(0, $0 - claim.transfer.received) } ?? 0, in: names.folder)
        while true {
            let task =
                if let token {
                    try session.http.downloadTask(
                        resuming: token, to: destination, fields: fields, download: settings, options: options)
                } else {
                    try session.http.downloadTask(
                        .raw(request.url), to: destination, fields: fields, download: settings, options: options)
                }
            do {
                try Task.checkCancellation()
                state.withLock { $0.download = task }
                task.resume()
                let file = try await task.file()
                let digest = file.digest
                return .finished(StoredResult(file: .init(path: file.path, size: file.size, digest: digest)).encoded)
            } catch let error as CurlewError where error.code == .partFileInUse && token != nil {
                // A worker that stands still holds it: what it may write there later is nobody's.
                token = nil
            } catch is CancellationError {
                throw CurlewError(.cancelled, "the transfer was stopped before it began")
            }
        }
    }

    private func keep(_ token: ResumeToken?, _ total: Int64?, in folder: String) async throws {
        let received = token?.receivedCount ?? 0
        try checkFreeSpace(total.map { max(0, $0 - received) } ?? 0, in: folder)
        let bytes = token.flatMap { try? JSONEncoder().encode($0) }.map { Array($0) }
        let quota = session.options.limits.diskQuota.map { Int64($0.bytes) }
        let progress = TransferProgress(received: received, total: total)
        guard try await store.record(.checkpoint(token: bytes, progress, quota: quota), of: claim.key) else {
            throw lost()
        }
    }

    private func name(_ whole: WholeFile, _ digest: ContentDigest?) async throws -> String {
        try await whole.name { pending in
            let file = PendingFile(name: pending, digest: digest)
            guard try await store.record(.naming(Array(try JSONEncoder().encode(file))), of: claim.key) else {
                throw lost()
            }
        }
    }

    private func lost() -> CurlewError {
        stop(.lost)
        return CurlewError(.leaseLost, "another worker has the transfer, or it was cancelled")
    }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/diskFull`` if less would be free than is to be left.
    private func checkFreeSpace(_ count: Int64, in folder: String) throws {
        var status = statvfs()
        guard statvfs(folder, &status) == 0, status.f_blocks > 0 else { return }
        let free = Int64(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
        let floor = Int64(session.options.limits.freeSpace.bytes)
        guard count > free - floor else { return }
        throw CurlewError(
            .diskFull, "\(count) bytes are to come, and the disk has \(free), of which \(floor) are left free")
    }

    // MARK: Uploads

    private static let keptBody = 64 << 10

    private func upload(
        _ request: DurableTransfer.Request, _ path: String, _ expected: FileSnapshot?, _ fields: HTTPFields,
        _ options: RequestOptions
    ) async throws -> TransferChange {
        let current = try FileSnapshot(statusOf: path, for: .sending)
        guard current == expected else {
            throw CurlewError(.bodyLengthMismatch, "the file was changed since the upload was enqueued")
        }
        if !request.mayBeRepeated {
            guard try await store.record(.sending, of: claim.key) else { throw lost() }
        }
        let bytes = CallBytes(total: current.size)
        state.withLock { $0.upload = bytes }
        var options = options
        if options.maximumAttempts == nil { options.maximumAttempts = 1 }
        let response = try await session.http.upload(
            .raw(request.url), method: request.method, from: .file(path), fields: fields, options: options
        ) { bytes.advance($0.sent.wire) }
        // Whatever the body is, and wherever it breaks off: the status has said what has come of the upload.
        var body: [UInt8] = []
        do {
            for try await chunk in response.body {
                body += chunk.prefix(Self.keptBody - body.count)
                if body.count >= Self.keptBody { break }
            }
        } catch  where stopReason == nil {}
        guard response.status.kind == .successful else {
            throw UploadRefusal.error(response)
        }
        return .finished(StoredResult(status: response.status.code, fields: response.fields, body: body).encoded)
    }
}

/// The refusal of an upload.
private enum UploadRefusal {
    static func error(_ response: CurlewResponse) -> CurlewError {
        CurlewError(refusal: response, "status \(response.status.code) to an upload")
    }
}

/// The bytes of an upload that have gone.
private final class CallBytes: Sendable {
    let total: Int64
    private let count = Guarded<Int64>(0)

    init(total: Int64) { self.total = total }

    var sent: Int64 { count.withLock { $0 } }

    func advance(_ newCount: Int64) { count.withLock { $0 = newCount } }
}

/// A file that is about to get its name, as it is kept.
private struct PendingFile: Codable {
    let name: PendingName
    let digest: ContentDigest?
}

/// The names that part files of a download have, a claim each.
struct PartNames: Sendable {
    let folder: String
    private let id: DurableTransfer.ID
    private let fence: Int64
    /// So many claims back a file is looked for.
    private static let reach: Int64 = 16

    /// nil for an upload.
    init?(_ transfer: StoredTransfer) {
        guard let stored = try? JSONDecoder().decode(StoredRequest.self, from: Data(transfer.request)),
            let path = stored.destination
        else { return nil }
        folder = stored.isFolder == true ? path : path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        id = transfer.id
        fence = transfer.fence
    }

    private func name(_ fence: Int64) -> String { ".curlew-\(id)-\(fence).part" }

    var current: String { name(fence) }

    func removeEarlier(except path: String?) async {
        let names = (max(1, fence - Self.reach)..<max(1, fence)).map(name)
        let kept = path.map { String($0[($0.lastIndex(of: "/").map { path!.index(after: $0) } ?? $0.startIndex)...]) }
        await DownloadCustody.removeParts(names.filter { $0 != kept }, in: folder)
    }

    func removeAll() async {
        await DownloadCustody.removeParts((max(1, fence - Self.reach)...max(1, fence)).map(name), in: folder)
    }
}

/// What has come of a transfer that went well, as it is kept.
struct StoredResult: Codable, Sendable {
    private var file: DurableTransfer.File?
    private var status: Int?
    private var fields: [[String]]?
    private var body: Data?

    init(file: DurableTransfer.File) { self.file = file }

    init(status: Int, fields: HTTPFields, body: [UInt8]) {
        self.status = status
        self.fields = fields.filter { $0.name != .setCookie }.map { [$0.name.rawName, $0.value] }
        self.body = Data(body)
    }

    var encoded: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }

    var outcome: DurableTransfer.Outcome? {
        if let file { return .file(file) }
        guard let status else { return nil }
        var fields = HTTPFields()
        for field in self.fields ?? [] where field.count == 2 {
            if let name = HTTPField.Name(field[0]) { fields.append(HTTPField(name: name, value: field[1])) }
        }
        return .response(
            DurableTransfer.Response(status: .init(code: status), fields: fields, body: body.map { Array($0) } ?? []))
    }
}
#endif
