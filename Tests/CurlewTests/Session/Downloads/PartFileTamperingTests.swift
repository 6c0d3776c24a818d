import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Part files modified by others", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct PartFileTamperingTests {
    private func part(_ bench: DownloadBench) throws -> String { try #require(bench.folder.names.first) }

    @Test("a changed, truncated or missing part file is not resumed", arguments: [0, 1, 2])
    func damaged(_ kind: Int) async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        let name = try part(bench)
        var bytes = try bench.folder.bytes(name)
        switch kind {
        case 0: bytes[50_000] ^= 1
        case 1: bytes.removeLast()
        default: break
        }
        if kind == 2 { try bench.folder.remove(name) } else { try bench.folder.overwrite(name, bytes) }
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", ""])
    }

    @Test("bytes that another program appended to a part file are removed")
    func longer() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        let name = try part(bench)
        try bench.folder.overwrite(name, try bench.folder.bytes(name) + [UInt8](repeating: 9, count: 400_000))
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=100000-"])
    }

    @Test(
        "a file, link or folder that replaced the part file is not written to", arguments: [0, 1, 2])
    func replaced(_ kind: Int) async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        let name = try part(bench)
        let foreign = DownloadBench.bytes(200_000, seed: 5)
        // The old file is kept, so that the new one gets another inode number.
        try bench.folder.rename(name, to: "kept")
        switch kind {
        case 0: try bench.folder.write(name, foreign)
        case 1:
            try bench.folder.write("foreign", foreign)
            try bench.folder.link(name, to: "foreign")
        default: try bench.folder.makeFolder(name)
        }
        _ = try await bench.session.download(resuming: token)
        #expect(try bench.folder.bytes("file.bin") == bench.expected)
        if kind < 2 { #expect(try bench.folder.bytes(kind == 0 ? name : "foreign") == foreign) }
    }

    @Test("a part with a second name is not written to, even if it is the same file")
    func linked() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        let name = try part(bench)
        #expect(link(bench.folder.file(name), bench.folder.file("second")) == 0)
        let before = try bench.folder.bytes("second")
        bench.content.withLock { content in
            content.entityTag = "\"two\""
            content.bytes = DownloadBench.bytes(50_000, seed: 1)
        }
        _ = try await bench.session.download(resuming: token)
        #expect(try bench.folder.bytes("second") == before)
        try bench.expectWhole([name, "second"])
        await token.discard()
        #expect(bench.folder.names.contains(name))
    }

    @Test("a copy of the part file is resumed if its bytes match the hash")
    func copied() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        let name = try part(bench)
        let bytes = try bench.folder.bytes(name)
        try bench.folder.remove(name)
        try bench.folder.write(name, bytes)
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=100000-"])
    }

    @Test("a part file without a hash is resumed only if it is the same, unchanged file", arguments: [true, false])
    func withoutHash(isTouched: Bool) async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        let bare = try ResumeToken(
            uri: token.uri, finalURI: nil, validator: token.validator, total: token.total, partPath: token.partPath,
            destination: token.destination, identity: token.identity,
            received: token.received.map { ResumeToken.Received(range: $0.range) })
        if isTouched {
            let name = try part(bench)
            try bench.folder.overwrite(name, try bench.folder.bytes(name) + [0])
        }
        _ = try await bench.session.download(resuming: bare)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", isTouched ? "" : "bytes=100000-"])
    }

    @Test("a token with a changed hash or length restarts the download, and the file is correct", arguments: [0, 1])
    func tampered(_ kind: Int) async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        let hash = String(repeating: "0", count: 64)
        let changed = try ResumeToken(
            uri: token.uri, finalURI: nil, validator: token.validator, total: kind == 0 ? 300_000 : 299_999,
            partPath: token.partPath, destination: token.destination, identity: token.identity,
            received: [
                ResumeToken.Received(range: 0..<100_000, sha256: kind == 0 ? hash : token.received[0].sha256)
            ])
        _ = try await bench.session.download(resuming: changed)
        try bench.expectWhole()
    }

    @Test("two downloads cannot use one part at once, and the second can use it later")
    func twoAtOnce() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        try bench.server.inject(Fault(.inResponseBody(after: 1000), .stall))
        let first = try bench.session.downloadTask(resuming: token)
        first.resume()
        await first.received(101_000)
        let error = await curlewError { _ = try await bench.session.download(resuming: token) }
        #expect(error?.code == .partFileInUse && error?.resumeToken == token)
        let again = try #require(await first.cancel())
        #expect(again.receivedCount == 101_000)
        _ = try await bench.session.download(resuming: again)
        try bench.expectWhole()
    }

    @Test("discarding a token deletes its part, and no other file")
    func discard() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        try bench.folder.write("other", [1])
        await token.discard()
        await token.discard()
        #expect(bench.folder.names == ["other"])
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole(["other"])
    }
}
