import CurlewTestingTraits
import FoundationEssentials
import Glibc
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The final name of a file", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct CommitTests {
    private func whole(_ folder: ScratchFolder, _ name: String = "file") async throws -> PartFile {
        let part = try await PartFile.create(beside: folder.file(name), existing: .replace)
        try await part.write([7], at: 0)
        return part
    }

    private func commit(_ part: PartFile, _ path: String, _ existing: Destination.ExistingFile) async throws -> String {
        try await part.commit(to: path, existing: existing, synchronizes: false)
    }

    @Test("a file that appeared meanwhile is kept, and the error contains the path of the new one")
    func appeared() async throws {
        let folder = try ScratchFolder()
        let part = try await whole(folder)
        try folder.write("file", [1])
        let error = await curlewError { _ = try await commit(part, folder.file("file"), .fail) }
        #expect(error?.code == .fileExists)
        #expect(error?.file == part.path)
        #expect(try folder.bytes("file") == [1])
        #expect(try Data(contentsOf: URL(filePath: part.path)) == Data([7]))
        #expect(try await commit(part, folder.file("file"), .unique) == folder.file("file (1)"))
        #expect(try folder.bytes("file (1)") == [7])
    }

    @Test("free names are tried in order, within the maximum length of a name")
    func unique() async throws {
        let folder = try ScratchFolder()
        let long = String(repeating: "é", count: 125) + ".tar"
        for name in ["a.tar.gz", "a (1).tar.gz", long] { try folder.write(name, [1]) }
        #expect(try await commit(whole(folder), folder.file("a.tar.gz"), .unique) == folder.file("a (2).tar.gz"))
        #expect(try await commit(whole(folder), folder.file("new"), .unique) == folder.file("new"))
        let other = try await commit(whole(folder, long), folder.file(long), .unique)
        #expect(other == folder.file(String(repeating: "é", count: 123) + " (1).tar"))
    }

    @Test("every way of moving a file leaves an existing file unchanged", arguments: OpenFolder.Move.allCases)
    func ways(_ way: OpenFolder.Move) throws {
        let scratch = try ScratchFolder()
        try scratch.write("a", [1])
        try scratch.write("taken", [2])
        let folder = try OpenFolder(scratch.path, creates: false)
        #expect(folder.move("a", to: folder, as: "taken", by: [way]) == EEXIST)
        #expect(try scratch.bytes("taken") == [2])
        #expect(folder.move("a", to: folder, as: "b", by: [way]) == 0)
        #expect(scratch.names == ["b", "taken"])
        #expect(try scratch.bytes("b") == [1])
        #expect(folder.move("gone", to: folder, as: "c", by: [way]) == ENOENT)
        #expect(folder.move("b", to: folder, as: "nowhere/c", by: [way]) == ENOENT)
        #expect(scratch.names == ["b", "taken"])
        #expect(folder.move("b", to: folder, as: "c", by: []) == ENOTSUP)
    }

    @Test("replacing removes a symbolic link and never writes through it")
    func links() async throws {
        let folder = try ScratchFolder()
        try folder.write("target", [1])
        #expect(symlink(folder.file("target"), folder.file("link")) == 0)
        #expect(symlink(folder.file("nothing"), folder.file("dangling")) == 0)
        for name in ["link", "dangling"] {
            #expect(
                await curlewError { _ = try await PartFile.create(beside: folder.file(name), existing: .fail) }?.code
                    == .fileExists)
            let part = try await whole(folder, name)
            #expect(await curlewError { _ = try await commit(part, folder.file(name), .fail) }?.code == .fileExists)
            _ = try await commit(part, folder.file(name), .replace)
            #expect(try folder.bytes(name) == [7])
            var status = stat()
            #expect(lstat(folder.file(name), &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
        }
        #expect(try folder.bytes("target") == [1])
        #expect(folder.names == ["dangling", "link", "target"])
    }

    @Test(
        "folders, devices, pipes and links to them are never replaced", arguments: Destination.ExistingFile.allCases)
    func others(_ existing: Destination.ExistingFile) async throws {
        let folder = try ScratchFolder()
        #expect(mkdir(folder.file("folder"), 0o700) == 0)
        #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
        #expect(symlink("/dev/null", folder.file("device")) == 0)
        #expect(symlink(folder.file("folder"), folder.file("link")) == 0)
        for name in ["folder", "pipe", "device", "link"] {
            let early = await curlewError {
                _ = try await PartFile.create(beside: folder.file(name), existing: existing)
            }
            #expect(early?.code == .invalidDestination, "\(name)")
            let part = try await whole(folder)
            let late = await curlewError { _ = try await commit(part, folder.file(name), existing) }
            #expect(late?.code == .invalidDestination && late?.file == part.path, "\(name)")
            await part.discard()
        }
        #expect(await curlewError { _ = try await PartFile.create(beside: "/dev/null") }?.code == .invalidDestination)
        #expect(folder.names == ["device", "folder", "link", "pipe"])
    }

    @Test(
        "a path that cannot name a file is an error before a file is created",
        arguments: ["", "/", ".", "..", "a/", "a/.", "a/..", "a\u{0}b", String(repeating: "é", count: 128)])
    func paths(_ path: String) async throws {
        let folder = try ScratchFolder()
        let full = path.isEmpty ? "" : folder.file(path)
        #expect(await curlewError { _ = try await PartFile.create(beside: full) }?.code == .invalidDestination)
        #expect(folder.names == [])
    }

    @Test("the part file of a file with a name of maximum length has a valid name")
    func longName() async throws {
        let folder = try ScratchFolder()
        let name = String(repeating: "é", count: 127) + "a"
        let part = try await whole(folder, name)
        #expect(try #require(folder.names.first).utf8.count <= 255)
        #expect(try await commit(part, folder.file(name), .fail) == folder.file(name))
        #expect(folder.names == [name])
    }

    @Test("missing folders are created on request, with the permissions of the umask")
    func folders() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("a/b/c/file")
        let refused = await curlewError { _ = try await PartFile.create(beside: path) }
        #expect(refused?.code == .fileFailed)
        let mask = umask(0o027)
        defer { umask(mask) }
        let part = try await PartFile.create(beside: path, createsFolders: true)
        _ = try await commit(part, path, .fail)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
        #expect(stat(folder.file("a/b"), &status) == 0 && status.st_mode & 0o777 == 0o750)
        let through = await curlewError { _ = try await PartFile.create(beside: path + "/x", createsFolders: true) }
        #expect(through?.code == .invalidDestination)
    }

    @Test("a folder that was moved or replaced is an error, and the file is not lost")
    func movedFolder() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("here/file")
        let part = try await PartFile.create(beside: path, createsFolders: true)
        try await part.write([7], at: 0)
        #expect(rename(folder.file("here"), folder.file("there")) == 0)
        for _ in 0..<2 {
            let error = await curlewError { _ = try await commit(part, path, .fail) }
            #expect(error?.code == .fileFailed)
            let left = try #require(error?.file)
            #expect(left.hasPrefix(folder.file("there/")))
            #expect(try Data(contentsOf: URL(filePath: left)) == Data([7]))
            mkdir(folder.file("here"), 0o700)
        }
        await part.discard()
        #expect(folder.names == ["here", "there"])
    }

    @Test("a folder that is deleted during the transfer loses the file, and the error reports it")
    func vanishedFolder() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("here/file")
        let part = try await PartFile.create(beside: path, createsFolders: true)
        try await part.write([7], at: 0)
        try await part.drain()
        try FileManager.default.removeItem(atPath: folder.file("here"))
        let error = await curlewError { _ = try await commit(part, path, .fail) }
        #expect(error?.code == .fileFailed && error?.file == nil)
    }

    @Test("a file can be committed to another folder of the same disk")
    func otherFolder() async throws {
        let folder = try ScratchFolder()
        let other = try ScratchFolder()
        let part = try await whole(folder)
        #expect(try await commit(part, other.file("x"), .fail) == other.file("x"))
        #expect(try other.bytes("x") == [7])
        let lost = try await whole(folder)
        #expect(await curlewError { _ = try await commit(lost, other.file("none/x"), .fail) }?.file == lost.path)
        await lost.discard()
        #expect(folder.names == [])
    }
}
