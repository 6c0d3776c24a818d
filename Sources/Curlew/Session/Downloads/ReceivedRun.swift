/// Bytes of the file that came one after the other, and the hash of them. It belongs to its download.
final class ReceivedRun {
    private(set) var range: Range<Int64>
    private var digest: Guarded<MessageDigest>?
    /// Whether what comes is hashed.
    let hashes: Bool

    /// - Parameters:
    ///   - start: The first byte.
    ///   - hashes: Whether to hash what comes.
    init(at start: Int64, hashes: Bool) throws {
        range = start..<start
        self.hashes = hashes
        digest = hashes ? Guarded(try MessageDigest(.sha256)) : nil
    }

    /// Bytes that are there already.
    /// - Parameters:
    ///   - range: The bytes.
    ///   - digest: What they were fed to.
    ///   - hashes: Whether to go on with it when more come.
    init(_ range: Range<Int64>, digest: Guarded<MessageDigest>?, hashes: Bool) {
        self.range = range
        self.digest = digest
        self.hashes = hashes
    }

    /// The first byte that is not there.
    var end: Int64 { range.upperBound }

    /// Takes bytes in that the part file has accepted.
    func append(_ bytes: [UInt8]) throws {
        try digest?.withLock { try $0.update(bytes) }
        range = range.lowerBound..<(range.upperBound + Int64(bytes.count))
    }

    /// Takes bytes in that are not hashed.
    func extend(by count: Int) {
        digest = nil
        range = range.lowerBound..<(range.upperBound + Int64(count))
    }

    /// What a token tells of it.
    func received() throws -> ResumeToken.Received {
        ResumeToken.Received(range: range, sha256: try digest?.withLock { try $0.hashSoFar() })
    }
}
