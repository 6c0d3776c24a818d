extension DownloadRun {
    /// Goes on where a token says, if the part file is as the token says. Else nothing is taken up.
    /// - Throws: ``CurlewError`` with ``ErrorCode/partFileInUse`` if somebody else is at it.
    func takeUp(_ token: ResumeToken) async throws {
        let part: PartFile
        do {
            part = try await PartFile.reopen(token.partPath)
        } catch let error as CurlewError where error.code == .partFileInUse {
            throw error
        } catch {
            return
        }
        do {
            try await takeUp(token, part)
        } catch {
            // Cancelled, mostly. The token is as good as before.
            await part.release()
            throw error
        }
    }

    private func takeUp(_ token: ResumeToken, _ part: PartFile) async throws {
        let snapshot = try await part.snapshot()
        guard let runs = try await verified(token, part, snapshot) else {
            // Another file in its place is nobody's to write to. Ours is used again.
            guard snapshot.isSameFile(as: token.identity) else { return await part.release() }
            try await part.truncate(to: 0)
            return self.part = part
        }
        // What lies behind was written after the token, or by somebody else.
        try await part.truncate(to: token.received.last?.range.upperBound ?? 0)
        self.part = part
        self.runs = runs
        representation = Representation(token)
        publish()
    }

    /// The runs of a part file whose bytes are those that came; nil if they are not.
    ///
    /// Bytes are known by their hash. Where there is none, the file must be the very same, and nobody may have touched it.
    private func verified(
        _ token: ResumeToken, _ part: PartFile, _ snapshot: FileSnapshot
    ) async throws -> [ReceivedRun]? {
        guard token.received.last?.range.upperBound ?? 0 <= snapshot.size else { return nil }
        var runs: [ReceivedRun] = []
        for piece in token.received {
            try Task.checkCancellation()
            guard let expected = piece.sha256 else {
                guard snapshot == token.identity else { return nil }
                runs.append(ReceivedRun(piece.range, digest: nil, hashes: false))
                continue
            }
            let digest = Guarded(try MessageDigest(.sha256))
            try await part.feed(piece.range, to: digest, isCancellable: true)
            guard try digest.withLock({ try $0.hashSoFar() }) == expected else { return nil }
            runs.append(ReceivedRun(piece.range, digest: digest, hashes: options.hashes))
        }
        return runs
    }
}
