import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import SeededNumbers
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("Interrupted downloads that resume automatically", .noLeaks, .noLongTurns, .timeLimit(.minutes(3)))
struct InterruptedDownloadTests {
    @Test("a download that is interrupted anywhere, in any way, ends with the complete file", arguments: 0..<12)
    func anyPlaces(_ seed: Int) async throws {
        var random = SeededNumbers(seed: UInt64(seed))
        let bench = try await DownloadBench(1 + random.next(upTo: 600_000))
        let cuts = random.next(upTo: 8)
        for exchange in 0..<cuts {
            let effect = [Fault.Effect.close, .reset, .halfClose][random.next(upTo: 3)]
            let fault = Fault(.inResponseBody(after: random.next(upTo: bench.expected.count)), effect)
            try bench.server.inject(fault, at: .exchange(exchange))
        }
        let sha256 = try MessageDigest(.sha256)
        try sha256.update(bench.expected)
        let options = try DownloadTask.Options.quick(resumes: cuts) {
            $0.integrity.digest = try ContentDigest(hex: try sha256.finish())
        }
        #expect(try await bench.download(options).size == Int64(bench.expected.count), "seed \(seed)")
        try bench.expectWhole()
    }

    @Test("a download resumed manually from token to token ends with the complete file", arguments: 0..<6)
    func byHand(_ seed: Int) async throws {
        var random = SeededNumbers(seed: 100 + UInt64(seed))
        let bench = try await DownloadBench(200_000 + random.next(upTo: 300_000))
        var token: ResumeToken?
        for round in 0..<50 {
            let left = bench.expected.count - Int(token?.receivedCount ?? 0)
            if round < 6, left > 1 {
                try bench.server.inject(Fault(.inResponseBody(after: random.next(upTo: left - 1)), .close))
            }
            do {
                if let token {
                    _ = try await bench.session.download(resuming: token)
                } else {
                    _ = try await bench.download()
                }
                break
            } catch let error as CurlewError {
                token = error.resumeToken
                #expect(token != nil || bench.folder.names.isEmpty)
            }
        }
        try bench.expectWhole()
    }

    @Test(
        "a download resumes up to its limit, and the token has the bytes received so far",
        arguments: [0, 1, 3])
    func bounded(_ resumes: Int) async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.inResponseBody(after: 10_000), .close), at: .every)
        let error = await curlewError { _ = try await bench.download(.quick(resumes: resumes)) }
        #expect(bench.server.requestCount == resumes + 1)
        #expect(error?.resumeToken?.receivedCount == Int64(10_000 * (resumes + 1)))
        bench.server.removeFaults()
        _ = try await bench.session.download(resuming: try #require(error?.resumeToken))
        try bench.expectWhole()
    }

    @Test("a body shorter than its Content-Length is resumed, and never becomes the file by itself")
    func tooShort() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            let isRange = head.contains("Range: bytes=5-")
            try await connection.write(
                isRange
                    ? "HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\nETag: \"a\"\r\nContent-Range: bytes 5-9/10\r\n\r\n567"
                    : "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"a\"\r\n\r\n01234")
        }
        let folder = try ScratchFolder()
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.download(
                .raw(server.url()), to: .file(folder.file("f")), download: .quick(resumes: 1))
        }
        #expect(error?.code == .responseTruncated)
        #expect(error?.resumeToken?.receivedCount == 8 && !folder.names.contains("f"))
    }

    @Test("bytes beyond Content-Length do not become part of the file")
    func tooLong() async throws {
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n0123456789")
        let folder = try ScratchFolder()
        let session = try makeSession()
        _ = try await session.download(.raw(server.url()), to: .file(folder.file("f")))
        #expect(try folder.bytes("f") == Array("01234".utf8))
    }

    /// The reason why the rest of a representation cannot be requested.
    enum Unresumable: CaseIterable {
        case hasNoValidator, hasAWeakEntityTag, wasModifiedThisSecond, takesNoRanges
    }

    @Test(
        "a download without a strong validator keeps no bytes, and restarts instead of resuming",
        arguments: Unresumable.allCases)
    func noValidator(_ reason: Unresumable) async throws {
        let bench = try await DownloadBench(adjust: { content in
            switch reason {
            case .hasNoValidator, .wasModifiedThisSecond: content.entityTag = nil
            case .hasAWeakEntityTag: content.entityTag = "W/\"one\""
            case .takesNoRanges: content.entityTag = "\"one\""
            }
            content.lastModified = reason == .wasModifiedThisSecond ? "Sun, 06 Nov 1994 08:49:37 GMT" : nil
            content.date = "Sun, 06 Nov 1994 08:49:37 GMT"
            content.takesRanges = reason != .takesNoRanges
        })
        try bench.server.inject(Fault(.inResponseBody(after: 10_000), .close))
        let error = await curlewError { _ = try await bench.download() }
        #expect(error?.resumeToken == nil && bench.folder.names.isEmpty)
        try bench.server.inject(Fault(.inResponseBody(after: 10_000), .close))
        _ = try await bench.download(.quick(resumes: 1))
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "", ""])
    }

    @Test("a download that stalls resumes after the idle timeout")
    func stall() async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.inResponseBody(after: 10_000), .stall))
        var options = RequestOptions()
        options.idleTimeout = .milliseconds(200)
        _ = try await bench.download(.quick(resumes: 1), requestOptions: options)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=10000-"])
    }

    @Test("a download that meets a transient status waits for Retry-After")
    func retryAfter() async throws {
        let bench = try await DownloadBench { number, _ in
            number == 1 ? MockResponse(status: .serviceUnavailable, fields: [.retryAfter: "30"]) : nil
        }
        try bench.server.inject(Fault(.inResponseBody(after: 10_000), .close))
        let clock = TestClock()
        let task = try bench.task(.quick(resumes: 2) { $0.clock = clock })
        task.resume()
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(29))
        #expect(clock.sleeperCount == 1 && bench.server.requestCount == 2)
        clock.advance(by: .seconds(1))
        _ = try await task.file()
        try bench.expectWhole()
    }

    @Test("a wait beyond the limit, a permanent status or the total timeout ends a download", arguments: [0, 1, 2])
    func final(_ kind: Int) async throws {
        let bench = try await DownloadBench { number, _ in
            guard number == 1 else { return nil }
            return MockResponse(
                status: kind == 1 ? .notFound : .serviceUnavailable,
                fields: [.retryAfter: kind == 0 ? "61" : "20"], body: "not now")
        }
        try bench.server.inject(Fault(.inResponseBody(after: 10_000), .close))
        var options = RequestOptions()
        if kind == 2 { options.totalTimeout = .seconds(20) }
        let error = await curlewError { _ = try await bench.download(.quick(resumes: 5), requestOptions: options) }
        #expect(error?.code == .unacceptableStatus && error?.bodyPrefix == Array("not now".utf8))
        #expect(error?.resumeToken?.receivedCount == 10_000 && bench.server.requestCount == 2)
    }

    @Test("a retrying link does not multiply the attempts of a resuming download")
    func retryLink() async throws {
        let bench = try await DownloadBench(session: makeSession { quickRetry(5) }) { _, _ in
            MockResponse(status: .badGateway)
        }
        _ = await curlewError { _ = try await bench.download(.quick(resumes: 2)) }
        #expect(bench.server.requestCount == 3)
        _ = await curlewError { _ = try await bench.download(.quick()) }
        #expect(bench.server.requestCount == 3 + 5)
        var options = RequestOptions()
        options.maximumAttempts = 2
        _ = await curlewError { _ = try await bench.download(.quick(resumes: 1), requestOptions: options) }
        #expect(bench.server.requestCount == 3 + 5 + 4)
    }

    @Test("a download resumes after its HTTP/2 stream or connection was reset")
    func http2() async throws {
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        let bench = try await DownloadBench(session: session)
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .resetStream(.internalError)))
        try bench.server.inject(Fault(.inResponseBody(after: 50_000), .reset))
        _ = try await bench.download(.quick(resumes: 2))
        try bench.expectWhole()
    }
}
