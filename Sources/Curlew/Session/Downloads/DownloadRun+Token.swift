extension DownloadRun {
    /// Up to so many bytes are read again for the hash of a token, if they were not hashed as they came.
    private static let hashedAfterwards: Int64 = 256 << 20

    /// Writes the token's file: what it tells of is in the part file by then.
    func checkpoint() async throws {
        // Where another segment is at it, the next chunk tries again.
        guard let path = options.tokenFile, let part, !isAtCheckpoint else { return }
        sinceCheckpoint = 0
        isAtCheckpoint = true
        defer { isAtCheckpoint = false }
        // First what is accepted, then the wait until that is written: the other way round it could be more.
        let received = try self.received()
        if options.synchronizesCheckpoints { try await part.synchronize() } else { try await part.drain() }
        guard let token = makeToken(received, try await part.snapshot()) else { return await TokenFile.remove(path) }
        try await token.write(to: path, synchronizes: options.synchronizesCheckpoints)
        checkpointed = received
    }

    /// What a download that has failed can go on with, written to the token's file as well.
    func lastToken() async -> ResumeToken? {
        guard let part, representation?.rangeValidator != nil, let token = try? await makeLastToken(part) else {
            return nil
        }
        if let path = options.tokenFile {
            // The error has the token, too.
            try? await token.write(to: path, synchronizes: options.synchronizesCheckpoints)
        }
        return token
    }

    private func makeLastToken(_ part: PartFile) async throws -> ResumeToken? {
        let isWritten = (try? await part.drain()) != nil
        let snapshot = try await part.lastSnapshot()
        var received = isWritten ? try self.received() : writtenBeforeFailure(snapshot)
        guard !received.isEmpty else { return nil }
        if ByteRanges(received.map(\.range)).count <= Self.hashedAfterwards {
            for index in received.indices where received[index].sha256 == nil {
                let digest = Guarded(try MessageDigest(.sha256))
                try await part.feed(received[index].range, to: digest)
                received[index].sha256 = try digest.withLock { try $0.hashSoFar() }
            }
        }
        return makeToken(received, snapshot)
    }

    /// The bytes that were accepted, in the order of the file.
    private func received() throws -> [ResumeToken.Received] {
        let received = try runs.filter { !$0.range.isEmpty }.map { try $0.received() }
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
        guard received.count > ResumeToken.rangeLimit / 2 else { return received }
        // After very many starts: neighbours become one. Their hash is gone, and a file that was not touched goes on.
        return ByteRanges(received.map(\.range)).ranges.map { ResumeToken.Received(range: $0) }
    }

    /// What lies in the file though a later write has failed: writing goes on from one end, so it is what the file has. Of
    /// several segments only the last checkpoint is known.
    private func writtenBeforeFailure(_ snapshot: FileSnapshot) -> [ResumeToken.Received] {
        let written = runs.filter { !$0.range.isEmpty }
        guard written.count == 1, let range = written.first?.range else { return checkpointed }
        let end = min(range.upperBound, snapshot.size)
        return range.lowerBound < end ? [ResumeToken.Received(range: range.lowerBound..<end)] : []
    }

    private func makeToken(_ received: [ResumeToken.Received], _ snapshot: FileSnapshot) -> ResumeToken? {
        guard let part, let representation, let validator = representation.rangeValidator else { return nil }
        return try? ResumeToken(
            uri: request.uri.withoutUserInformation,
            finalURI: origin.flatMap { $0.uri == request.uri ? nil : $0.uri.withoutUserInformation },
            validator: validator, total: representation.total, partPath: absolute(part.path),
            destination: place.map(absolute), identity: snapshot, received: received)
    }

    /// A later process may stand in another folder.
    func absolute(_ path: String) -> String { path.utf8.first == .slash ? path : "\(workingFolder)/\(path)" }
}

extension URI {
    fileprivate var withoutUserInformation: URI { URI(text: text, layout: layout, userInformation: nil) }
}
