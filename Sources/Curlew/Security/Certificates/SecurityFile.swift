internal import Glibc

/// Files of certificates, keys and lists, read whole and with a bound. It blocks: never on a loop.
enum SecurityFile {
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for a file that cannot be read or is too large.
    static func bytes(of path: String, limit: Int) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw unreadable(path) }
        guard status.st_size <= limit else {
            throw CurlewError(.invalidTLSSetting, "the file \(path) has more than \(limit) bytes")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress?.advanced(by: filled), $0.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path) }
            if count == 0 { break }
            filled += count
        }
        return Array(bytes.prefix(filled))
    }

    /// The names in a directory, sorted, without those that begin with a dot.
    static func names(inDirectory path: String) throws -> [String] {
        guard let directory = opendir(path) else { throw unreadable(path) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    private static func unreadable(_ path: String) -> CurlewError {
        CurlewError(.invalidTLSSetting, "\(path) cannot be read")
    }
}
