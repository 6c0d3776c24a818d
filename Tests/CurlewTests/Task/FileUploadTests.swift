import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("File changes during an upload", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct FileUploadTests {
    private let counts: AsyncStream<Int>
    private let count: AsyncStream<Int>.Continuation

    init() { (counts, count) = AsyncStream.makeStream(of: Int.self) }

    private func nextCount() async -> Int? {
        for await count in counts { return count }
        return nil
    }

    @Test(
        "a change between the creation and the start of a task is an error before a byte is sent",
        arguments: FileChange.allCases)
    func beforeStart(_ change: FileChange) async throws {
        let server = try await RawServer.start { [count] connection in
            // libcurl 8.14 may read the body before the head was sent; then no byte arrives.
            guard (try? await connection.readHead()) != nil else {
                count.yield(0)
                return
            }
            count.yield(try await connection.drain())
        }
        let folder = try ScratchFolder()
        let path = try folder.write("f", Array(repeating: 1, count: 100))
        let session = try makeSession()
        let task = try #require(session.session).uploadTask(CurlewRequest(.put, server.url()), from: .file(path))
        try change.apply(to: "f", in: folder)
        task.resume()
        #expect(await curlewError { _ = try await task.response() }?.code == change.code)
        #expect(await nextCount() == 0)
        try await session.expectUsable()
    }

    @Test("a change during the upload is an error before the last bytes are sent", arguments: FileChange.allCases)
    func underway(_ change: FileChange) async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { [count] connection in
            _ = try await connection.readHead()
            _ = try await connection.readExactly(1)
            begin.yield()
            for await _ in gate { break }
            count.yield(try await connection.drain() + 1)
        }
        let folder = try ScratchFolder()
        // The size exceeds the buffers of the sockets.
        let size = 64 << 20
        let path = try folder.sparse("f", size: size)
        let session = try makeSession()
        let call = Task { try await session.upload(.raw(server.url()), .file(path)) }
        for await _ in begun { break }
        try change.apply(to: "f", in: folder)
        open.yield()
        #expect(await curlewError { _ = try await call.value }?.code == change.code)
        #expect(try #require(await nextCount()) < size)
    }

    enum Again: String, CaseIterable, Sendable { case redirect, retry }

    /// Refuses the first transfer so that there is a second, and calls `meanwhile` between them.
    private func twice(
        _ again: Again, meanwhile: @escaping @Sendable () throws -> Void
    ) async throws -> (MockServer, HTTPSession) {
        let server = try await MockServer.start { [count] request in
            var length = 0
            for try await chunk in request.body { length += chunk.count }
            count.yield(length)
            if request.exchangeIndex > 0 || request.connectionIndex > 0 || request.path == "/again" {
                return MockResponse(body: .string("\(length)"))
            }
            try meanwhile()
            return again == .redirect
                ? MockResponse(status: .temporaryRedirect, fields: [.location: "/again"])
                : MockResponse(status: .serviceUnavailable)
        }
        let session = try HTTPSession(transport: try #require(try makeSession().session), chain: .bare) {
            Redirects()
            quickRetry()
        }
        return (server, session)
    }

    @Test(
        "a change between two uploads is an error, and the second is incomplete", arguments: Again.allCases,
        FileChange.allCases)
    func replayed(_ again: Again, _ change: FileChange) async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("f", Array(repeating: 1, count: 1000))
        let (server, session) = try await twice(again) { try change.apply(to: "f", in: folder) }
        var options = RequestOptions()
        options.isIdempotent = true
        let error = await curlewError {
            _ = try await session.upload(.raw(server.url()), .file(path), options: options)
        }
        #expect(error?.code == change.code)
        #expect(await nextCount() == 1000)
    }

    @Test("an unchanged file is sent any number of times", arguments: Again.allCases)
    func unchanged(_ again: Again) async throws {
        let folder = try ScratchFolder()
        let path = try folder.sparse("f", size: 1 << 20)
        let (server, session) = try await twice(again) {}
        let response = try await session.send(.put, .raw(server.url()), .body(.file(path)))
        #expect(try await response.body.collect(upTo: 100) == Array("\(1 << 20)".utf8))
        #expect(await nextCount() == 1 << 20)
        #expect(await nextCount() == 1 << 20)
    }

    @Test("a file may change between two calls that send the same body")
    func newCall() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .string("\(try await request.body.collect().count)"))
        }
        let folder = try ScratchFolder()
        let path = try folder.write("f", Array(repeating: 1, count: 10))
        let session = try makeSession()
        let body = CurlewRequest.Body.file(path)
        for length in [10, 11, 12] {
            let response = try await session.put(.raw(server.url()), .body(body))
            #expect(try await response.body.collect(upTo: 10) == Array("\(length)".utf8))
            try FileChange.grown.apply(to: "f", in: folder)
        }
    }

    @Test("a fixed number of bytes can be sent while the file grows")
    func growing() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .string("\(try await request.body.collect().count)"))
        }
        let folder = try ScratchFolder()
        let path = try folder.write("log", Array(repeating: 1, count: 100))
        let session = try makeSession()
        let body = CurlewRequest.Body.file(path, offset: 10, length: 50)
        let task = try #require(session.session).uploadTask(CurlewRequest(.put, server.url()), from: body)
        try FileChange.grown.apply(to: "log", in: folder)
        task.resume()
        #expect(try await task.response().body.collect(upTo: 10) == Array("50".utf8))
    }

    @Test("an invalid file range is an error before a request is sent")
    func badRanges() async throws {
        let file = try TemporaryFile(bytes: 10)
        let session = try makeSession()
        for body in [
            CurlewRequest.Body.file(file.path, offset: 5, length: -1), .file(file.path, offset: 5, length: .max),
            .file(file.path, offset: .max),
        ] {
            let error = await curlewError { _ = try await session.put("http://127.0.0.1:1/", .body(body)) }
            #expect(error?.code == .bodyLengthMismatch)
            #expect(error?.stage == .preparing)
            #expect(error?.method == .put)
        }
    }
}
