import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite(
    "Disks that refuse data", .noLeaks, .timeLimit(.minutes(1)),
    .enabled(if: TemporaryDisk.isPermitted, "this process may not mount a file system"))
struct FullDiskTests {
    private static let page = 4096

    private func pieces(_ count: Int) -> [[UInt8]] {
        (0..<count).map { Array(repeating: UInt8($0), count: Self.page) }
    }

    @Test("a disk that is full at any write is an error, and no file is left", arguments: 1...6)
    func everyWrite(_ pages: Int) async throws {
        let disk = try TemporaryDisk(size: pages * Self.page)
        var response = try stubResponse(bytes: [])
        for count in 1...7 {
            response.body = chunkedBody(pieces(count))
            let body = response
            let path = disk.folder.file("a")
            if count <= pages {
                #expect(try await body.save(to: .file(path)).size == Int64(count * Self.page))
                try? disk.folder.remove("a")
            } else {
                let error = await curlewError { _ = try await body.save(to: .file(path)) }
                #expect(error?.code == .diskFull && error?.file == nil, "\(count) pieces")
            }
            #expect(disk.folder.names == [])
        }
    }

    @Test("a body that is too large for the disk is refused before a byte is written")
    func knownLength() async throws {
        let disk = try TemporaryDisk(size: 64 << 10)
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 1 << 30)) }
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.get(.raw(server.url())).save(to: .file(disk.folder.file("a")))
        }
        #expect(error?.code == .diskFull && error?.message.contains("room for") == true)
        #expect(disk.folder.names == [])
    }

    @Test("a disk that fills up during a body ends the transfer")
    func streaming() async throws {
        let disk = try TemporaryDisk(size: 1 << 20)
        let server = try await MockServer.start { _ in
            var response = MockResponse(body: .pattern(count: 1 << 30))
            response.framing = .chunked
            return response
        }
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.get(.raw(server.url())).save(to: .file(disk.folder.file("a")))
        }
        #expect(error?.code == .diskFull && error?.response?.status == .ok)
        #expect(disk.folder.names == [])
        try await session.expectUsable()
        // The scope waits for the task, which would receive a gibibyte if it had not ended.
    }

    @Test("a disk without room for one more file is full")
    func noFiles() async throws {
        let disk = try TemporaryDisk(size: 64 << 10, options: ",nr_inodes=1")
        let error = await curlewError { _ = try await stubResponse(bytes: [1]).save(to: .file(disk.folder.file("a"))) }
        #expect(error?.code == .diskFull)
    }

    @Test("a read-only disk is a separate error")
    func readOnly() async throws {
        let disk = try TemporaryDisk(size: 64 << 10)
        disk.makeReadOnly()
        var destination = Destination.file(disk.folder.file("a/b"))
        destination.createsFolders = true
        for destination in [.file(disk.folder.file("a")), destination] {
            let error = await curlewError { _ = try await stubResponse(bytes: [1]).save(to: destination) }
            #expect(error?.code == .fileFailed && error?.message.contains("Read-only") == true)
        }
    }

    @Test("a file cannot be moved to another disk, and is not lost")
    func otherDisk() async throws {
        let disk = try TemporaryDisk(size: 64 << 10)
        let part = try await PartFile.create(beside: disk.folder.file("a"))
        try await part.write([1], at: 0)
        let folder = try ScratchFolder()
        for existing in Destination.ExistingFile.allCases {
            let error = await curlewError {
                _ = try await part.commit(to: folder.file("a"), existing: existing, synchronizes: true)
            }
            #expect(error?.code == .fileFailed && error?.file == part.path)
        }
        #expect(folder.names == [])
    }
}
