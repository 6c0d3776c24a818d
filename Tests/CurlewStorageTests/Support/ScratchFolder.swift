#if Storage
import Curlew
import FoundationEssentials
import Glibc

/// A folder for one test, removed with its contents.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        path = "/tmp/curlew-storage-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ name: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: file(name))) }

    func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file(name)))) }

    func names(in folder: String = "") -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: file(folder))) ?? []).sorted()
    }

    func permissions(of name: String) -> Int {
        var status = stat()
        return stat(file(name), &status) == 0 ? Int(status.st_mode & 0o777) : -1
    }
}

/// A file system of a few bytes in memory, mounted on a folder as long as this object lives.
final class TemporaryDisk: Sendable {
    let folder: ScratchFolder

    /// True if this process may mount one.
    static let isPermitted: Bool = (try? TemporaryDisk(size: 64 << 10)) != nil

    init(size: Int) throws {
        folder = try ScratchFolder()
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=\(size),mode=700") == 0 else {
            throw CurlewError(.unsupported, "nothing can be mounted: errno \(errno)")
        }
    }

    /// Makes the disk read-only.
    func makeReadOnly() {
        // The flags are MS_REMOUNT and MS_RDONLY.
        _ = mount("tmpfs", folder.path, "tmpfs", 32 | 1, "")
    }

    func resize(to size: Int) { _ = mount("tmpfs", folder.path, "tmpfs", 32, "size=\(size)") }

    // The flag is MNT_DETACH: an open descriptor does not prevent the unmount.
    deinit { umount2(folder.path, 2) }
}
#endif
