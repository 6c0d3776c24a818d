/// A small file that a store is kept in: read and written whole, off the loop and off Swift's threads.
struct KeptFile: Sendable {
    let path: String

    /// Writes the file anew. It takes its name when it is whole, so that a reader sees the old one or the new; only its owner may
    /// read it (mode 0600).
    /// - Throws: ``CurlewError`` as ``PartFile`` throws it.
    func write(_ bytes: [UInt8]) async throws {
        let file = try await PartFile.create(beside: path, permissions: 0o600)
        do {
            try await file.write(bytes, at: 0)
            _ = try await file.commit(to: path, existing: .replace, synchronizes: true)
        } catch {
            await file.discard()
            throw error
        }
    }

    /// - Throws: ``CurlewError`` with `code` for a file of more bytes than the limit, else as ``FileReader`` throws it.
    func read(upTo limit: ByteSize, code: ErrorCode) async throws -> [UInt8] {
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
