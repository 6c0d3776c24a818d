internal import Glibc

/// A file that secrets of connections are appended to, a line each (`SSLKEYLOGFILE` of NSS).
final class KeyLog: Sendable {
    private let descriptor: Int32

    /// Opens the file, or makes it for its owner alone.
    init(path: String) throws {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CurlewError(.invalidTLSSetting, "the key log \(path) cannot be written") }
    }

    deinit { close(descriptor) }

    func append(_ line: UnsafePointer<CChar>) {
        // In one piece, so that lines of other threads do not stand within it. A full disk costs the log, not the request.
        var bytes = Array(UnsafeBufferPointer(start: line, count: strlen(line)))
        bytes.append(0x0A)
        _ = write(descriptor, bytes, bytes.count)
    }
}
