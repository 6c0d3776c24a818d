import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Multipart responses", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct MultipartResponseTests {
    private func response(_ body: String, type: String? = "multipart/mixed; boundary=B") throws -> CurlewResponse {
        var fields = HTTPFields()
        fields[.contentType] = type
        return CurlewResponse(
            .ok, fields: fields, body: .bytes(Array(body.utf8)), uri: try CurlewURI("http://localhost/"))
    }

    private func text(_ part: CurlewResponse.MultipartParts.Part) async throws -> String {
        String(decoding: try await part.body.collect(upTo: 1000), as: UTF8.self)
    }

    @Test("parts are delivered in order, with their fields and names")
    func parts() async throws {
        let response = try response(
            """
            ignored\r
            --B\r
            Content-Type: text/plain\r
            Content-Disposition: form-data; name="a b"; filename="x.txt"; filename*=UTF-8''%C3%A9.txt\r
            \r
            one\r
            --B\r
            \r
            two\r
            --B--\r
            ignored
            """)
        var parts = try response.multipart().makeAsyncIterator()
        let first = try #require(try await parts.next())
        #expect(first.mediaType == .plainText && first.name == "a b" && first.fileName == "é.txt")
        #expect(try await text(first) == "one")
        #expect(try await text(first) == "")
        let second = try #require(try await parts.next())
        #expect(second.fields.isEmpty && second.name == nil && second.fileName == nil && second.mediaType == nil)
        #expect(try await text(second) == "two")
        #expect(try await parts.next() == nil)
        #expect(try await parts.next() == nil)
    }

    @Test("the unread rest of a part is skipped, and cannot be read later")
    func skipped() async throws {
        let response = try response("--B\r\n\r\none\r\n--B\r\n\r\ntwo\r\n--B\r\n\r\nthree\r\n--B--")
        var parts = try response.multipart().makeAsyncIterator()
        let first = try #require(try await parts.next())
        _ = try await parts.next()
        let third = try #require(try await parts.next())
        #expect(await curlewError { _ = try await text(first) }?.code == .responseAlreadyTaken)
        #expect(try await text(third) == "three")
        #expect(try await parts.next() == nil)
    }

    @Test("a part can itself be multipart")
    func nested() async throws {
        let response = try response(
            """
            --B\r
            Content-Type: multipart/alternative; boundary="B in B"\r
            \r
            --B in B\r
            \r
            inner 1\r
            --B in B\r
            \r
            inner 2\r
            --B in B--\r
            \r
            --B\r
            \r
            outer\r
            --B--
            """)
        var texts: [String] = []
        for try await part in try response.multipart() {
            if part.mediaType == nil {
                texts.append(try await text(part))
            } else {
                for try await inner in try part.multipart() { texts.append(try await text(inner)) }
            }
        }
        #expect(texts == ["inner 1", "inner 2", "outer"])
    }

    @Test(
        "a response that is not multipart, or has no boundary, is an error that contains the head",
        arguments: [nil, "text/plain; boundary=B", "multipart/mixed", "multipart/mixed; boundary=\"\"", "multipartx/y"])
    func notMultipart(_ type: String?) throws {
        let response = try response("", type: type)
        #expect { try response.multipart() } throws: {
            let error = $0 as? CurlewError
            return error?.code == .decodingFailed && error?.response?.status == .ok
        }
    }

    @Test("the boundary can be set if Content-Type has none")
    func givenBoundary() async throws {
        var count = 0
        for try await _ in try response("--X\r\n\r\n\r\n--X--", type: nil).body.multipart(boundary: "X") { count += 1 }
        #expect(count == 1)
    }

    @Test("a truncated multipart body is one error, of the part or of the sequence that is being read")
    func truncated() async throws {
        var parts = try response("--B\r\n\r\none\r\n--B\r\n\r\ntw").multipart().makeAsyncIterator()
        _ = try await parts.next()
        let second = try #require(try await parts.next())
        #expect(await curlewError { _ = try await text(second) }?.code == .responseTruncated)
        #expect(try await parts.next() == nil)
        var others = try response("--B\r\n\r\none").multipart().makeAsyncIterator()
        _ = try await others.next()
        #expect(await curlewError { _ = try await others.next() }?.code == .responseTruncated)
    }

    @Test("two tasks cannot read concurrently")
    func twoReaders() async throws {
        let (stream, feed) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
        let body = CurlewResponse.Body.stream(stream)
        var parts = try body.multipart(boundary: "B").makeAsyncIterator()
        feed.yield(Array("--B\r\n\r\nx".utf8))
        let part = try #require(try await parts.next())
        var chunks = part.body.makeAsyncIterator()
        #expect(try await chunks.next() == [0x78])
        // The first task waits for bytes; the second is refused at once.
        let outcome = await withTaskGroup(of: ErrorCode?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do {
                        var chunks = part.body.makeAsyncIterator()
                        _ = try await chunks.next()
                        return nil
                    } catch { return (error as? CurlewError)?.code }
                }
            }
            let first = await group.next()
            feed.yield(Array("y\r\n--B--".utf8))
            feed.finish()
            return [first, await group.next()]
        }
        #expect(outcome == [.responseAlreadyTaken, .some(nil)])
    }

    @Test("parts are delivered as they arrive, and a slow reader slows down the transfer")
    func backPressure() async throws {
        let total = 32 << 20
        let (written, announce) = AsyncStream.makeStream(of: Int.self)
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "multipart/x-mixed-replace; boundary=B"],
                body: .stream { writer in
                    try await writer.write("--B\r\n\r\nfirst\r\n--B\r\n\r\n")
                    for index in 0..<(total >> 16) {
                        try await writer.write(Array(repeating: 1, count: 1 << 16))
                        announce.yield(index)
                    }
                    announce.finish()
                    try await writer.write("\r\n--B--\r\nepilogue")
                })
        }
        let api = try makeSession(baseURL: server.url()) { $0.bodyBufferSize = .kibibytes(64) }
        let response = try await api.get("x")
        var parts = try response.multipart().makeAsyncIterator()
        let first = try #require(try await parts.next())
        #expect(try await text(first) == "first")
        let second = try #require(try await parts.next())
        var count = 0
        var largest = 0
        for try await chunk in second.body {
            count += chunk.count
            largest = max(largest, chunk.count)
        }
        #expect(count == total)
        #expect(largest <= 2 << 20)
        #expect(try await parts.next() == nil)
        for await _ in written {}
        if let task = response.task { for await _ in task.progress {} }
        // The epilogue was read too, so the connection is reusable.
        _ = try await api.get("x").multipart().makeAsyncIterator().reader.nextPart()
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("a reader that stops within a part ends the transfer")
    func dropped() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "multipart/mixed; boundary=B"],
                body: .stream { writer in
                    try await writer.write("--B\r\n\r\n")
                    while true { try await writer.write(Array(repeating: 1, count: 1 << 16)) }
                })
        }
        let api = try makeSession(baseURL: server.url())
        for try await part in try await api.get("x").multipart() {
            for try await chunk in part.body {
                #expect(chunk.allSatisfy { $0 == 1 })
                break
            }
            break
        }
        try await server.waitForConnections(open: 0)
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("an endless epilogue is not read to its end")
    func endlessEpilogue() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "multipart/mixed; boundary=B"],
                body: .stream { writer in
                    try await writer.write("--B\r\n\r\nx\r\n--B--\r\n")
                    while true { try await writer.write(Array(repeating: 1, count: 1 << 16)) }
                })
        }
        let api = try makeSession(baseURL: server.url())
        var count = 0
        for try await _ in try await api.get("x").multipart() { count += 1 }
        #expect(count == 1)
        try await server.waitForConnections(open: 0)
    }

    @Test("a connection that breaks within a part is a truncated response")
    func broken() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 200 OK\r\nContent-Type: multipart/mixed; boundary=B\r\nContent-Length: 100\r\n\r\n--B\r\n\r\nx")
        let api = try makeSession()
        let response = try await api.get(.raw(server.url()))
        var parts = try response.multipart().makeAsyncIterator()
        let part = try #require(try await parts.next())
        let error = await curlewError { _ = try await text(part) }
        #expect(error?.code == .responseTruncated)
    }
}
