internal import Glibc

extension PartFile {
    /// How much is read at a time for a digest.
    private static let piece = 1 << 20

    /// From now on what is written next to what is there makes a digest grow, so that the file need not be read again.
    /// - Parameter offset: How much is there; it is read.
    func follow(_ algorithm: DigestAlgorithm, from offset: Int64 = 0) async throws {
        let digest = Guarded(try MessageDigest(algorithm.function))
        try await feed(0..<offset, to: digest, isCancellable: true)
        try await perform { [running] in
            running.withLock { $0 = RunningDigest(algorithm, digest: digest, position: offset) }
        }
    }

    /// The digest of a range: what has grown with the writing if it is that, else by reading it again.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` if the file is shorter, or cannot be read.
    func digest(of algorithm: DigestAlgorithm, in range: Range<Int64>) async throws -> ContentDigest {
        let grown: ContentDigest? = try await perform { [running] in
            try running.withLock { current in
                guard let digest = current, digest.algorithm == algorithm, range == 0..<digest.position else {
                    return nil
                }
                current = nil
                return try digest.finished()
            }
        }
        if let grown { return grown }
        let digest = Guarded(try MessageDigest(algorithm.function))
        try await feed(range, to: digest, isCancellable: true)
        return ContentDigest(algorithm, finished: try digest.withLock { try $0.finishedBytes() })
    }

    /// Reads a range into a digest, be it that writing has failed.
    /// - Parameters:
    ///   - range: The bytes.
    ///   - digest: The digest.
    ///   - isCancellable: Whether a cancelled task reads no further. Who makes a token because it was cancelled has to.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` if the file is shorter, or cannot be read.
    func feed(_ range: Range<Int64>, to digest: Guarded<MessageDigest>, isCancellable: Bool = false) async throws {
        var position = range.lowerBound
        while position < range.upperBound {
            if isCancellable { try Task.checkCancellation() }
            let start = position
            let count = Int(min(Int64(Self.piece), range.upperBound - start))
            position += try await Self.perform(on: queue) { try self.feedNow(count, at: start, to: digest) }
        }
    }

    private func feedNow(_ count: Int, at offset: Int64, to digest: Guarded<MessageDigest>) throws -> Int64 {
        var call: FileCall?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
            let made = FileCall { pread(descriptor, space.baseAddress, count, off_t(offset)) }
            filled = max(0, made.value)
            call = made
        }
        try call?.get("the file cannot be read")
        guard !bytes.isEmpty else { throw CurlewError(.fileFailed, "the file became shorter while it was read") }
        try digest.withLock { try $0.update(bytes) }
        return Int64(bytes.count)
    }
}
