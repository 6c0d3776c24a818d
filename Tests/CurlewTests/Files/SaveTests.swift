import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Saving a body into a file", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct SaveTests {
    private func save(
        _ response: MockResponse, to folder: ScratchFolder, range: Bool = false, method: HTTPRequest.Method = .get,
        integrity: IntegrityRequirement = IntegrityRequirement()
    ) async throws -> DownloadedFile {
        let server = try await MockServer.start()
        server.enqueue(response)
        let session = try makeSession { $0.limits.collectedBody = 1 }
        let fields: HTTPFields = range ? [.range: "bytes=0-4"] : [:]
        let answer = try await session.send(method, .raw(server.url("/path/name.txt")), fields: fields)
        do {
            let file = try await answer.save(to: .folder(folder.path), integrity: integrity)
            await server.shutdown()
            return file
        } catch {
            await server.shutdown()
            throw error
        }
    }

    @Test("a large body is complete, under the suggested name, with the permissions of the umask")
    func whole() async throws {
        let folder = try ScratchFolder()
        let mask = umask(0o026)
        defer { umask(mask) }
        let fields: HTTPFields = [.contentDisposition: "attachment; filename=\"../../a b.bin\""]
        let count = 20 << 20
        let file = try await save(MockResponse(fields: fields, body: .pattern(count: count)), to: folder)
        #expect(file.path == folder.file("a b.bin") && file.size == Int64(count) && file.digest == nil)
        #expect(file.response?.status == .ok && file.uri.path == "/path/name.txt" && file.history.isEmpty)
        #expect(folder.names == ["a b.bin"])
        let bytes = try folder.bytes("a b.bin")
        #expect(bytes.count == count && BytePattern.matches(bytes, at: 0))
        var status = stat()
        #expect(stat(file.path, &status) == 0 && status.st_mode & 0o777 == 0o640)
    }

    @Test("an empty body, one of unknown length and one without a network are saved too")
    func kinds() async throws {
        let folder = try ScratchFolder()
        var response = MockResponse(body: "hello")
        response.framing = .chunked
        #expect(try await save(response, to: folder).size == 5)
        #expect(await curlewError { _ = try await save(response, to: folder) }?.code == .fileExists)
        let empty = try await stubResponse(bytes: []).save(to: .file(folder.file("empty")))
        #expect(empty.size == 0)
        let bytes = try await stubResponse(bytes: [1, 2]).save(
            to: .chosen { head, name in folder.file("\(head.status.code)-\(name)") })
        #expect(bytes.path == folder.file("200-path"))
        #expect(folder.names == ["200-path", "empty", "name.txt"])
    }

    @Test(
        "the body of an unsuccessful response is not saved, and its beginning is in the error",
        arguments: [301, 304, 400, 404, 500, 206] as [Int])
    func unacceptable(_ status: Int) async throws {
        let folder = try ScratchFolder()
        let body = String(repeating: "why ", count: 100_000)
        let error = await curlewError {
            _ = try await save(MockResponse(status: .init(code: status), body: .string(body)), to: folder)
        }
        #expect(error?.code == .unacceptableStatus && error?.response?.status.code == status)
        #expect(error?.stage == .receiving && error?.uri?.path == "/path/name.txt" && error?.method == .get)
        #expect(error?.bodyPrefix == (status == 304 ? [] : Array(body.utf8.prefix(4096))))
        #expect(folder.names == [])
    }

    @Test("a requested range is saved, and a response of several ranges is refused")
    func parts() async throws {
        let folder = try ScratchFolder()
        var response = MockResponse(status: .partialContent, fields: [.contentType: "multipart/byteranges; boundary=a"])
        response.body = "hello"
        #expect(
            await curlewError { _ = try await save(response, to: folder, range: true) }?.code
                == .unacceptableContentType)
        response.fields = [.reprDigest: "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"]
        #expect(try await save(response, to: folder, range: true).size == 5)
    }

    @Test("a response without content is not saved as a file")
    func noContent() async throws {
        let folder = try ScratchFolder()
        #expect(
            await curlewError { _ = try await save(MockResponse(status: .noContent), to: folder) }?.code == .emptyBody)
        let error = await curlewError { _ = try await save(MockResponse(body: "hello"), to: folder, method: .head) }
        #expect(error?.code == .emptyBody)
        #expect(folder.names == [])
    }

    @Test(
        "a body that breaks off leaves no file",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        ])
    func broken(_ answer: String) async throws {
        let folder = try ScratchFolder()
        let server = try await rawAnswer(answer)
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.get(.raw(server.url())).save(to: .file(folder.file("a")))
        }
        #expect(error?.code == .responseTruncated && error?.file == nil)
        #expect(folder.names == [])
        try await session.expectUsable()
        await server.shutdown()
    }

    @Test("a cancelled task leaves neither a file nor a transfer")
    func cancelled() async throws {
        let folder = try ScratchFolder()
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            MockResponse(
                body: .stream(length: 1 << 30) { writer in
                    try await writer.write("hello")
                    arrival.yield()
                    try await untilCancelled()
                })
        }
        let session = try makeSession()
        let saving = Task { try await session.get(.raw(server.url())).save(to: .file(folder.file("a"))) }
        for await _ in arrivals { break }
        saving.cancel()
        let error = await curlewError { _ = try await saving.value }
        #expect(error?.code == .cancelled)
        #expect(folder.names == [])
    }

    @Test("cancellation is noticed even if the next chunk is always available")
    func cancelledInHaste() async throws {
        let folder = try ScratchFolder()
        let chunks = Guarded(0)
        var response = try stubResponse(bytes: [])
        response.body = .stream(CancellingBody { chunks.withLock { $0 += 1 } })
        let saving = Task { [response] in try await response.save(to: .file(folder.file("a"))) }
        #expect(await curlewError { _ = try await saving.value }?.code == .cancelled)
        #expect(chunks.withLock { $0 } == 3 && folder.names.isEmpty)
    }

    @Test("an existing file ends the transfer before a byte is written")
    func early() async throws {
        let folder = try ScratchFolder()
        try folder.write("name.txt", [1])
        let error = await curlewError { _ = try await save(MockResponse(body: .pattern(count: 1 << 24)), to: folder) }
        #expect(error?.code == .fileExists && error?.file == nil)
        #expect(folder.names == ["name.txt"])
        let replaced = try await stubResponse(bytes: [2]).save(to: Destination.file(folder.file("name.txt")).replacing)
        #expect(replaced.path == folder.file("name.txt"))
        #expect(try folder.bytes("name.txt") == [2])
    }

    @Test("a file that appears during the download stays, and the error and the event contain the new file's path")
    func moveFails() async throws {
        let folder = try ScratchFolder()
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        let session = try makeSession()
        var events = try #require(session.session).events.makeAsyncIterator()
        let answer = try await session.get(.raw(server.url()))
        var response = answer
        response.body = .stream(Interrupted(body: answer.body) { _ = try folder.write("a", [1]) })
        let error = await curlewError { [response] in _ = try await response.save(to: .file(folder.file("a"))) }
        let left = try #require(error?.file)
        #expect(error?.code == .fileExists)
        #expect(try folder.bytes(String(left.dropFirst(folder.path.count + 1))) == Array("hello".utf8))
        while let event = await events.next() {
            guard event.kind == .moveFailed else { continue }
            #expect(event.file == left && event.error?.code == .fileExists && event.task === answer.task)
            break
        }
        var destination = Destination.file(folder.file("a"))
        destination.existing = .unique
        let file = try await session.get(.raw(server.url())).save(to: destination)
        #expect(file.path == folder.file("a (1)"))
        while let event = await events.next() {
            guard event.kind == .moved else { continue }
            #expect(event.file == file.path && event.error == nil && event.task != nil)
            break
        }
    }

    @Test("a closure that throws ends the transfer with its own error")
    func closure() async throws {
        struct Unwanted: Error {}
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 1 << 24)) }
        let session = try makeSession()
        let response = try await session.get(.raw(server.url()))
        await #expect(throws: Unwanted.self) { _ = try await response.save(to: .chosen { _, _ in throw Unwanted() }) }
        #expect(await curlewError { _ = try await response.save(to: .folder("")) }?.code == .invalidDestination)
    }
}

extension Destination {
    fileprivate var replacing: Destination {
        var copy = self
        copy.existing = .replace
        copy.synchronizes = true
        return copy
    }
}

/// A body with an action after its last chunk.
private struct Interrupted: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let body: CurlewResponse.Body
    let work: @Sendable () throws -> Void

    struct Iterator: AsyncIteratorProtocol {
        var chunks: CurlewResponse.Body.AsyncIterator
        let work: @Sendable () throws -> Void

        mutating func next() async throws -> [UInt8]? {
            if let chunk = try await chunks.next() { return chunk }
            try work()
            return nil
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(chunks: body.makeAsyncIterator(), work: work) }
}
