#if Storage
import Curlew
import CurlewStorage
import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import Testing

@Suite("The folder of a cache on the disk", .noLeaks, .timeLimit(.minutes(1)))
struct DiskCacheFolderTests {
    @Test("the folder and its files are private to their owner, whatever the umask")
    func permissions() async throws {
        let folder = try ScratchFolder()
        let mask = umask(0)
        defer { umask(mask) }
        let store = try await DiskCacheStore(folder: folder.file("cache"))
        try await store.store(makeEntry(), pattern("x", count: 100_000))
        #expect(folder.permissions(of: "cache") == 0o700)
        #expect(folder.permissions(of: "cache/bodies") == 0o700)
        let files =
            folder.names(in: "cache").filter { $0 != "bodies" }
            + folder.names(in: "cache/bodies").map { "bodies/\($0)" }
        #expect(files.count >= 5)
        for name in files { #expect(folder.permissions(of: "cache/\(name)") == 0o600, "\(name)") }
    }

    @Test("a folder whose name begins with a combining mark is made with its parents")
    func combiningName() async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.file("new/\u{301}cache"))
        #expect(folder.permissions(of: "new/\u{301}cache") == 0o700)
        try await store.close()
    }

    @Test("a folder with access for others is made private if it is empty or a store")
    func tightened() async throws {
        let folder = try ScratchFolder()
        chmod(folder.path, 0o755)
        var store = try await DiskCacheStore(folder: folder.path)
        let entry = try await store.store(makeEntry(), [1])
        #expect(folder.permissions(of: "") == 0o700)
        try await store.close()
        chmod(folder.path, 0o777)
        store = try await DiskCacheStore(folder: folder.path + "/")
        #expect(folder.permissions(of: "") == 0o700)
        #expect(try await store.entries("a") == [entry])
    }

    @Test("a folder with access for others and with other files is refused and stays unchanged")
    func refused() async throws {
        let folder = try ScratchFolder()
        try folder.write("letter", [1])
        chmod(folder.path, 0o755)
        let error = await curlewError { _ = try await DiskCacheStore(folder: folder.path) }
        #expect(error?.code == .cacheFailed && error?.message.contains("chmod") == true)
        #expect(folder.permissions(of: "") == 0o755)
        #expect(folder.names() == ["letter"])
        chmod(folder.path, 0o700)
        let store = try await DiskCacheStore(folder: folder.path)
        try await store.store(makeEntry(), [1])
    }

    @Test(
        "a folder that belongs to another user is refused",
        .enabled(if: geteuid() == 0, "only root can give a folder away"))
    func otherUser() async throws {
        let folder = try ScratchFolder()
        #expect(chown(folder.path, 12_345, 12_345) == 0)
        let error = await curlewError { _ = try await DiskCacheStore(folder: folder.path) }
        #expect(error?.code == .cacheFailed && error?.message.contains("another user") == true)
    }

    @Test(
        "a path that cannot be a folder is an error",
        arguments: ["", "/proc/none/cache", "/dev/null", "/dev/null/x", "a\0b"])
    func noFolder(_ path: String) async {
        #expect(await curlewError { _ = try await DiskCacheStore(folder: path) }?.code == .cacheFailed)
    }

    @Test(
        "a store on a read-only disk cannot be opened",
        .enabled(if: TemporaryDisk.isPermitted, "this process may not mount a file system"))
    func readOnly() async throws {
        let disk = try TemporaryDisk(size: 4 << 20)
        let store = try await DiskCacheStore(folder: disk.folder.path)
        try await store.close()
        disk.makeReadOnly()
        let error = await curlewError { _ = try await DiskCacheStore(folder: disk.folder.path) }
        #expect(error?.code == .cacheFailed)
    }

    @Test(
        "a full disk is a separate error, and stored entries stay",
        .enabled(if: TemporaryDisk.isPermitted, "this process may not mount a file system"), arguments: [4000, 100_000])
    func fullDisk(_ size: Int) async throws {
        let disk = try TemporaryDisk(size: 2 << 20)
        let store = try await DiskCacheStore(folder: disk.folder.path, capacity: .mebibytes(64))
        var stored: [HTTPCache.Entry] = []
        var failure: CurlewError?
        while failure == nil, stored.count < 2000 {
            failure = await curlewError {
                let name = "\(stored.count)"
                stored.append(try await store.store(makeEntry(name), pattern(name, count: size)))
            }
        }
        #expect(failure?.code == .diskFull, "\(String(describing: failure))")
        #expect(stored.count > 5)
        for (index, entry) in stored.enumerated() {
            #expect(try await store.bytes(of: entry) == pattern("\(index)", count: size))
        }
        #expect(disk.folder.names(in: "bodies").count == (size > 8 << 10 ? stored.count : 0))
    }
}
#endif
