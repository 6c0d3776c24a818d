import Curlew
import Glibc
import TerminalOutput

/// A file that the command line names; `-` is standard input.
enum InputFile {
    /// The most bytes that are read into memory.
    static let limit = 256 << 20

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The bytes of the file.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed``.
    static func bytes(of path: String) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in InputChunks(path) {
            bytes += chunk
            guard bytes.count <= limit else {
                throw CurlewError(.bodyFailed, "\(printable(path)) is too large for memory; -T streams a file")
            }
        }
        return bytes
    }

    /// The text of the file, without the line end at its end.
    static func text(of path: String) async throws -> String {
        var bytes = try await bytes(of: path)
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CurlewError(.bodyFailed, "\(printable(path)) is not text in UTF-8")
        }
        return text
    }
}
