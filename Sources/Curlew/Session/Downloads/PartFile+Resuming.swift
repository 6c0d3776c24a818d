internal import Glibc

// What a download that ends or goes on needs of its part file. All of it works after a failed write, too.
extension PartFile {
    /// Lets go of the lock, so that whoever goes on with the file can have it at once.
    func release() async {
        try? await Self.perform(on: queue) { _ = flock(self.descriptor, LOCK_UN) }
    }

    /// How the file stands.
    func lastSnapshot() async throws -> FileSnapshot {
        try await Self.perform(on: queue) { try FileSnapshot(descriptor: self.descriptor) }
    }

    private static let pieceSize = 1 << 20

    /// Reads a range into a hash.
    /// - Parameters:
    ///   - range: The bytes.
    ///   - digest: The hash.
    ///   - isCancellable: Whether a cancelled task reads no further. Who makes a token because it was cancelled has to.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` if the file is shorter, or cannot be read.
    func feed(_ range: Range<Int64>, to digest: Guarded<MessageDigest>, isCancellable: Bool = false) async throws {
        var position = range.lowerBound
        while position < range.upperBound {
            if isCancellable { try Task.checkCancellation() }
            let start = position
            let count = Int(min(Int64(Self.pieceSize), range.upperBound - start))
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
        try call?.get("the part file cannot be read")
        guard !bytes.isEmpty else { throw CurlewError(.fileFailed, "the part file is too short") }
        try digest.withLock { try $0.update(bytes) }
        return Int64(bytes.count)
    }
}
