import Curlew
import Glibc

/// A file system of a few bytes in memory, mounted on a folder until it goes.
final class TemporaryDisk: Sendable {
    let folder: ScratchFolder
    var path: String { folder.path }

    /// Whether this process may mount one.
    static let isPermitted: Bool = (try? TemporaryDisk(size: 64 << 10)) != nil

    init(size: Int, options: String = "") throws {
        folder = try ScratchFolder()
        let data = "size=\(size)\(options)"
        guard mount("tmpfs", folder.path, "tmpfs", 0, data) == 0 else {
            throw CurlewError(.unsupported, "nothing can be mounted: \(String(cString: strerror(errno)))")
        }
    }

    /// From now on nothing can be written.
    func makeReadOnly() {
        // MS_REMOUNT and MS_RDONLY.
        _ = mount("tmpfs", folder.path, "tmpfs", 32 | 1, "")
    }

    // MNT_DETACH: a descriptor that is still open does not keep it in its place.
    deinit { umount2(folder.path, 2) }
}
