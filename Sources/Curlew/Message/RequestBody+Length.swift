internal import Glibc

extension RequestBody {
    /// The length as it is at this moment: a file is asked for its size.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a file that is not there or is none.
    func lengthNow() throws -> Int64? {
        guard case .file(let path, let offset, let length) = source else { return length }
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw CurlewError(.bodyFailed, "the file to send cannot be read: \(describe(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CurlewError(.bodyFailed, "what is to be sent is not a regular file")
        }
        let available = Int64(status.st_size) - offset
        guard available >= length ?? 0 else {
            throw CurlewError(.bodyLengthMismatch, "the file is shorter than the range to be sent")
        }
        return length ?? available
    }
}
