/// A small file of a store. It is read and written completely, off the event loop and off Swift's thread pool.
package struct KeptFile: Sendable {
    package let path: String

    package init(path: String) { self.path = path }

    /// Replaces the file in one step: a reader gets the complete old or the complete new file. Only its owner may read
    /// it (mode 0600).
    /// - Throws: The errors of ``PartFile``.
    package func write(_ bytes: [UInt8]) async throws {
        let file = try await PartFile.create(beside: path, permissions: 0o600)
        do {
            try await file.write(bytes, at: 0)
            _ = try await file.commit(to: path, existing: .replace, synchronizes: true)
        } catch {
            await file.discard()
            throw error
        }
    }

    /// - Throws: ``CurlewError`` with `code` for a file larger than the limit, else the errors of ``FileReader``.
    package func read(upTo limit: ByteSize, code: ErrorCode) async throws -> [UInt8] {
        let file = try await FileReader(path: path, for: .keeping)
        let size = try await file.snapshot().size
        guard size <= Int64(limit.bytes) else {
            throw CurlewError(code, "the file has more than \(limit)")
        }
        var bytes: [UInt8] = []
        while bytes.count < Int(size) {
            let part = try await file.read(at: Int64(bytes.count), count: Int(size) - bytes.count)
            if part.isEmpty { break }
            bytes += part
        }
        return bytes
    }
}
