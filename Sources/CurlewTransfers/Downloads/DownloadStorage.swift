internal import CurlewPlatform

/// The files of a download: its part file, and the file of its token. Each storage belongs to one
/// ``DownloadOperation``.
///
/// The ranges are those of ``DownloadPlan``, with the same numbers.
final class DownloadStorage {
    /// The content of a token besides the bytes.
    struct Subject {
        let uri: CurlewURI
        let finalURI: CurlewURI?
        let validator: ResumeToken.Validator
        let total: Int64?
        let codings: [String]
    }

    /// The greatest number of bytes that are read again for the hash of a token, if they were not hashed while they
    /// arrived.
    private static let hashedAfterwards: Int64 = 256 << 20
    /// The fewest bytes between two checkpoints.
    private static let smallestCheckpoint = 64 << 10

    private let destination: Destination
    private let options: DownloadTask.Options
    /// The base of relative paths in tokens, because a later process may have another working folder.
    private let workingFolder: String
    private var part: PartFile?
    /// The path of the complete file; set with the first head.
    private var place: String?
    /// The hashes of ranges that were hashed while they arrived, or when they were restored.
    private var digests: [Int: Guarded<MessageDigest>] = [:]
    private var sinceCheckpoint = 0
    private var isAtCheckpoint = false
    /// The ranges that were written at the last checkpoint.
    private var checkpointed: [ResumeToken.Received] = []

    init(_ destination: Destination, _ options: DownloadTask.Options) {
        self.destination = destination
        self.options = options
        let path = getcwd(nil, 0)
        defer { free(path) }
        workingFolder = path.map { String(cString: $0) } ?? "/"
    }

    /// The path of the destination; nil if no response has determined it.
    var path: String? { place ?? destination.location?.path }

    // MARK: Part file

    /// True if there is a part file.
    var isOpen: Bool { part != nil }

    private func openPart() throws -> PartFile {
        guard let part else { throw CurlewError(.fileFailed, "there is no part file") }
        return part
    }

    /// Opens the part file of a token, if it has the received bytes. Another file in its place is not changed.
    /// - Returns: The received ranges; nil if the download has to start from the beginning.
    /// - Throws: ``CurlewError`` with ``ErrorCode/partFileInUse`` if another download uses the part file. The token
    ///   then stays valid.
    func restore(from token: ResumeToken) async throws -> [Range<Int64>]? {
        let part: PartFile
        do {
            part = try await PartFile.reopen(token.partPath)
        } catch let error as CurlewError where error.code == .partFileInUse {
            throw error
        } catch {
            return nil
        }
        do {
            return try await restore(from: token, part)
        } catch {
            // The usual error here is a cancellation.
            await part.release()
            throw error
        }
    }

    private func restore(from token: ResumeToken, _ part: PartFile) async throws -> [Range<Int64>]? {
        let snapshot = try await part.snapshot()
        guard let digests = try await verifiedDigests(token, part, snapshot) else {
            // Another file in its place must not be written to. The download's own file is reused.
            guard snapshot.isSameFile(as: token.identity) else {
                await part.release()
                return nil
            }
            try await part.truncate(to: 0)
            self.part = part
            return nil
        }
        // Bytes after the listed ranges were written after the token, or by another process.
        try await part.truncate(to: token.received.last?.range.upperBound ?? 0)
        self.part = part
        self.digests = digests
        return token.received.map(\.range)
    }

    /// The hashes of a part file with the received bytes; nil if it has other bytes.
    ///
    /// Bytes are identified by their hash. Without a hash, the file must be the same one, and unchanged.
    private func verifiedDigests(
        _ token: ResumeToken, _ part: PartFile, _ snapshot: FileSnapshot
    ) async throws -> [Int: Guarded<MessageDigest>]? {
        guard token.received.last?.range.upperBound ?? 0 <= snapshot.size else { return nil }
        var digests: [Int: Guarded<MessageDigest>] = [:]
        for (number, piece) in token.received.enumerated() {
            try Task.checkCancellation()
            guard let expected = piece.sha256 else {
                guard snapshot == token.identity else { return nil }
                continue
            }
            let digest = try await Self.digest(of: piece.range, in: part, isCancellable: true)
            guard try digest.withLock({ try $0.hashSoFar() }) == expected else { return nil }
            digests[number] = digest
        }
        return digests
    }

    private static func digest(
        of range: Range<Int64>, in part: PartFile, isCancellable: Bool
    ) async throws -> Guarded<MessageDigest> {
        let digest = Guarded(try MessageDigest(.sha256))
        try await part.feed(range, to: digest, isCancellable: isCancellable)
        return digest
    }

    /// Makes the part file, or checks that the existing one can become the file.
    /// - Parameter response: The first response, which determines the place of the file.
    func open(for response: CurlewResponse) async throws {
        let place = try await choosePlace(for: response)
        let part: PartFile
        if let open = self.part {
            part = open
            // The check runs before the bytes are fetched, so that a bad destination is reported early.
            try await destination.check(place, for: part)
        } else {
            part = try await destination.makePart(for: place, named: options.custody?.partName)
        }
        self.part = part
    }

    /// Throws if the volume of the part file has no room for this number of further bytes.
    func checkRoom(for count: Int64) async throws { try await part?.checkRoom(for: count) }

    private func choosePlace(for response: CurlewResponse) async throws -> String {
        if let place { return place }
        do {
            let chosen = try await destination.path(for: response)
            if let tokenFile = options.tokenFile, absolute(tokenFile) == absolute(chosen) {
                throw CurlewError(.invalidDestination, "the destination of the file is the file of its token")
            }
            place = chosen
            return chosen
        } catch  where !(error is CurlewError || error is CancellationError) {
            throw CurlewError(.invalidDestination, "no destination was chosen", underlying: error)
        }
    }

    private func absolute(_ path: String) -> String {
        path.utf8.first == .slash ? path : "\(workingFolder)/\(path)"
    }

    // MARK: Bytes

    /// Begins to hash a new range, if hashes are wanted.
    func startHashing(_ number: Int) throws {
        if options.hashes { digests[number] = Guarded(try MessageDigest(.sha256)) }
    }

    /// True if the bytes of a range are hashed as they arrive.
    func isHashing(_ number: Int) -> Bool { options.hashes && digests[number] != nil }

    /// Hashes bytes that the part file has accepted.
    func hash(_ bytes: [UInt8], of number: Int) throws { try digests[number]?.withLock { try $0.update(bytes) } }

    /// Stops hashing a range. The range then grows without a hash.
    func stopHashing(_ number: Int) { digests[number] = nil }

    func write(_ bytes: consuming [UInt8], at offset: Int64, recycling: PartFile.Recycling? = nil) async throws {
        let count = bytes.count
        try await openPart().write(bytes, at: offset, recycling: recycling)
        sinceCheckpoint += count
    }

    /// Computes the digest of the file as it grows, instead of reading the file again at the end.
    func follow(_ algorithm: ContentDigest.Algorithm) async throws { try await part?.follow(algorithm) }

    /// Removes all bytes; the part file stays.
    func clear() async throws {
        digests = [:]
        checkpointed = []
        try await part?.truncate(to: 0)
    }

    // MARK: Tokens

    /// True if enough bytes have arrived since the last checkpoint.
    var isCheckpointDue: Bool { sinceCheckpoint >= max(options.checkpoint.bytes, Self.smallestCheckpoint) }

    /// Writes the file of the token after the bytes that the token lists are in the part file.
    /// - Parameters:
    ///   - ranges: The received ranges.
    ///   - subject: The representation of the ranges; nil if it cannot be resumed.
    ///   - total: The length of the complete file, if it is known.
    func checkpoint(_ ranges: [Range<Int64>], of subject: Subject?, total: Int64?) async throws {
        // During the checkpoint of another segment, the next chunk tries again.
        guard options.hashes, let part, !isAtCheckpoint else { return }
        sinceCheckpoint = 0
        isAtCheckpoint = true
        defer { isAtCheckpoint = false }
        // The accepted ranges are read first, then their writes are awaited. In the other order, unwritten bytes could
        // be listed.
        let received = try self.received(ranges)
        if options.synchronizesCheckpoints { try await part.synchronize() } else { try await part.drain() }
        let snapshot = try await part.snapshot()
        let token = subject.flatMap { self.token(received, part, snapshot, $0) }
        if let custody = options.custody { try await custody.keep(token, total) }
        if let path = options.tokenFile {
            guard let token else { return await TokenFile.remove(path) }
            try await token.write(to: path, synchronizes: options.synchronizesCheckpoints)
        }
        if token != nil { checkpointed = received }
    }

    /// The token that resumes a failed download. It is also written to the token's file.
    func lastToken(_ ranges: [Range<Int64>], of subject: Subject?) async -> ResumeToken? {
        guard let part, let subject, let token = try? await makeLastToken(ranges, part, subject) else { return nil }
        if let path = options.tokenFile {
            // A failed write is ignored, because the error of the download contains the token too.
            try? await token.write(to: path, synchronizes: options.synchronizesCheckpoints)
        }
        return token
    }

    private func makeLastToken(
        _ ranges: [Range<Int64>], _ part: PartFile, _ subject: Subject
    ) async throws -> ResumeToken? {
        let isWritten = (try? await part.drain()) != nil
        let snapshot = try await part.lastSnapshot()
        var received = isWritten ? try self.received(ranges) : writtenBeforeFailure(ranges, snapshot)
        guard !received.isEmpty else { return nil }
        if ByteRanges(received.map(\.range)).count <= Self.hashedAfterwards {
            for index in received.indices where received[index].sha256 == nil {
                let digest = try await Self.digest(of: received[index].range, in: part, isCancellable: false)
                received[index].sha256 = try digest.withLock { try $0.hashSoFar() }
            }
        }
        return token(received, part, snapshot, subject)
    }

    /// The accepted bytes, in the order of the file.
    private func received(_ ranges: [Range<Int64>]) throws -> [ResumeToken.Received] {
        let received = try ranges.enumerated().filter { !$0.element.isEmpty }
            .map { number, range in
                ResumeToken.Received(range: range, sha256: try digests[number]?.withLock { try $0.hashSoFar() })
            }
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
        guard received.count > ResumeToken.rangeLimit / 2 else { return received }
        // After very many starts adjacent ranges are merged without a hash. The file can then be resumed only if it is
        // unchanged.
        return ByteRanges(received.map(\.range)).ranges.map { ResumeToken.Received(range: $0) }
    }

    /// The bytes in the file after a failed write. A single range is written from its start, so the file's size shows
    /// them. For several segments only the last checkpoint is known.
    private func writtenBeforeFailure(_ ranges: [Range<Int64>], _ snapshot: FileSnapshot) -> [ResumeToken.Received] {
        let written = ranges.filter { !$0.isEmpty }
        guard written.count == 1, let range = written.first else { return checkpointed }
        let end = min(range.upperBound, snapshot.size)
        return range.lowerBound < end ? [ResumeToken.Received(range: range.lowerBound..<end)] : []
    }

    private func token(
        _ received: [ResumeToken.Received], _ part: PartFile, _ snapshot: FileSnapshot, _ subject: Subject
    ) -> ResumeToken? {
        try? ResumeToken(
            uri: subject.uri, finalURI: subject.finalURI, validator: subject.validator, total: subject.total,
            partPath: absolute(part.path), destination: place.map(absolute), identity: snapshot, received: received,
            codings: subject.codings)
    }

    // MARK: Completion

    /// Checks the file and gives it its name.
    /// - Parameters:
    ///   - total: The length of the file.
    ///   - verify: Checks the part file, and returns its digest.
    func commit(
        _ total: Int64, verify: (PartFile) async throws -> ContentDigest?
    ) async throws -> (path: String, digest: ContentDigest?) {
        let part = try openPart()
        guard let place else { throw CurlewError(.fileFailed, "there is no part file") }
        let snapshot = try await part.snapshot()
        if snapshot.size > total { try await part.truncate(to: total) }
        guard snapshot.size >= total else { throw CurlewError(.fileFailed, "the part file became shorter") }
        let digest = try await verify(part)
        let path: String
        if let custody = options.custody {
            let whole = WholeFile(
                part: part, target: absolute(place), existing: destination.existing, identity: try await part.snapshot()
            )
            path = try await custody.name(whole)
        } else {
            path = try await destination.commit(part, to: place)
        }
        // The token file and the destination may be the same file by two paths. The new file has then replaced the
        // token.
        if let tokenFile = options.tokenFile, await TokenFile.snapshot(of: tokenFile)?.isSameFile(as: snapshot) != true
        {
            await TokenFile.remove(tokenFile)
        }
        return (path, digest)
    }

    /// Releases the part file, so that another download can resume it at once.
    func release() async { await part?.release() }

    /// Removes the part file and the token's file.
    func discard() async {
        await part?.discard()
        await part?.release()
        if let tokenFile = options.tokenFile { await TokenFile.remove(tokenFile) }
    }
}
