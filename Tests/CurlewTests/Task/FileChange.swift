import Curlew
import Glibc
import TestHelpers

/// The possible changes of a file of 10 bytes or more during its upload.
enum FileChange: String, CaseIterable, Sendable {
    case grown, shrunk, vanished, replaced, overwritten

    /// The resulting error code.
    var code: ErrorCode { self == .vanished ? .bodyFailed : .bodyLengthMismatch }

    func apply(to name: String, in folder: ScratchFolder) throws {
        let path = folder.file(name)
        var status = stat()
        guard stat(path, &status) == 0 else { throw CurlewError(.bodyFailed, "no such file") }
        switch self {
        case .grown: truncate(path, status.st_size + 1)
        case .shrunk: truncate(path, status.st_size - 1)
        case .vanished: unlink(path)
        case .replaced:
            let other = try folder.sparse("other", size: status.st_size)
            rename(other, path)
        case .overwritten:
            let descriptor = open(path, O_WRONLY)
            // The modification time might be unchanged within the clock's resolution, so it is set.
            var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
            pwrite(descriptor, "x", 1, 0)
            futimens(descriptor, &times)
            close(descriptor)
        }
    }
}
