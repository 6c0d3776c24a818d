/// A digest that grows with a file that is written from its beginning to its end.
struct RunningDigest: Sendable {
    let algorithm: DigestAlgorithm
    private let digest: Guarded<MessageDigest>
    /// How far it goes, from the beginning.
    private(set) var position: Int64

    init(_ algorithm: DigestAlgorithm, digest: Guarded<MessageDigest>, position: Int64) {
        self.algorithm = algorithm
        self.digest = digest
        self.position = position
    }

    /// Bytes that are not the next ones leave it where it is: it is then not that of the whole file.
    mutating func take(_ bytes: [UInt8], at offset: Int64) throws {
        guard offset == position else { return }
        try digest.withLock { try $0.update(bytes) }
        position += Int64(bytes.count)
    }

    /// The digest; nothing can follow.
    func finished() throws -> ContentDigest {
        ContentDigest(algorithm, finished: try digest.withLock { try $0.finishedBytes() })
    }
}
