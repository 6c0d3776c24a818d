#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials
internal import CurlewPlatform
internal import HTTPTypes

extension TransferRun {
    func download(
        _ request: DurableTransfer.Request, _ destination: Destination, _ fields: HTTPFields, _ options: RequestOptions
    ) async throws -> TransferChange {
        guard let names else {
            throw CurlewError(
                .invalidDestination, "the destination cannot be used, or lies outside of the folders of the session")
        }
        var token = names.token
        // Earlier claims may have left part files from before the first token.
        await names.removeEarlier()
        var settings = DownloadTask.Options(integrity: request.integrity, segments: request.segments)
        settings.checkpoint = session.options.checkpoint
        settings.custody = DownloadCustody(partName: names.current) { [self] token, total in
            try await keep(token, total, in: names.folder)
        } name: { [self] whole in
            try await name(whole, request.integrity.digest)
        }
        // If the size is already known, the space is checked before the server is contacted.
        if let total = claim.transfer.total { try await keep(token, total, in: names.folder) }
        try checkFreeSpace(0, in: names.folder)
        var patience = 10
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
                let named = DurableTransfer.File(path: file.path, size: file.size, digest: file.digest)
                return .finished(StoredResult(file: named).encoded, size: file.size)
            } catch let error as CurlewError where error.code == .partFileInUse && token != nil {
                if patience > 0 {
                    // The previous owner of the part file releases it soon.
                    patience -= 1
                    try? await Task.sleep(for: .milliseconds(200))
                } else {
                    // A suspended worker holds the part file; its later writes there are ignored.
                    token = nil
                }
            } catch is CancellationError {
                throw CurlewError(.cancelled, "the transfer was stopped before it began")
            }
        }
    }

    private func keep(_ token: ResumeToken?, _ total: Int64?, in folder: String) async throws {
        let received = token?.receivedCount ?? 0
        state.withLock { $0.total = total }
        try checkFreeSpace(total.map { max(0, $0 - received) } ?? 0, in: folder)
        let bytes = token.flatMap { try? JSONEncoder().encode($0) }.map { Array($0) }
        let quota = session.options.limits.diskQuota.map { Int64($0.bytes) }
        let progress = TransferProgress(received: received, total: total)
        do {
            guard try await write(.checkpoint(token: bytes, progress, quota: quota)) else { throw lost() }
        } catch let error as CurlewError where error.code == .queueFailed {
            // The error is ignored, because a later checkpoint may succeed. Bytes since the last stored one are
            // lost with the process.
        }
    }

    private func name(_ whole: WholeFile, _ digest: ContentDigest?) async throws -> String {
        try await whole.name { pending in
            let file = Array(try JSONEncoder().encode(PendingFile(name: pending, digest: digest)))
            let end = ContinuousClock.now.advanced(by: patience)
            while true {
                do {
                    guard try await write(.naming(file)) else { throw lost() }
                    state.withLock { $0.isAnnounced = true }
                    return
                } catch let error as CurlewError where error.code == .queueFailed && ContinuousClock.now < end {
                    try await Task.sleep(for: .milliseconds(200))
                }
            }
        }
    }

    func lost() -> CurlewError {
        stop(.lost)
        return CurlewError(.leaseLost, "another worker has the transfer, or it was cancelled")
    }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/diskFull`` if less than the required free space would
    ///   remain.
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
}

/// The stored form of a file that is about to be given its name.
struct PendingFile: Codable {
    let name: PendingName
    let digest: ContentDigest?
}
#endif
