#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// The outcome of a run.
extension TransferRun {
    func outcome() async -> TransferChange {
        guard let stored = try? JSONDecoder().decode(StoredRequest.self, from: Data(claim.transfer.request)),
            let request = stored.request
        else { return failed(CurlewError(.queueFailed, "the request cannot be read")) }
        do {
            if let settled = try await settled(request) { return settled }
            var options = RequestOptions()
            options.rateLimit = request.rateLimit
            options.isIdempotent = request.isIdempotent
            if let deadline = request.deadline {
                let left = deadline.timeIntervalSince(Date())
                guard left > 0 else { return failed(Self.isTooLate) }
                options.totalTimeout = .milliseconds(Int64(min(left, 1e9) * 1000) + 1)
            }
            let secrets = try await secrets(of: request)
            // A redirect to another origin drops these fields.
            options.secretFields = Set(secrets.map(\.name))
            let fields = request.fields.replacing(secrets)
            switch request.content {
            case .download(let destination): return try await download(request, destination, fields, options)
            case .upload(let path, let dialect):
                return try await upload(request, path, stored.sourceState, fields, options, dialect)
            }
        } catch let failure as AuthorizationFailure {
            return await change(afterAuthorization: failure.cause, request)
        } catch {
            return await change(after: error, request)
        }
    }

    private static let isTooLate = CurlewError(.totalTimeout, "its deadline is over")

    /// Finishes the naming of a file that an earlier claim began; nil if there was none.
    private func settled(_ request: DurableTransfer.Request) async throws -> TransferChange? {
        guard let bytes = claim.transfer.naming,
            let pending = try? JSONDecoder().decode(PendingFile.self, from: Data(bytes))
        else { return nil }
        guard names?.mayBecome(pending.name) == true else {
            return failed(
                CurlewError(.queueFailed, "the name that the queue has for the file is not one of this transfer"))
        }
        state.withLock { $0.isAnnounced = true }
        switch try await pending.name.settle() {
        case .isNamed:
            let file = DurableTransfer.File(
                path: pending.name.target, size: pending.name.size, digest: pending.digest)
            return .finished(StoredResult(file: file).encoded, size: file.size)
        case .isTaken where request.destination?.existing == .unique:
            // The file gets another name when the download is complete again.
            guard try await write(.naming([])) else { throw lost() }
            state.withLock { $0.isAnnounced = false }
            return nil
        case .isTaken: return failed(CurlewError(.fileExists, "there is a file at the destination already"))
        case .isLost:
            return failed(
                CurlewError(.fileFailed, "the file was whole, and was moved or removed before its end was written down")
            )
        }
    }

    private func failed(_ error: CurlewError) -> TransferChange { .failed(StoredFailure(error).encoded) }

    // MARK: Secrets

    private func secrets(of request: DurableTransfer.Request) async throws -> HTTPFields {
        do { return try await session.options.authorization?(request) ?? HTTPFields() } catch {
            throw AuthorizationFailure(cause: error as? CurlewError)
        }
    }

    /// An error of the provider of secrets; no request was sent.
    private struct AuthorizationFailure: Error {
        let cause: CurlewError?
    }

    private func change(
        afterAuthorization cause: CurlewError?, _ request: DurableTransfer.Request
    ) async -> TransferChange {
        let failure = CurlewError(
            cause?.code ?? .invalidRequest,
            "the session's authorization has failed\(cause.map { ": \($0.message)" } ?? "")")
        let attempt = Attempt(failure: failure, token: claim.transfer.token)
        if let stop = stopReason { return attempt.stopped(stop) }
        if isOver(request) { return failed(Self.isTooLate) }
        if let cause, await lacksNetwork(cause) { return attempt.back(.loseNetwork, after: .seconds(60)) }
        return repetition(of: attempt, request)
    }

    // MARK: Failures

    /// An attempt that has failed or was stopped.
    private struct Attempt {
        let failure: CurlewError
        let token: [UInt8]?
        var total: Int64?

        func back(_ trigger: TransferTrigger, after wait: Duration, isFailure: Bool = false) -> TransferChange {
            .back(
                trigger: trigger, token: token, wait: wait, isFailure: isFailure, total: total,
                result: StoredFailure(failure).encoded)
        }

        func stopped(_ stop: Stop) -> TransferChange {
            .back(
                trigger: stop == .suspension ? .suspend : .release, token: token, wait: .zero, isFailure: false,
                total: total, result: nil)
        }
    }

    private func change(after error: any Error, _ request: DurableTransfer.Request) async -> TransferChange {
        let failure = error as? CurlewError ?? CurlewError(.queueFailed, "the transfer has failed", underlying: error)
        let (hasBegun, total, hasQueueFailed, isAnnounced) = state.withLock {
            ($0.download != nil, $0.total, $0.hasQueueFailed, $0.isAnnounced)
        }
        if request.resumable != nil { return await change(ofUploadAfter: failure, request) }
        // A download has removed the parts that it cannot resume. A download that has not begun leaves existing parts
        // alone.
        let token = failure.resumeToken ?? (hasBegun ? nil : names?.token)
        let attempt = Attempt(
            failure: failure, token: token.flatMap { try? JSONEncoder().encode($0) }.map { Array($0) }, total: total)
        let isUnknown =
            (failure.stage == .exchanging || failure.stage == .receiving) && failure.response == nil
            && !request.mayBeRepeated
        if isUnknown {
            return failed(Self.isUnknown)
        }
        if let stop = stopReason, request.mayBeRepeated || failure.response == nil { return attempt.stopped(stop) }
        return await change(of: attempt, request, isAnnounced: isAnnounced, hasQueueFailed: hasQueueFailed)
    }

    /// The change after a failed resumable upload, which continues by its token.
    private func change(
        ofUploadAfter failure: CurlewError, _ request: DurableTransfer.Request
    ) async -> TransferChange {
        let (token, isSent, hasQueueFailed) = state.withLock { ($0.uploadToken, $0.isSent, $0.hasQueueFailed) }
        let attempt = Attempt(failure: failure, token: token ?? claim.transfer.token)
        let hasLeft = failure.stage != .preparing && failure.stage != .connecting
        if isSent, hasLeft, failure.response == nil, !request.mayBeRepeated { return failed(Self.isUnknown) }
        if let stop = stopReason { return attempt.stopped(stop) }
        // Another worker, or a request that the server still reads, uses the upload.
        if attempt.token != nil, !isOver(request), [409, 412, 423, 460].contains(failure.response?.status.code) {
            return repetition(of: attempt, request)
        }
        return await change(of: attempt, request, isAnnounced: false, hasQueueFailed: hasQueueFailed)
    }

    private static let isUnknown = CurlewError(
        .outcomeUnknown, "it may have reached the server, and must not be sent twice")

    private func change(
        of attempt: Attempt, _ request: DurableTransfer.Request, isAnnounced: Bool, hasQueueFailed: Bool
    ) async -> TransferChange {
        let failure = attempt.failure
        // The next run checks the file's names to find out if the naming succeeded.
        if isAnnounced, failure.code != .fileExists { return repetition(of: attempt, request) }
        if isOver(request) { return failed(Self.isTooLate) }
        if failure.code == .queueFailed, hasQueueFailed { return attempt.back(.release, after: .seconds(1)) }
        if failure.code == .diskFull {
            // An endless body would fill the disk repeatedly.
            let received = state.withLock { $0.download?.currentProgress.received.wire ?? 0 }
            let isWasted = attempt.token == nil && received > 0
            if isWasted, isLast(request) { return failed(failure) }
            return attempt.back(.loseRoom, after: .seconds(30), isFailure: isWasted)
        }
        if await lacksNetwork(failure) { return attempt.back(.loseNetwork, after: .seconds(60)) }
        if failure.code == .partFileInUse { return attempt.back(.release, after: .seconds(1)) }
        if [.overloaded, .rateLimited, .circuitOpen, .deadlineUnreachable].contains(failure.code) {
            return attempt.back(
                .release, after: session.options.retries.backoff.wait(after: claim.transfer.failures + 3))
        }
        guard failure.isWorthRepeating else { return failed(failure) }
        return repetition(of: attempt, request)
    }

    /// Another attempt, if one is left.
    private func repetition(of attempt: Attempt, _ request: DurableTransfer.Request) -> TransferChange {
        let retries = session.options.retries
        let asked = attempt.failure.response.flatMap { RetryAfter.wait(askedBy: $0.headerFields) } ?? .zero
        let wait = min(asked, retries.retryAfterLimit) + retries.backoff.wait(after: claim.transfer.failures + 1)
        let elapsed = Duration.milliseconds(max(0, Date().milliseconds - claim.transfer.enqueued))
        guard !isLast(request), retries.allows(wait, elapsed: elapsed) else { return failed(attempt.failure) }
        return attempt.back(.release, after: wait, isFailure: true)
    }

    /// True if no further attempt may follow a failure of the current one.
    private func isLast(_ request: DurableTransfer.Request) -> Bool {
        claim.transfer.failures + 1 >= request.attempts ?? session.options.retries.attempts
    }

    private func isOver(_ request: DurableTransfer.Request) -> Bool {
        request.deadline.map { $0 <= Date() } ?? false
    }

    private func lacksNetwork(_ failure: CurlewError) async -> Bool {
        guard failure.stage == .connecting, failure.code.mayLackNetwork else { return false }
        if let network = session.options.network { return await network() == .notReachable }
        return await (try? ReachabilityMonitor())?.status == .notReachable
    }
}

extension HTTPFields {
    /// The fields, with `others` in place of those with the same names.
    fileprivate func replacing(_ others: HTTPFields) -> HTTPFields {
        var fields = self
        for field in others { fields[field.name] = field.value }
        return fields
    }
}
#endif
