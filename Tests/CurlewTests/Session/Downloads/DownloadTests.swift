import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("Downloads into files", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct DownloadTests {
    @Test("a file arrives complete, without extra files, and with its metadata", arguments: [0, 1, 300_000, 3_000_000])
    func whole(_ count: Int) async throws {
        let bench = try await DownloadBench(count)
        let file = try await bench.download()
        #expect(file.path == bench.path && file.size == Int64(count))
        #expect(file.response?.status == .ok && file.response?.headerFields[.eTag] == "\"one\"")
        #expect(file.uri.path == "/file.bin" && file.history.isEmpty && file.digest == nil)
        try bench.expectWhole()
    }

    @Test(
        "a file whose name begins with a combining mark arrives complete, without its part file",
        arguments: ["field", "URL", "path"])
    func combiningName(from source: String) async throws {
        let bench = try await DownloadBench(1000) { _, _ in
            let bytes = DownloadBench.bytes(1000)
            let fields: HTTPFields = [.contentDisposition: "attachment; filename*=UTF-8''%CC%81b.txt"]
            return MockResponse(fields: source == "field" ? fields : [:], body: .bytes(bytes))
        }
        let name = "\u{301}b.txt"
        let file = try await bench.session.download(
            .raw(bench.server.url(source == "URL" ? "/%CC%81b.txt" : "/file.bin")),
            to: source == "path" ? .file(bench.folder.file(name)) : .folder(bench.folder.path))
        #expect(file.path.utf8.elementsEqual("\(bench.folder.path)/\(name)".utf8))
        #expect(bench.folder.names.map { Array($0.utf8) } == [Array(name.utf8)])
        #expect(try bench.folder.bytes(name) == bench.expected)
    }

    @Test("a body without a length arrives complete")
    func chunked() async throws {
        let bench = try await DownloadBench { _, _ in
            var response = MockResponse(body: .bytes(DownloadBench.bytes(300_000)))
            response.framing = .chunked
            return response
        }
        #expect(try await bench.download().size == 300_000)
        try bench.expectWhole()
    }

    @Test("a download accepts no content coding, in tasks of kind download")
    func request() async throws {
        let bench = try await DownloadBench(100) { _, _ in
            var response = MockResponse(body: .bytes(DownloadBench.bytes(100)))
            response.headDelay = .milliseconds(20)
            return response
        }
        let kind = Guarded<TaskActor.Kind?>(nil)
        var options = RequestOptions()
        options.onTask = { task in kind.withLock { $0 = task.kind } }
        _ = try await bench.download(requestOptions: options)
        #expect(kind.withLock { $0 } == .download)
        let request = await bench.server.takeRequest()
        #expect(request?.fields[.acceptEncoding] == "identity" && request?.fields[.range] == nil)
    }

    @Test("a download does not call onResponse, neither at first nor when it resumes")
    func disposition() async throws {
        let bench = try await DownloadBench()
        try bench.server.inject(Fault(.inResponseBody(after: 1000), .close))
        var options = RequestOptions()
        options.onResponse = { _, _ in .cancel }
        _ = try await bench.download(.quick(resumes: 1), requestOptions: options)
        try bench.expectWhole()
    }

    @Test("the session publishes the path of the file")
    func moved() async throws {
        let bench = try await DownloadBench()
        var events = try #require(bench.session.session?.events).makeAsyncIterator()
        _ = try await bench.download()
        var last: SessionEvent?
        while last?.kind != .moved { last = await events.next() }
        #expect(last?.file == bench.path && last?.task?.kind == .download)
    }

    @Test("an unsuccessful status leaves no file, and the error has the beginning of the body")
    func refused() async throws {
        for status in [301, 304, 400, 404, 500, 503] {
            let bench = try await DownloadBench { _, _ in
                MockResponse(status: .init(code: status), body: status == 304 ? .none : "no such thing")
            }
            let error = await curlewError { _ = try await bench.download() }
            #expect(error?.code == .unacceptableStatus && error?.response?.status.code == status)
            #expect(status == 304 || error?.bodyPrefix == Array("no such thing".utf8))
            #expect(error?.resumeToken == nil && bench.folder.names.isEmpty)
            await bench.end()
        }
    }

    @Test(
        "an unrequested 206, and a response without content, are not saved",
        arguments: [204, 205, 206])
    func unasked(_ status: Int) async throws {
        let bench = try await DownloadBench { _, _ in
            MockResponse(
                status: .init(code: status), fields: [.contentRange: "bytes 0-3/4"],
                body: status == 206 ? "part" : .none)
        }
        let error = await curlewError { _ = try await bench.download() }
        #expect(error?.code == (status == 206 ? .invalidResponse : .emptyBody))
        #expect(bench.folder.names.isEmpty)
    }

    @Test("a download refuses Range and If-Range from the caller", arguments: [HTTPField.Name.range, .ifRange])
    func ownFields(_ name: HTTPField.Name) async throws {
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.download("http://a.test/", to: .file("/tmp/none"), fields: [name: "bytes=0-1"])
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test("a download with the right digest and length succeeds, a wrong one leaves neither file nor token")
    func integrity() async throws {
        let bench = try await DownloadBench()
        let sha256 = try MessageDigest(.sha256)
        try sha256.update(bench.expected)
        let digest = try (ContentDigest(hex: try sha256.finish()))
        let right = DownloadTask.Options.quick {
            $0.integrity.digest = digest
            $0.integrity.length = 300_000
        }
        #expect(try await bench.download(right).digest == digest)
        try bench.expectWhole()
        let other = try await DownloadBench(adjust: { $0.bytes[77] ^= 1 })
        let wrongDigest = DownloadTask.Options.quick(resumes: 3) { $0.integrity.digest = digest }
        let error = await curlewError { _ = try await other.download(wrongDigest) }
        #expect(error?.code == .digestMismatch && error?.resumeToken == nil && other.folder.names.isEmpty)
        let wrongLength = DownloadTask.Options.quick(resumes: 3) { $0.integrity.length = 300_001 }
        #expect(await curlewError { _ = try await other.download(wrongLength) }?.code == .lengthMismatch)
        #expect(other.folder.names.isEmpty && other.server.requestCount == 2)
    }

    @Test("a content coding is decoded on request, and such a download cannot be resumed")
    func coded() async throws {
        let plain = DownloadBench.bytes(300_000)
        let bench = try await DownloadBench { _, _ in
            let response = MockResponse(fields: [.eTag: "\"one\"", .acceptRanges: "bytes"], body: .bytes(plain))
            return try? response.encoded(.gzip)
        }
        var options = RequestOptions()
        options.decodesContent = true
        _ = try await bench.download(requestOptions: options)
        try bench.expectWhole()
        let broken = try await DownloadBench { _, _ in
            let response = MockResponse(fields: [.eTag: "\"one\"", .acceptRanges: "bytes"], body: .bytes(plain))
            return try? response.encoded(.gzip)
        }
        try broken.server.inject(Fault(.inResponseBody(after: 1000), .close))
        let error = await curlewError { _ = try await broken.download(requestOptions: options) }
        #expect(error != nil && error?.resumeToken == nil && broken.folder.names.isEmpty)
    }

    @Test("progress covers zero to the full size, and ends once")
    func progress() async throws {
        let bench = try await DownloadBench()
        let task = try bench.task()
        #expect(task.state == .suspended && !task.currentProgress.isFinished)
        var values: [TaskProgress] = []
        task.resume()
        for await value in task.progress { values.append(value) }
        _ = try await task.file()
        #expect(values.last?.isFinished == true && values.dropLast().allSatisfy { !$0.isFinished })
        #expect(values.last?.received.wire == 300_000 && values.last?.received.total == 300_000)
        #expect(zip(values, values.dropFirst()).allSatisfy { $0.received.wire <= $1.received.wire })
        var late: [TaskProgress] = []
        for await value in task.progress { late.append(value) }
        #expect(late == [task.currentProgress] && task.state == .completed)
    }

    @Test("the end of a download is published at once, independent of the progress interval")
    func progressOfLongIntervals() async throws {
        let source = DownloadProgressSource(interval: .seconds(Int64.max))
        let progress = DownloadTask.Progress(source: source)
        var values = progress.makeAsyncIterator()
        #expect(await values.next()?.isFinished == false)
        async let last = values.next()
        source.publish(received: 1, total: 2)
        source.finish()
        #expect(await last?.isFinished == true)
        #expect(await values.next() == nil)
    }

    @Test("an existing file is kept, unless it is to be replaced")
    func existing() async throws {
        let bench = try await DownloadBench()
        try bench.folder.write("file.bin", [1, 2, 3])
        let error = await curlewError { _ = try await bench.download() }
        #expect(error?.code == .fileExists)
        #expect(try bench.folder.bytes("file.bin") == [1, 2, 3] && bench.folder.names == ["file.bin"])
        var destination = Destination.file(bench.path)
        destination.existing = .replace
        _ = try await bench.session.download(.raw(bench.server.url("/file.bin")), to: destination)
        try bench.expectWhole()
    }
}
