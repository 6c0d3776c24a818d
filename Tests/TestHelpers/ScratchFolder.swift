import Curlew
import FoundationEssentials
import Glibc

/// A test's own folder, deleted with this object.
package final class ScratchFolder: Sendable {
    package let path: String

    package init() throws {
        path = "/tmp/curlew-test-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file that may be missing.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file; an existing one is replaced.
    @discardableResult
    package func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(filePath: file(name)))
        return file(name)
    }

    /// Writes a new file with these permissions.
    package func write(_ text: String, mode: Int) throws -> String {
        let path = try write("\(UInt64.random(in: 0...UInt64.max))", Array(text.utf8))
        guard chmod(path, mode_t(mode)) == 0 else { throw CurlewError(.bodyFailed, "errno \(errno)") }
        return path
    }

    /// A sparse file of zeros.
    package func sparse(_ name: String, size: Int) throws -> String {
        try write(name, [])
        guard truncate(file(name), off_t(size)) == 0 else { throw CurlewError(.bodyFailed, "no such file") }
        return file(name)
    }

    package func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file(name)))) }

    package func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: file(name)) }

    /// The names of the folder's contents.
    package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
