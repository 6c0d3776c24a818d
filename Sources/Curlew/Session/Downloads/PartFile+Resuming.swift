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
}
