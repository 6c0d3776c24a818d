import CurlewTestingTraits
import Glibc
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("A part file beside its destination", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct PartFileTests {
    private func part(_ folder: ScratchFolder, _ name: String = "file") async throws -> PartFile {
        try await PartFile.create(beside: folder.file(name))
    }

    @Test("bytes are written at their offsets in any order, under a hidden name until the end")
    func writing() async throws {
        let folder = try ScratchFolder()
        let part = try await part(folder)
        try await part.write([4, 5], at: 3)
        try await part.write([1, 2, 3], at: 0)
        try await part.write([], at: 90)
        try await part.drain()
        let name = try #require(folder.names.first)
        #expect(folder.names.count == 1 && name.hasPrefix(".file.") && name.hasSuffix(".part"))
        #expect(part.path == folder.file(name))
        #expect(try folder.bytes(name) == [1, 2, 3, 4, 5])
        #expect(try await part.snapshot().size == 5)
        try await part.truncate(to: 4)
        #expect(
            try await part.commit(to: folder.file("file"), existing: .fail, synchronizes: true) == folder.file("file"))
        #expect(folder.names == ["file"])
        #expect(try folder.bytes("file") == [1, 2, 3, 4])
        await part.discard()
        #expect(folder.names == ["file"])
    }

    @Test("writes beyond the limit of pending bytes wait, and all of them are written")
    func bounded() async throws {
        let folder = try ScratchFolder()
        let part = try await part(folder)
        let size = PartFile.room / 2 + 1
        try await withThrowingTaskGroup { group in
            for index in 0..<8 {
                group.addTask {
                    try await part.write(Array(repeating: UInt8(index), count: size), at: Int64(index * size))
                }
            }
            try await group.waitForAll()
        }
        try await part.write(Array(repeating: 9, count: PartFile.room * 2), at: Int64(8 * size))
        _ = try await part.commit(to: folder.file("file"), existing: .fail, synchronizes: false)
        let bytes = try folder.bytes("file")
        #expect(bytes.count == 8 * size + 2 * PartFile.room)
        for index in 0..<8 { #expect(bytes[index * size..<(index + 1) * size].allSatisfy { $0 == UInt8(index) }) }
    }

    @Test("the write window admits writes in order, and no writer waits after a failure")
    func window() async throws {
        var window = WriteWindow(limit: 10)
        #expect(try window.admit(6))
        #expect(try !window.admit(5))
        #expect(try window.admit(4))
        #expect(window.finish(6, failure: nil).isEmpty)
        #expect(window.finish(4, failure: nil).isEmpty)
        #expect(try window.admit(30))
        #expect(try !window.admit(1))
        #expect(window.finish(30, failure: CurlewError(.diskFull, "")).isEmpty)
        #expect(throws: CurlewError.self) { try window.admit(1) }
        #expect(window.failure?.code == .diskFull)
    }

    @Test("a failed write fails the next write, the drain and the commit, and no file is moved")
    func failing() async throws {
        let folder = try ScratchFolder()
        let part = try await part(folder)
        try await part.write([1], at: 1 << 62)
        #expect(await curlewError { try await part.drain() }?.code == .fileFailed)
        #expect(await curlewError { try await part.write([1], at: 0) }?.code == .fileFailed)
        let error = await curlewError {
            _ = try await part.commit(to: folder.file("file"), existing: .fail, synchronizes: false)
        }
        #expect(error?.code == .fileFailed && error?.file == nil)
        await part.discard()
        #expect(folder.names == [])
    }

    @Test("a digest computed while writing equals one from reading the file again")
    func digests() async throws {
        let folder = try ScratchFolder()
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let digest = try MessageDigest(.sha256)
        try digest.update(bytes)
        let expected = try digest.finish()
        let grown = try await part(folder)
        try await grown.follow(.sha256)
        for offset in stride(from: 0, to: bytes.count, by: 700_000) {
            try await grown.write(Array(bytes[offset..<min(bytes.count, offset + 700_000)]), at: Int64(offset))
        }
        for _ in 0..<2 {
            #expect(try await grown.digest(of: .sha256, in: 0..<3_000_000).description == expected)
        }
        #expect(try await grown.digest(of: .sha512, in: 0..<3_000_000).bytes.count == 64)
        try await grown.follow(.sha256, from: 2_000_000)
        try await grown.write(Array(bytes[2_000_000...]), at: 2_000_000)
        #expect(try await grown.digest(of: .sha256, in: 0..<3_000_000).description == expected)
        #expect(await curlewError { _ = try await grown.digest(of: .sha256, in: 0..<3_000_001) }?.code == .fileFailed)
        let jumbled = try await part(folder, "other")
        try await jumbled.follow(.sha256)
        try await jumbled.write(Array(bytes[1000...]), at: 1000)
        try await jumbled.write(Array(bytes[..<1000]), at: 0)
        #expect(try await jumbled.digest(of: .sha256, in: 0..<3_000_000).description == expected)
        await grown.discard()
        await jumbled.discard()
    }

    @Test("a remaining part can be opened again, by one process at a time")
    func reopening() async throws {
        let folder = try ScratchFolder()
        var first: PartFile? = try await part(folder)
        let path = try #require(first?.path)
        try await first?.write([1, 2], at: 0)
        try await first?.drain()
        let snapshot = try await first?.snapshot()
        #expect(await curlewError { _ = try await PartFile.reopen(path) }?.code == .partFileInUse)
        first = nil
        let second = try await PartFile.reopen(path)
        #expect(try await second.snapshot() == snapshot)
        try await second.write([3], at: 2)
        _ = try await second.commit(to: folder.file("file"), existing: .fail, synchronizes: false)
        #expect(try folder.bytes("file") == [1, 2, 3])
        #expect(await curlewError { _ = try await PartFile.reopen(path) }?.code == .fileFailed)
    }

    @Test("a path that is not a regular file is not reopened as a part")
    func reopeningOthers() async throws {
        let folder = try ScratchFolder()
        try folder.write("file", [1])
        #expect(symlink(folder.file("file"), folder.file("link")) == 0)
        #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
        for path in [folder.file("link"), folder.file("pipe"), folder.path, "/dev/null", folder.file("none")] {
            #expect(await curlewError { _ = try await PartFile.reopen(path) }?.code == .fileFailed, "\(path)")
        }
        #expect(await curlewError { _ = try await PartFile.reopen("") }?.code == .invalidDestination)
    }

    @Test("a part that another user owns, or that has a second name, is not opened again")
    func reopeningForeign() async throws {
        let folder = try ScratchFolder()
        try folder.write("part", [1])
        #expect(link(folder.file("part"), folder.file("second")) == 0)
        #expect(await curlewError { _ = try await PartFile.reopen(folder.file("part")) }?.code == .fileFailed)
        try folder.remove("second")
        _ = try await PartFile.reopen(folder.file("part"))
        guard geteuid() == 0 else { return }
        #expect(chown(folder.file("part"), 65534, 65534) == 0)
        #expect(await curlewError { _ = try await PartFile.reopen(folder.file("part")) }?.code == .fileFailed)
    }

    @Test("cancellation stops a digest computation only if the reader allows it")
    func cancelledReading() async throws {
        let folder = try ScratchFolder()
        let part = try await part(folder)
        try await part.truncate(to: 3 << 20)
        let reading = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await part.feed(0..<(3 << 20), to: Guarded(try MessageDigest(.sha256)))
            try await part.feed(0..<(3 << 20), to: Guarded(try MessageDigest(.sha256)), isCancellable: true)
        }
        await #expect(throws: CancellationError.self) { try await reading.value }
        await part.discard()
    }

    @Test("discarding a part does not delete another file that now has its name")
    func discarding() async throws {
        let folder = try ScratchFolder()
        let part = try await part(folder)
        #expect(rename(part.path, folder.file("moved")) == 0)
        try folder.write(String(part.path.dropFirst(folder.path.count + 1)), [1])
        await part.discard()
        #expect(folder.names.count == 2)
        let error = await curlewError {
            _ = try await part.commit(to: folder.file("file"), existing: .replace, synchronizes: false)
        }
        #expect(error?.code == .fileFailed && error?.file == nil)
    }
}
