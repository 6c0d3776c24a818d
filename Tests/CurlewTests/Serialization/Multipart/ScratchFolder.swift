import Curlew
import FoundationEssentials
import Glibc

/// A test's own folder, deleted with this object.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        path = "/tmp/curlew-multipart-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file that may be missing.
    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file; an existing one is replaced.
    @discardableResult
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(filePath: file(name)))
        return file(name)
    }

    /// A sparse file of zeros.
    func sparse(_ name: String, size: Int) throws -> String {
        try write(name, [])
        guard truncate(file(name), off_t(size)) == 0 else { throw CurlewError(.bodyFailed, "no such file") }
        return file(name)
    }

    func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file(name)))) }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: file(name)) }

    /// The names of the folder's contents.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
