import Curlew
import Glibc

extension ScratchFolder {
    package func rename(_ name: String, to newName: String) throws {
        try check(Glibc.rename(file(name), file(newName)))
    }

    package func link(_ name: String, to target: String) throws { try check(symlink(file(target), file(name))) }

    package func makeFolder(_ name: String) throws { try check(mkdir(file(name), 0o777)) }

    /// Overwrites the bytes of a file, which keeps its inode.
    package func overwrite(_ name: String, _ bytes: [UInt8]) throws {
        let descriptor = open(file(name), O_WRONLY | O_TRUNC | O_CLOEXEC)
        try check(descriptor)
        defer { close(descriptor) }
        try check(Int32(Glibc.write(descriptor, bytes, bytes.count)))
    }

    private func check(_ result: Int32) throws {
        if result < 0 { throw CurlewError(.bodyFailed, "errno \(errno)") }
    }
}
