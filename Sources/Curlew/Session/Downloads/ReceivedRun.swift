/// Bytes of the file that came one after the other, and the hash of them. It belongs to its download.
final class ReceivedRun {
    private(set) var range: Range<Int64>
    private let digest: Guarded<MessageDigest>?

    /// - Parameters:
    ///   - start: The first byte.
    ///   - hashes: Whether to hash what comes.
    init(at start: Int64, hashes: Bool) throws {
        range = start..<start
        digest = hashes ? Guarded(try MessageDigest(.sha256)) : nil
    }

    /// Bytes that are there already.
    init(_ range: Range<Int64>, digest: Guarded<MessageDigest>?) {
        self.range = range
        self.digest = digest
    }

    /// The first byte that is not there.
    var end: Int64 { range.upperBound }

    /// Takes bytes in that the part file has accepted.
    func append(_ bytes: [UInt8]) throws {
        try digest?.withLock { try $0.update(bytes) }
        range = range.lowerBound..<(range.upperBound + Int64(bytes.count))
    }

    /// What a token tells of it.
    func received() throws -> ResumeToken.Received {
        ResumeToken.Received(range: range, sha256: try digest?.withLock { try $0.hashSoFar() })
    }
}
