import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import SeededNumbers
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Downloads over several connections", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct SegmentedDownloadTests {
    private static let size = 64 << 10

    @Test("each connection fetches its segment, the first without a range")
    func segments() async throws {
        let bench = try await DownloadBench(4 * Self.size)
        let sha256 = try MessageDigest(.sha256)
        try sha256.update(bench.expected)
        let digest = try (ContentDigest(hex: try sha256.finish()))
        let file = try await bench.download(.segmented(4) { $0.integrity.digest = digest })
        #expect(file.digest == digest && file.response?.status == .ok)
        try bench.expectWhole()
        #expect(await bench.ranges().sorted() == ["", "bytes=131072-196607", "bytes=196608-", "bytes=65536-131071"])
    }

    @Test("segments have at least 8 MiB, and smaller settings are raised")
    func least() async throws {
        var options = DownloadTask.Options()
        options.segmentSize = .kibibytes(1)
        options.segments = 4
        #expect(options.segmentSize == .mebibytes(8))
        let bench = try await DownloadBench(200_000)
        _ = try await bench.download(options)
        #expect(await bench.ranges() == [""])
        try bench.expectWhole()
    }

    /// The property of a server that prevents several connections.
    enum Unfit: CaseIterable {
        case takesNoRanges, hasOnlyAWeakValidator, saysNoLength, sendsTheWholeForARange, sendsSeveralPartsForARange

        var isSeenAtOnce: Bool { [.takesNoRanges, .hasOnlyAWeakValidator, .saysNoLength].contains(self) }
    }

    @Test(
        "a download uses one connection if the server lacks ranges, a validator or a length, or refuses",
        arguments: Unfit.allCases)
    func fallback(_ reason: Unfit) async throws {
        let adjust: (inout RangedContent) -> Void = { content in
            if reason == .takesNoRanges { content.takesRanges = false }
            if reason == .hasOnlyAWeakValidator { content.entityTag = "W/\"one\"" }
        }
        let bench = try await DownloadBench(4 * Self.size, adjust: adjust) { _, request in
            switch reason {
            case .saysNoLength:
                var response = MockResponse(
                    fields: [.eTag: "\"one\"", .acceptRanges: "bytes"],
                    body: .bytes(DownloadBench.bytes(4 * Self.size)))
                response.framing = .chunked
                return response
            case .sendsTheWholeForARange where request.fields[.range] != nil:
                return MockResponse(fields: [.eTag: "\"one\""], body: .bytes(DownloadBench.bytes(4 * Self.size)))
            case .sendsSeveralPartsForARange where request.fields[.range] != nil:
                return MockResponse(
                    status: .partialContent,
                    fields: [.eTag: "\"one\"", .contentType: "multipart/byteranges; boundary=a"], body: "--a--")
            default: return nil
            }
        }
        _ = try await bench.download(.segmented(4))
        try bench.expectWhole()
        if reason.isSeenAtOnce { #expect(await bench.ranges() == [""]) }
    }

    @Test("each interrupted segment is resumed by itself", arguments: 0..<8)
    func cuts(_ seed: Int) async throws {
        var random = SeededNumbers(seed: 200 + UInt64(seed))
        let bench = try await DownloadBench(300_000 + random.next(upTo: 300_000))
        let cuts = 1 + random.next(upTo: 8)
        for exchange in 0..<cuts {
            let fault = Fault(
                .inResponseBody(after: random.next(upTo: 100_000)), [.close, .reset][random.next(upTo: 2)])
            try bench.server.inject(fault, at: .exchange(exchange))
        }
        let sha256 = try MessageDigest(.sha256)
        try sha256.update(bench.expected)
        let options = try DownloadTask.Options.segmented(1 + random.next(upTo: 6), resumes: cuts) {
            $0.integrity.digest = try ContentDigest(hex: try sha256.finish())
        }
        _ = try await bench.download(options)
        try bench.expectWhole()
    }

    @Test(
        "a permanently failed segment cancels the others, and the token's gaps are resumed by one or several",
        arguments: [1, 4])
    func severalRanges(_ segments: Int) async throws {
        let size = Self.size
        let (opened, gate) = AsyncStream.makeStream(of: Void.self)
        let isForbidden = Guarded(true)
        let bench = try await DownloadBench(4 * size) { _, request in
            guard isForbidden.withLock({ $0 }), request.fields[.range] == "bytes=\(size)-\(2 * size - 1)" else {
                return nil
            }
            for await _ in opened {}
            return MockResponse(status: .forbidden, body: "not this one")
        }
        try bench.server.inject(Fault(.inResponseBody(after: 1000), .stall), at: .exchange(0))
        let task = try bench.task(.segmented(4, resumes: 3))
        task.resume()
        await task.received(Int64(2 * size + 1000))
        gate.finish()
        let error = await curlewError { _ = try await task.file() }
        #expect(error?.code == .unacceptableStatus && error?.bodyPrefix == Array("not this one".utf8))
        let token = try #require(error?.resumeToken)
        #expect(token.received.map(\.range).count >= 2 && token.receivedCount == Int64(2 * size + 1000))
        #expect(!bench.folder.names.contains("file.bin"))
        isForbidden.withLock { $0 = false }
        bench.server.removeFaults()
        let file = try await bench.session.download(resuming: token, download: .segmented(segments))
        #expect(file.size == Int64(4 * size))
        try bench.expectWhole()
    }

    @Test("a file that changes while its segments are fetched is fetched again")
    func changes() async throws {
        let size = Self.size
        let content = Guarded<Guarded<RangedContent>?>(nil)
        let bench = try await DownloadBench(4 * size) { number, _ in
            if number == 2 {
                content.withLock { $0 }?.withLock { content in
                    content.entityTag = "\"two\""
                    content.bytes = DownloadBench.bytes(4 * size, seed: 3)
                }
            }
            return nil
        }
        content.withLock { $0 = bench.content }
        _ = try await bench.download(.segmented(4))
        try bench.expectWhole()
    }

    @Test("a server that sends less than requested gets a request for the rest")
    func shorter() async throws {
        let size = Self.size
        let bench = try await DownloadBench(8 * size) { _, request in
            guard let range = request.fields[.range], range.hasSuffix("-"),
                let start = Int(range.dropFirst("bytes=".count).dropLast()), start + size < 8 * size
            else { return nil }
            return MockResponse(
                status: .partialContent,
                fields: [.eTag: "\"one\"", .contentRange: "bytes \(start)-\(start + size - 1)/\(8 * size)"],
                body: .bytes(Array(DownloadBench.bytes(8 * size)[start..<start + size])))
        }
        let token = try await bench.brokenOff(after: 1000)
        _ = try await bench.session.download(resuming: token)
        try bench.expectWhole()
        #expect(bench.server.requestCount == 9)
    }

    @Test("cancelling a segmented download ends all its connections, and its token can be resumed")
    func cancelled() async throws {
        let bench = try await DownloadBench(4 * Self.size)
        try bench.server.inject(Fault(.inResponseBody(after: 30_000), .stall), at: .every)
        let task = try bench.task(.segmented(4))
        task.resume()
        await task.received(4 * 30_000)
        #expect(await bench.session.session?.tasks(.download).count == 4)
        let token = try #require(await task.cancel())
        #expect(token.received.count == 4 && token.receivedCount == 4 * 30_000)
        bench.server.removeFaults()
        _ = try await bench.session.download(resuming: token, download: .segmented(4))
        try bench.expectWhole()
    }
}
