import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Token files of downloads", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct TokenFileTests {
    private func options(_ bench: DownloadBench, segments: Int = 1, isSafe: Bool = false) -> DownloadTask.Options {
        .segmented(segments) { options in
            options.tokenFile = bench.folder.file("token")
            options.checkpoint = .kibibytes(64)
            options.synchronizesCheckpoints = isSafe
        }
    }

    @Test(
        "the token file exists from the head on, grows with the file, and is removed when the file is complete",
        arguments: [false, true])
    func life(isSafe: Bool) async throws {
        let bench = try await DownloadBench(1_000_000)
        try bench.server.inject(Fault(.inResponseBody(after: 0), .stall))
        let options = options(bench, isSafe: isSafe)
        let first = try bench.task(options)
        first.resume()
        let path = bench.folder.file("token")
        try await eventually("there is a token's file") { bench.folder.names.contains("token") }
        #expect(try await ResumeToken(contentsOf: path).receivedCount == 0)
        #expect(await first.cancel() == nil)
        #expect(bench.folder.names.isEmpty)
        try bench.server.inject(Fault(.inResponseBody(after: 500_000), .stall))
        let second = try bench.task(options)
        second.resume()
        await second.received(500_000)
        #expect(try await token(at: path, of: 500_000 - 64 << 10).receivedCount <= 500_000)
        let last = try #require(await second.cancel())
        #expect(try await ResumeToken(contentsOf: path) == last && last.receivedCount == 500_000)
        _ = try await bench.session.download(resuming: last, download: options)
        try bench.expectWhole()
    }

    /// The token in a file as soon as it covers this number of bytes: the last checkpoint may be pending.
    private func token(at path: String, of count: Int64) async throws -> ResumeToken {
        var token = try await ResumeToken(contentsOf: path)
        try await eventually("the token knows of \(count) bytes") {
            token = try await ResumeToken(contentsOf: path)
            return token.receivedCount >= count
        }
        return token
    }

    /// The files of a killed process: its token file, and a part file with more bytes.
    private func leftovers(of bench: DownloadBench, segments: Int) async throws -> ResumeToken {
        let task = try bench.task(options(bench, segments: segments))
        task.resume()
        await task.received(Int64(segments) * 100_000)
        _ = try await token(at: bench.folder.file("token"), of: 64 << 10)
        let text = String(decoding: try bench.folder.bytes("token"), as: UTF8.self)
        let name = try #require(bench.folder.names.first { $0.hasSuffix(".part") })
        let copy = ".copy.1.part"
        try bench.folder.write(copy, try bench.folder.bytes(name))
        await task.cancel()?.discard()
        let moved = text.replacing(name, with: copy)
        return try JSONDecoder().decode(ResumeToken.self, from: Data(moved.utf8))
    }

    @Test("a download that a killed process left behind can be resumed", arguments: [1, 3])
    func killed(_ segments: Int) async throws {
        let bench = try await DownloadBench(600_000)
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .stall), at: .every)
        let token = try await leftovers(of: bench, segments: segments)
        #expect(token.receivedCount >= 64 << 10)
        bench.server.removeFaults()
        _ = try await bench.session.download(resuming: token, download: options(bench, segments: segments))
        try bench.expectWhole()
        #expect(!(await bench.ranges()).dropFirst(segments).contains(""))
    }

    @Test(
        "a download that ended before its token was removed is recognized as finished, and a similar file is not"
    )
    func finished() async throws {
        let bench = try await DownloadBench(600_000)
        try bench.server.inject(Fault(.inResponseBody(after: 500_000), .stall))
        let task = try bench.task(options(bench))
        task.resume()
        await task.received(500_000)
        let token = try #require(await task.cancel())
        #expect(!(await token.isFinished))
        // The test completes the file as a process would have done before it was killed.
        let part = bench.folder.names.first { $0.hasSuffix(".part") }
        let bytes = try bench.folder.bytes(try #require(part))
        try bench.folder.write("file.bin", bytes + [UInt8](repeating: 0, count: 100_000))
        #expect(!(await token.isFinished))
        try bench.folder.remove("file.bin")
        try bench.folder.rename(try #require(part), to: "file.bin")
        #expect(!(await token.isFinished))
        #expect(truncate(bench.folder.file("file.bin"), 600_000) == 0)
        #expect(await token.isFinished)
    }

    @Test("an unwritable token file ends the download early")
    func unwritable() async throws {
        let bench = try await DownloadBench()
        var options = options(bench)
        options.tokenFile = bench.folder.file("none/token")
        let error = await curlewError { _ = try await bench.download(options) }
        #expect(error?.code == .resumeTokenFileFailed && !bench.folder.names.contains("file.bin"))
        await error?.resumeToken?.discard()
        #expect(bench.folder.names.isEmpty)
    }

    @Test(
        "a download refuses its own destination as the token file, and never removes the file as a token",
        arguments: [true, false])
    func samePlace(isPlain: Bool) async throws {
        let bench = try await DownloadBench()
        try bench.folder.write("file.bin", [1])
        var destination = Destination.file(bench.path)
        destination.existing = .replace
        var options = options(bench)
        options.tokenFile = isPlain ? bench.path : bench.folder.file("./file.bin")
        let url = bench.server.url("/file.bin")
        if isPlain {
            let error = await curlewError {
                _ = try await bench.session.download(.raw(url), to: destination, download: options)
            }
            #expect(error?.code == .invalidDestination)
            #expect(try bench.folder.bytes("file.bin") == [1] && bench.folder.names == ["file.bin"])
        } else {
            _ = try await bench.session.download(.raw(url), to: destination, download: options)
            try bench.expectWhole()
        }
    }

    @Test("a file that cannot be resumed leaves no token, and removes an old one")
    func notContinuable() async throws {
        let bench = try await DownloadBench(adjust: { $0.entityTag = nil })
        try bench.folder.write("token", [1])
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .close))
        _ = await curlewError { _ = try await bench.download(options(bench)) }
        #expect(bench.folder.names.isEmpty)
    }

    @Test("the same call starts a download, resumes it from its token file, and returns the finished file")
    func oneCall() async throws {
        let bench = try await DownloadBench(1_000_000)
        let path = bench.folder.file("token")
        var options = options(bench)
        options.tokenFile = nil
        try bench.server.inject(Fault(.inResponseBody(after: 500_000), .reset))
        let error = await curlewError {
            _ = try await bench.session.download(
                .raw(bench.server.url()), to: .file(bench.folder.file("f")), tokenFile: path, download: options)
        }
        #expect(error?.resumeToken != nil)
        let file = try await bench.session.download(
            .raw(bench.server.url()), to: .file(bench.folder.file("f")), tokenFile: path, download: options)
        #expect(file.response?.status == .partialContent && file.size == 1_000_000)
        #expect(bench.server.requestCount == 2 && bench.folder.names == ["f"])
    }

    @Test("an existing file with the required digest is returned without a request")
    func downloadedBefore() async throws {
        let bench = try await DownloadBench(300_000)
        let destination = Destination.file(bench.folder.file("file.bin"))
        let (uri, path) = (URIReference.raw(bench.server.url()), bench.folder.file("token"))
        let first = try await bench.session.download(uri, to: destination, tokenFile: path)
        let digest = MessageDigestText.sha256(try bench.folder.bytes("file.bin"))
        let again = try await bench.session.download(
            uri, to: destination, integrity: try .sha256(digest), tokenFile: path)
        #expect(first.path == again.path && again.size == 300_000 && again.response == nil)
        #expect(bench.server.requestCount == 1 && bench.folder.names == ["file.bin"])
        // Without a token file, and with another digest, the existing file is an error.
        for (integrity, tokenFile) in [
            (try IntegrityRequirement.sha256(digest), nil), (try .sha256(String(repeating: "0", count: 64)), path),
        ] {
            let error = await curlewError {
                _ = try await bench.session.download(uri, to: destination, integrity: integrity, tokenFile: tokenFile)
            }
            #expect(error?.code == .fileExists)
        }
    }

    @Test("a token file of another URL, or without a token, is overwritten", arguments: [true, false])
    func otherToken(isToken: Bool) async throws {
        let bench = try await DownloadBench(300_000)
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .stall), at: .every)
        let token = try await leftovers(of: bench, segments: 1)
        bench.server.removeFaults()
        let path = bench.folder.file("token")
        if !isToken { try bench.folder.write("token", Array("no token".utf8)) }
        let url = bench.server.url(isToken ? "/other" : "/")
        let file = try await bench.session.download(
            .raw(url), to: .file(bench.folder.file("file.bin")), tokenFile: path)
        #expect(file.response?.status == .ok && file.size == 300_000)
        await token.discard()
    }

    @Test("a complete file is returned without a request")
    func finishedBefore() async throws {
        let bench = try await DownloadBench(600_000)
        try bench.server.inject(Fault(.inResponseBody(after: 500_000), .stall))
        let task = try bench.task(options(bench))
        task.resume()
        await task.received(500_000)
        let token = try #require(await task.cancel())
        let path = bench.folder.file("token")
        try await token.write(to: path)
        // The process ended after the file got its name, and before the token file was removed.
        let part = try #require(bench.folder.names.first { $0.hasSuffix(".part") })
        try bench.folder.rename(part, to: "file.bin")
        #expect(truncate(bench.folder.file("file.bin"), 600_000) == 0)
        let destination = Destination.file(bench.folder.file("file.bin"))
        let (uri, wrong) = (URIReference.uri(token.uri), String(repeating: "0", count: 64))
        // A file with other contents does not belong to this download, and blocks it.
        let refusals: [(IntegrityRequirement, ErrorCode)] = [
            (try .sha256(wrong), .fileExists), (IntegrityRequirement(length: 5), .lengthMismatch),
        ]
        for (integrity, code) in refusals {
            let error = await curlewError {
                _ = try await bench.session.download(uri, to: destination, integrity: integrity, tokenFile: path)
            }
            #expect(error?.code == code)
            try await token.write(to: path)
        }
        let digest = MessageDigestText.sha256(try bench.folder.bytes("file.bin"))
        let requests = bench.server.requestCount
        let file = try await bench.session.download(
            uri, to: destination, integrity: try .sha256(digest), tokenFile: path)
        #expect(file.response == nil && file.size == 600_000)
        #expect(try file.digest == ContentDigest(hex: digest))
        #expect(bench.server.requestCount == requests && bench.folder.names == ["file.bin"])
    }

    @Test("a token of another destination is not resumed")
    func otherDestination() async throws {
        let bench = try await DownloadBench(600_000)
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .stall), at: .every)
        let token = try await leftovers(of: bench, segments: 1)
        bench.server.removeFaults()
        let file = try await bench.session.download(
            .uri(token.uri), to: .file(bench.folder.file("other")), tokenFile: bench.folder.file("token"))
        #expect(file.response?.status == .ok && file.path == bench.folder.file("other"))
        await token.discard()
    }
}

/// The digest of bytes in the format of `sha256sum`.
private enum MessageDigestText {
    static func sha256(_ bytes: [UInt8]) -> String {
        let digest = try? MessageDigest(.sha256)
        try? digest?.update(bytes)
        return (try? digest?.finish()) ?? ""
    }
}
