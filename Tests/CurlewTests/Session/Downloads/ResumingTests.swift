import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("Downloads resumed from a token", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct ResumingTests {
    @Test(
        "the missing bytes are requested with a condition, and the file is complete", arguments: [1, 65_536, 299_999])
    func goesOn(_ count: Int) async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: count)
        #expect(token.total == 300_000 && token.destination == bench.path)
        #expect(bench.folder.names.count == 1)
        let file = try await bench.session.download(resuming: token)
        try bench.expectWhole()
        #expect(file.size == 300_000 && file.response?.status == .partialContent)
        _ = await bench.server.takeRequest()
        let request = await bench.server.takeRequest()
        #expect(request?.fields[.range] == "bytes=\(count)-" && request?.fields[.ifRange] == "\"one\"")
        #expect(request?.fields[.acceptEncoding] == "identity")
    }

    @Test("a stored token with a date as its validator is resumed in another session")
    func stored() async throws {
        let bench = try await DownloadBench(adjust: { content in
            content.entityTag = nil
            content.lastModified = "Sun, 06 Nov 1994 08:49:36 GMT"
            content.date = "Sun, 06 Nov 1994 08:49:37 GMT"
        })
        let token = try await bench.brokenOff(after: 100_000)
        let stored = try JSONDecoder().decode(ResumeToken.self, from: JSONEncoder().encode(token))
        let other = try makeSession()
        _ = try await other.download(resuming: stored)
        try bench.expectWhole()
        _ = await bench.server.takeRequest()
        #expect(await bench.server.takeRequest()?.fields[.ifRange] == "Sun, 06 Nov 1994 08:49:36 GMT")
        await other.shutdown()
    }

    @Test("a resumed download may have another destination")
    func elsewhere() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 1000)
        let file = try await bench.session.download(resuming: token, to: .folder(bench.folder.path))
        #expect(file.path == bench.path)
        try bench.expectWhole()
        let next = try bench.session.downloadTask(resuming: token, to: .file(bench.folder.file("b"))).request
        #expect(next.uri == token.uri)
    }

    @Test("a server with a changed file gets a request for the full file", arguments: [0, 1, 2])
    func changed(_ kind: Int) async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        bench.content.withLock { content in
            content.entityTag = "\"two\""
            content.bytes = DownloadBench.bytes([300_000, 50_000, 400_000][kind], seed: 1)
        }
        let file = try await bench.session.download(resuming: token)
        #expect(file.response?.status == .ok)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=100000-"])
    }

    @Test(
        "a mismatching answer is never written, and the download restarts",
        arguments: [
            ("bytes 99999-299999/300000", [:]), ("bytes 0-299999/300000", [:]), ("bytes 100000-299999/300001", [:]),
            ("bytes 100000-299999/300000", [.eTag: "\"two\""]), ("bytes 100000-299999/300000", [.eTag: "W/\"one\""]),
            ("bytes 100000-299999/300000", [.contentEncoding: "gzip"]), ("nonsense", [:]),
            ("bytes 100000-299999/300000", [.contentType: "multipart/byteranges; boundary=x"]),
            ("bytes 100000-299998/300000", [.contentLength: "200000"]),
        ] as [(String, HTTPFields)])
    func misfits(_ range: String, _ fields: HTTPFields) async throws {
        let bench = try await DownloadBench { number, _ in
            guard number == 1 else { return nil }
            var response = MockResponse(
                status: .partialContent, fields: [.contentRange: range, .eTag: "\"one\""],
                body: .bytes([UInt8](repeating: 0, count: 200_000)))
            for field in fields { response.fields[field.name] = field.value }
            return response
        }
        let token = try await bench.brokenOff(after: 100_000)
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=100000-", ""])
        await bench.end()
    }

    @Test("a server that ignores If-Range and sends a range of another file is detected")
    func ignoresCondition() async throws {
        let bench = try await DownloadBench { number, request in
            guard number == 1 else { return nil }
            var second = RangedContent(DownloadBench.bytes(300_000, seed: 1), entityTag: "\"two\"")
            second.fields[.vary] = "nothing"
            var fields = request.fields
            fields[.ifRange] = nil
            return second.response(method: request.method, fields: fields)
        }
        let token = try await bench.brokenOff(after: 100_000)
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
    }

    @Test("a body longer than its Content-Range is not written, and the download restarts without ranges")
    func overlong() async throws {
        let bench = try await DownloadBench { number, _ in
            guard number == 1 else { return nil }
            var response = MockResponse(
                status: .partialContent,
                fields: [.contentRange: "bytes 100000-299999/300000", .eTag: "\"one\""],
                body: .bytes([UInt8](repeating: 0, count: 200_001)))
            response.framing = .chunked
            return response
        }
        let token = try await bench.brokenOff(after: 100_000)
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=100000-", ""])
    }

    @Test("a server that no longer supports ranges sends the full file, into the same part file")
    func noRanges() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        bench.content.withLock { $0.takesRanges = false }
        #expect(try await bench.session.download(resuming: token).response?.status == .ok)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=100000-"])
    }

    @Test("a 416 for another file restarts the download, and a refusal of the full file ends it")
    func refusedWhole() async throws {
        let bench = try await DownloadBench { number, _ in
            guard number > 0 else { return nil }
            return MockResponse(status: .rangeNotSatisfiable, fields: [.contentRange: "bytes */5"], body: "none")
        }
        let token = try await bench.brokenOff(after: 100_000)
        let error = await curlewError { _ = try await bench.session.download(resuming: token) }
        #expect(error?.code == .unacceptableStatus && error?.response?.status == .rangeNotSatisfiable)
        #expect(bench.server.requestCount == 3 && bench.folder.names.isEmpty)
    }

    @Test("mismatching answers end the download after it restarted three times")
    func neverFits() async throws {
        let bench = try await DownloadBench { _, request in
            guard request.fields[.range] != nil else { return nil }
            return MockResponse(
                status: .partialContent, fields: [.contentRange: "bytes 10000-10003/20000", .eTag: "\"one\""],
                body: "part")
        }
        try bench.server.inject(Fault(.inResponseBody(after: 10_000), .close), at: .every)
        let error = await curlewError { _ = try await bench.download(.quick(resumes: 20)) }
        #expect(error?.code == .rangesFailed && bench.server.requestCount == 8)
        await error?.resumeToken?.discard()
        #expect(bench.folder.names.isEmpty)
    }

    @Test(
        "a download that fills the disk keeps its bytes, and is resumed when there is more room",
        .enabled(if: TemporaryDisk.isPermitted))
    func fullDisk() async throws {
        let disk = try TemporaryDisk(size: 1 << 20)
        let bench = try await DownloadBench(3 << 20) { number, _ in
            guard number == 0 else { return nil }
            var response = MockResponse(
                fields: [.eTag: "\"one\"", .acceptRanges: "bytes"], body: .bytes(DownloadBench.bytes(3 << 20)))
            response.framing = .chunked
            return response
        }
        let path = disk.folder.file("file.bin")
        let error = await curlewError {
            _ = try await bench.session.download(
                .raw(bench.server.url()), to: .file(path), download: .quick(resumes: 3))
        }
        #expect(error?.code == .diskFull && bench.server.requestCount == 1)
        let token = try #require(error?.resumeToken)
        #expect(token.receivedCount > 0 && token.receivedCount <= 1 << 20)
        // The flag is MS_REMOUNT.
        #expect(mount("tmpfs", disk.path, "tmpfs", 32, "size=\(16 << 20)") == 0)
        _ = try await bench.session.download(resuming: token)
        #expect(try disk.folder.bytes("file.bin") == bench.expected)
        #expect(disk.folder.names == ["file.bin"])
        #expect(await bench.ranges() == ["", "bytes=\(token.receivedCount)-"])
    }

    @Test("a wrong expected length is detected when the first answer comes")
    func wrongLength() async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 100_000)
        try bench.server.inject(Fault(.inResponseBody(after: 1000), .stall))
        let options = DownloadTask.Options.quick { $0.integrity.length = 299_999 }
        let error = await curlewError { _ = try await bench.session.download(resuming: token, download: options) }
        #expect(error?.code == .lengthMismatch && bench.folder.names.isEmpty)
    }

    @Test("the digest fields of a 416 are not compared with the file")
    func completeWithDigest() async throws {
        let bench = try await DownloadBench { number, _ in
            let zeros = Data([UInt8](repeating: 0, count: 32)).base64EncodedString()
            let refusal: HTTPFields = [
                .contentRange: "bytes */300000", HTTPField.Name("Repr-Digest")!: "sha-256=:\(zeros):",
                HTTPField.Name("Content-Digest")!: "sha-256=:\(zeros):",
            ]
            if number > 0 { return MockResponse(status: .rangeNotSatisfiable, fields: refusal, body: .none) }
            return MockResponse(
                fields: [.eTag: "\"one\"", .acceptRanges: "bytes"],
                body: .stream { writer in
                    try await writer.write(DownloadBench.bytes(300_000))
                    throw CancellationError()
                })
        }
        let error = await curlewError { _ = try await bench.download() }
        _ = try await bench.session.download(resuming: try #require(error?.resumeToken))
        try bench.expectWhole()
    }

    @Test("a 416 with the length of the received bytes completes a download of unknown length")
    func complete() async throws {
        let bench = try await DownloadBench { number, _ in
            guard number == 0 else { return nil }
            return MockResponse(
                fields: [.eTag: "\"one\"", .acceptRanges: "bytes"],
                body: .stream { writer in
                    try await writer.write(DownloadBench.bytes(300_000))
                    throw CancellationError()
                })
        }
        let error = await curlewError { _ = try await bench.download() }
        let token = try #require(error?.resumeToken)
        #expect(token.total == nil && token.receivedCount == 300_000)
        #expect(try await bench.session.download(resuming: token).response?.status == .rangeNotSatisfiable)
        try bench.expectWhole()
    }

    @Test("a download that has all its bytes requests the last byte once more", arguments: [true, false])
    func allThere(isSame: Bool) async throws {
        let bench = try await DownloadBench()
        let token = try await bench.brokenOff(after: 299_999)
        let bytes = bench.expected
        try bench.folder.write(String(try #require(bench.folder.names.first)), bytes)
        let sha256 = try MessageDigest(.sha256)
        try sha256.update(bytes)
        let whole = try ResumeToken(
            uri: token.uri, finalURI: nil, validator: token.validator, total: 300_000, partPath: token.partPath,
            destination: token.destination, identity: FileSnapshot(path: token.partPath),
            received: [ResumeToken.Received(range: 0..<300_000, sha256: sha256.finish())])
        if !isSame {
            bench.content.withLock { content in
                content.entityTag = "\"two\""
                content.bytes = DownloadBench.bytes(300_000, seed: 1)
            }
        }
        #expect(try await bench.session.download(resuming: whole).size == 300_000)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=299999-"])
    }

    @Test("a digest of the full file is verified although the file came in two parts, and a wrong one is detected")
    func digest() async throws {
        let bench = try await DownloadBench()
        let sha256 = try MessageDigest(.sha256)
        try sha256.update(bench.expected)
        let digest = try (ContentDigest(hex: try sha256.finish()))
        let token = try await bench.brokenOff(after: 100_000)
        let options = DownloadTask.Options.quick { $0.integrity.digest = digest }
        #expect(try await bench.session.download(resuming: token, download: options).digest == digest)
        try bench.expectWhole()
        let other = try await DownloadBench(adjust: { $0.bytes[5] ^= 1 })
        let otherToken = try await other.brokenOff(after: 100_000)
        let error = await curlewError { _ = try await other.session.download(resuming: otherToken, download: options) }
        #expect(error?.code == .digestMismatch && error?.resumeToken == nil && other.folder.names.isEmpty)
    }

    @Test("the Repr-Digest of a part covers the full file, and its Content-Digest only the part")
    func reprDigest() async throws {
        let bench = try await DownloadBench()
        let sha256 = try MessageDigest(.sha256)
        try sha256.update(bench.expected)
        let base64 = Data(try sha256.finishedBytes()).base64EncodedString()
        let field = HTTPField.Name("Repr-Digest")!
        let other = HTTPField.Name("Content-Digest")!
        let zeros = Data([UInt8](repeating: 0, count: 32)).base64EncodedString()
        let token = try await bench.brokenOff(after: 100_000)
        bench.content.withLock { $0.fields = [field: "sha-256=:\(base64):", other: "sha-256=:\(zeros):"] }
        #expect(try await bench.session.download(resuming: token).digest?.bytes.count == 32)
        try bench.expectWhole()
        bench.content.withLock { $0.fields = [field: "sha-256=:\(zeros):"] }
        let second = try await DownloadBench()
        let wrong = try await second.brokenOff(after: 100_000)
        second.content.withLock { $0.fields = [field: "sha-256=:\(zeros):"] }
        let error = await curlewError { _ = try await second.session.download(resuming: wrong) }
        #expect(error?.code == .digestMismatch && second.folder.names.isEmpty)
    }
}
