import CurlewTesting
import HTTPTypes
import SeededNumbers
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

/// A server with one file that may change during the test, a folder for downloads, and a session.
struct DownloadBench {
    let content: Guarded<RangedContent>
    let server: MockServer
    let folder: ScratchFolder
    let session: HTTPSession

    /// - Parameters:
    ///   - count: The bytes of the file.
    ///   - answer: Answers instead of the file unless it returns nil: the number of the request, from 0, and the
    ///     request.
    init(
        _ count: Int = 300_000, session: HTTPSession? = nil, adjust: (inout RangedContent) -> Void,
        answer: @escaping @Sendable (Int, InboundRequest) async -> MockResponse? = { _, _ in nil }
    ) async throws {
        var first = RangedContent(Self.bytes(count), entityTag: "\"one\"")
        adjust(&first)
        let content = Guarded(first)
        let number = Guarded(0)
        self.content = content
        server = try await MockServer.start { request in
            let current = number.withLock { number in
                defer { number += 1 }
                return number
            }
            if let answer = await answer(current, request) { return answer }
            return content.withLock { $0 }.response(to: request)
        }
        folder = try ScratchFolder()
        self.session = try session ?? makeSession()
    }

    init(
        _ count: Int = 300_000, session: HTTPSession? = nil,
        answer: @escaping @Sendable (Int, InboundRequest) async -> MockResponse? = { _, _ in nil }
    ) async throws {
        try await self.init(count, session: session, adjust: { _ in }, answer: answer)
    }

    /// Bytes that differ at every position from those of another seed.
    static func bytes(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
        var random = SeededNumbers(seed: 11)
        var bytes = [UInt8](repeating: 0, count: count)
        var index = 0
        while index < count {
            var word = random.next()
            for offset in index..<min(index + 8, count) {
                bytes[offset] = UInt8(truncatingIfNeeded: word) &+ seed
                word >>= 8
            }
            index += 8
        }
        return bytes
    }

    var path: String { folder.file("file.bin") }
    var expected: [UInt8] { content.withLock { $0.bytes } }

    /// Downloads the file.
    func download(
        _ options: DownloadTask.Options = DownloadTask.Options(), requestOptions: RequestOptions = RequestOptions()
    ) async throws -> DownloadedFile {
        try await session.download(
            .raw(server.url("/file.bin")), to: .file(path), download: options, options: requestOptions)
    }

    func task(
        _ options: DownloadTask.Options = DownloadTask.Options(), requestOptions: RequestOptions = RequestOptions()
    ) throws -> DownloadTask {
        try session.downloadTask(
            .raw(server.url("/file.bin")), to: .file(path), download: options, options: requestOptions)
    }

    /// A token of a download that was reset after this number of bytes.
    func brokenOff(
        after count: Int, _ options: DownloadTask.Options = DownloadTask.Options(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ResumeToken {
        try server.inject(Fault(.inResponseBody(after: count), .close))
        let error = await curlewError(sourceLocation: sourceLocation) { _ = try await download(options) }
        let token = try #require(error?.resumeToken, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(token.receivedCount == Int64(count), sourceLocation: sourceLocation)
        #expect(!folder.names.contains("file.bin"), sourceLocation: sourceLocation)
        return token
    }

    /// The Range fields of the requests so far; an empty text for none.
    func ranges() async -> [String] {
        var ranges: [String] = []
        for _ in 0..<server.requestCount { ranges.append(await server.takeRequest()?.fields[.range] ?? "") }
        return ranges
    }

    /// Expects that the file is complete, and alone in its folder.
    func expectWhole(_ also: [String] = [], sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try folder.bytes("file.bin") == expected, sourceLocation: sourceLocation)
        #expect(folder.names == (also + ["file.bin"]).sorted(), sourceLocation: sourceLocation)
    }

    func end() async {
        await session.shutdown()
        await server.shutdown()
    }
}

extension DownloadTask.Options {
    /// Options with minimal waits.
    static func quick(
        resumes: Int = 0, _ adjust: (inout DownloadTask.Options) throws -> Void = { _ in }
    ) rethrows -> DownloadTask.Options {
        var options = DownloadTask.Options()
        options.retries.attempts = resumes + 1
        options.retries.backoff = Retry.Backoff(base: .zero)
        try adjust(&options)
        return options
    }

    /// Options for segments of a small file.
    static func segmented(
        _ count: Int, of size: Int = 64 << 10, resumes: Int = 0,
        _ adjust: (inout DownloadTask.Options) throws -> Void = { _ in }
    ) rethrows -> DownloadTask.Options {
        try quick(resumes: resumes) { options in
            options.segments = count
            options.smallestSegment = ByteSize(size)
            try adjust(&options)
        }
    }
}

extension DownloadTask {
    /// Returns when this number of bytes has arrived.
    func received(_ count: Int64) async {
        for await progress in progress where progress.received.wire >= count { return }
    }
}
