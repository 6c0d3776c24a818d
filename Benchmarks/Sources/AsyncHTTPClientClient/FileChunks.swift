internal import NIOCore
internal import _NIOFileSystem

/// Opens a file, passes its bytes to `body` in pieces of 256 KiB, the size that Curlew reads, and closes it.
func withFileChunks<Result: Sendable>(
    _ path: String, _ body: @Sendable (FileChunks) async throws -> Result
) async throws -> Result {
    try await FileSystem.shared.withFileHandle(forReadingAt: FilePath(path)) { file in
        try await body(file.readChunks(chunkLength: .kibibytes(256)))
    }
}
