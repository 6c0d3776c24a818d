import Curlew
import Glibc
import TestHelpers

/// A file system of a few bytes in memory, mounted on a folder as long as this object lives.
final class TemporaryDisk: Sendable {
    let folder: ScratchFolder
    var path: String { folder.path }

    /// True if this process may mount one.
    static let isPermitted: Bool = (try? TemporaryDisk(size: 64 << 10)) != nil

    init(size: Int, options: String = "") throws {
        folder = try ScratchFolder()
        let data = "size=\(size)\(options)"
        guard mount("tmpfs", folder.path, "tmpfs", 0, data) == 0 else {
            throw CurlewError(.unsupported, "nothing can be mounted: \(String(cString: strerror(errno)))")
        }
    }

    /// Makes the disk read-only.
    func makeReadOnly() {
        // The flags are MS_REMOUNT and MS_RDONLY.
        _ = mount("tmpfs", folder.path, "tmpfs", 32 | 1, "")
    }

    // The flag is MNT_DETACH: an open descriptor does not prevent the unmount.
    deinit { umount2(folder.path, 2) }
}
