/// The digest of a part of a file, from its start to an offset that usually grows.
actor PrefixDigest {
    private static let piece = 1 << 20

    private let path: String
    private let start: Int64
    private let algorithm: MessageDigest.Algorithm
    private var digest: MessageDigest?
    private var position: Int64 = 0

    init(path: String, start: Int64, _ algorithm: MessageDigest.Algorithm) {
        self.path = path
        self.start = start
        self.algorithm = algorithm
    }

    /// The digest of the first bytes, in lower-case hexadecimal.
    func hash(to offset: Int64) async throws -> String {
        if offset < position { digest = nil }
        let running = try digest ?? MessageDigest(algorithm)
        if digest == nil { position = 0 }
        digest = nil
        let reader = try await FileReader(path: path)
        while position < offset {
            try Task.checkCancellation()
            let bytes = try await reader.read(
                at: start + position, count: Int(min(Int64(Self.piece), offset - position)))
            guard !bytes.isEmpty else {
                throw CurlewError(.bodyLengthMismatch, "the file is shorter than it was when the upload began")
            }
            try running.update(bytes)
            position += Int64(bytes.count)
        }
        digest = running
        return try running.hashSoFar()
    }
}
