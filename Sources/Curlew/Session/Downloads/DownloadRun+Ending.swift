internal import HTTPTypes

extension DownloadRun {
    /// All bytes are there: checks them, and gives the file its name.
    func finish() async throws -> DownloadedFile {
        guard let part, let place, let origin, let total = representation?.total else {
            throw CurlewError(.fileFailed, "there is no part file")
        }
        let snapshot = try await part.snapshot()
        let size = snapshot.size
        if size > total { try await part.truncate(to: total) }
        guard size >= total else { throw CurlewError(.fileFailed, "the part file became shorter") }
        let digest = try await verify(part, total)
        let path = try await destination.commit(part, to: place)
        // Two ways of writing one path: then the file has taken the token's place.
        if let tokenFile = options.tokenFile, await TokenFile.snapshot(of: tokenFile)?.isSameFile(as: snapshot) != true
        {
            await TokenFile.remove(tokenFile)
        }
        origin.task?.report(.moved(path: path))
        return DownloadedFile(path: path, size: total, digest: digest, of: origin)
    }

    private func verify(_ part: PartFile, _ total: Int64) async throws -> ContentDigest? {
        guard var check else { return nil }
        try check.check(count: total, isWhole: true)
        try check.take(trailers: trailers)
        guard let algorithm = check.digest?.algorithm else { return nil }
        let digest = try await part.digest(of: algorithm, in: 0..<total)
        try check.check(digest)
        return digest
    }

    /// Failures after which the same bytes are of no use.
    private static let hopeless: Set<ErrorCode> = [.digestMismatch, .lengthMismatch]

    /// The end of a download that has failed: leaves a token behind, or nothing.
    func conclude(_ error: any Error) async -> CurlewError {
        var failure = error as? CurlewError ?? CurlewError(.fileFailed, "the download failed", underlying: error)
        if error is CancellationError { failure = CurlewError(.cancelled, "the download was cancelled") }
        failure = failure.adding(CurlewError.Context(method: request.method, uri: request.uri))
        guard let part else {
            return failure.adding(CurlewError.Context(resumeToken: untouched))
        }
        if let file = failure.file {
            await part.release()
            origin?.task?.report(.moveFailed(path: file, failure))
            return failure
        }
        if !Self.hopeless.contains(failure.code), let token = await lastToken() {
            await part.release()
            return failure.adding(CurlewError.Context(resumeToken: token))
        }
        await part.discard()
        await part.release()
        if let tokenFile = options.tokenFile { await TokenFile.remove(tokenFile) }
        return failure
    }
}

extension DownloadedFile {
    fileprivate init(path: String, size: Int64, digest: ContentDigest?, of origin: DownloadRun.Origin) {
        self.path = path
        self.size = size
        self.digest = digest
        response = origin.head
        uri = origin.uri
        history = origin.history
    }
}
