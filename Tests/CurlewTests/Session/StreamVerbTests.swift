import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Streams of events, lines and pages", .endsServers, .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct StreamVerbTests {
    struct Row: Codable, Sendable, Equatable { var id: Int }

    private func server(_ bodies: [String: MockResponse]) async throws -> MockServer {
        try await MockServer.start { request in
            for try await _ in request.body {}
            return bodies[request.path] ?? .notFound
        }
    }

    private func events(_ text: String) -> MockResponse {
        MockResponse(fields: [.contentType: "text/event-stream"], body: .string(text))
    }

    private func collect<S: AsyncSequence>(_ sequence: S) async throws -> [S.Element] {
        var elements: [S.Element] = []
        for try await element in sequence { elements.append(element) }
        return elements
    }

    // MARK: Events

    @Test("the events of a POST are values, and the sequence ends with the stream, without a reconnection")
    func posted() async throws {
        let server = try await server(["/m": events("data: {\"id\":1}\n\ndata: {\"id\":2}\n\n")])
        let api = try makeSession(baseURL: server.url())
        #expect(
            try await collect(api.events("m", .json(["prompt": "x"]), as: Row.self)).map(\.id) == [1, 2])
        let request = await server.takeRequest()
        #expect(request?.text == #"{"prompt":"x"}"# && request?.fields[.accept] == "text/event-stream")
        #expect(server.requestCount == 1)
    }

    @Test("an end marker ends the sequence, and later events are not read")
    func endMarker() async throws {
        let server = try await server(["/m": events("data: {\"id\":1}\n\ndata: [DONE]\n\ndata: {\"id\":2}\n\n")])
        let api = try makeSession(baseURL: server.url())
        #expect(try await collect(api.events("m", as: Row.self, until: "[DONE]")).map(\.id) == [1])
        #expect(try await collect(api.events("m", until: "[DONE]")).map(\.data) == [#"{"id":1}"#])
    }

    @Test(
        "an invalid event is an error with its position, after which the next can be read, or is skipped"
    )
    func malformedEvents() async throws {
        let server = try await server(["/m": events("data: {\"id\":1}\n\ndata: {\"no\":2}\n\ndata: {\"id\":3}\n\n")])
        let api = try makeSession(baseURL: server.url())
        var iterator = api.events("m", method: .post, as: Row.self).makeAsyncIterator()
        #expect(try await iterator.next() == Row(id: 1))
        let error = await curlewError { _ = try await iterator.next() }
        #expect(error?.code == .decodingFailed && error?.message.contains("event 2") == true)
        #expect(try await iterator.next() == Row(id: 3))
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        #expect(try await collect(api.events("m", method: .post, as: Row.self, malformed: .skip)).map(\.id) == [1, 3])
    }

    @Test("a refusal, an invalid reference or an unencodable body throws an error")
    func refusedEvents() async throws {
        let server = try await server([:])
        let api = try makeSession(baseURL: server.url())
        let refusal = await curlewError { _ = try await collect(api.events("m", as: Row.self)) }
        #expect(refusal?.code == .unacceptableStatus && refusal?.status == .notFound)
        #expect(await curlewError { _ = try await collect(api.events("\("..")", as: Row.self)) }?.code == .invalidURL)
        let unwritten = await curlewError { _ = try await collect(api.events("m", .json([Double.nan]))) }
        #expect(unwritten?.code == .encodingFailed)
    }

    @Test("events beyond their limit are an error")
    func largeEvents() async throws {
        let server = try await server(["/m": events("data: " + String(repeating: "x", count: 100) + "\n\n")])
        let api = try makeSession(baseURL: server.url())
        let error = await curlewError {
            _ = try await collect(api.events("m", method: .post, limits: ServerSentEvent.Limits(line: 50)))
        }
        #expect(error?.code == .responseTooLarge)
    }

    @Test("cancelling the iterating task ends events and lines as cancelled")
    func cancelled() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            let type = head.contains("/events") ? "text/event-stream" : "text/plain"
            let body = head.contains("/events") ? "data: {\"id\":1}\n\n" : "{\"id\":1}\n"
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\r\n\(body)")
            try await connection.closed
        }
        let api = try makeSession(baseURL: server.url())
        let (seen, see) = AsyncStream.makeStream(of: Int.self)
        let reading = [
            Task { for try await row in api.events("events", as: Row.self) { see.yield(row.id) } },
            Task { for try await row in api.lines("lines", as: Row.self) { see.yield(row.id) } },
        ]
        var count = 0
        for await _ in seen {
            count += 1
            if count == 2 { break }
        }
        for task in reading {
            task.cancel()
            #expect(await curlewError { try await task.value }?.code == .cancelled)
        }
    }

    // MARK: Lines

    @Test("lines are text or values, with any line ends")
    func lines() async throws {
        let server = try await server(["/l": MockResponse(body: "{\"id\":1}\r\n\n{\"id\":2}")])
        let api = try makeSession(baseURL: server.url())
        #expect(try await collect(api.lines("l")) == [#"{"id":1}"#, "", #"{"id":2}"#])
        #expect(try await collect(api.lines("l", as: Row.self)).map(\.id) == [1, 2])
        #expect(await server.takeRequest()?.fields[.accept] == "*/*")
        #expect(await server.takeRequest()?.fields[.accept]?.hasPrefix("application/x-ndjson") == true)
    }

    @Test(
        "an invalid line is an error with its number, or is skipped; an unsuccessful status is thrown"
    )
    func malformedLines() async throws {
        let server = try await server(["/l": MockResponse(body: "{\"id\":1}\nx\n{\"id\":3}\n")])
        let api = try makeSession(baseURL: server.url())
        var iterator = api.lines("l", as: Row.self).makeAsyncIterator()
        #expect(try await iterator.next() == Row(id: 1))
        let error = await curlewError { _ = try await iterator.next() }
        #expect(error?.code == .decodingFailed && error?.message.contains("line 2") == true)
        #expect(try await iterator.next() == Row(id: 3))
        #expect(try await iterator.next() == nil)
        #expect(try await collect(api.lines("l", as: Row.self, malformed: .skip)).map(\.id) == [1, 3])
        #expect(
            await curlewError { _ = try await collect(api.lines("none", as: Row.self)) }?.code == .unacceptableStatus)
        #expect(await curlewError { _ = try await collect(api.lines("l", upTo: 3)) }?.code == .responseTooLarge)
    }

    // MARK: Pages

    private func page(_ ids: [Int], _ link: String? = nil) -> MockResponse {
        var fields: HTTPFields = [.contentType: "application/json"]
        if let link { fields[HTTPField.Name("Link")!] = link }
        return MockResponse(fields: fields, body: .string("[\(ids.map { "{\"id\":\($0)}" }.joined(separator: ","))]"))
    }

    @Test("the elements of linked pages are delivered in order")
    func pages() async throws {
        let server = try await server([
            "/p": page([1, 2], #"<https://x.test/>; rel="prev", </p2?a=b,c>; title="a, \"b\""; rel="last NEXT""#),
            "/p2": page([], "<p3>;rel=next"), "/p3": page([3], #"<p4>; rel="next"; anchor="/other""#),
        ])
        let api = try makeSession(baseURL: server.url())
        #expect(try await collect(api.pages("p", query: ["size": 2], as: [Row].self)).map(\.id) == [1, 2, 3])
        #expect(await server.takeRequest()?.target == "/p?size=2")
        #expect(await server.takeRequest()?.target == "/p2?a=b,c")
    }

    @Test("a closure derives the next page from the previous one")
    func cursors() async throws {
        struct Listing: Codable, Sendable {
            var rows: [Row]
            var cursor: String?
        }
        let server = try await MockServer.start { request in
            let body = request.target == "/p" ? #"{"rows":[{"id":1}],"cursor":"a&b"}"# : #"{"rows":[{"id":2}]}"#
            return MockResponse(fields: [.contentType: "application/json"], body: .string(body))
        }
        let api = try makeSession(baseURL: server.url())
        let pages = api.pages("p", as: Listing.self) { page, response in
            #expect(response.status == .ok)
            return page.cursor.map { "?cursor=\($0)" }
        }
        #expect(try await collect(pages).flatMap { $0.rows.map(\.id) } == [1, 2])
        _ = await server.takeRequest()
        #expect(await server.takeRequest()?.target == "/p?cursor=a%26b")
    }

    @Test("repeated, endless and cross-origin pages are an error, after the elements before it")
    func endlessPages() async throws {
        let other = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "application/json"], body: "[]")
        }
        let server = try await server([
            "/loop": page([1], "</loop>; rel=next"), "/away": page([1], "<\(other.url())>; rel=next"),
            "/a": page([1], "</b>; rel=next"), "/b": page([2], "</c>; rel=next"),
        ])
        let api = try makeSession(baseURL: server.url())
        for (path, limit, code, text) in [
            ("loop", 10, ErrorCode.invalidResponse, "the pages repeat"),
            ("away", 10, .invalidResponse, "another origin"),
            ("a", 2, .responseTooLarge, "more than 2 pages"),
        ] {
            var seen: [Int] = []
            let error = await curlewError {
                for try await row in api.pages("\(path)", as: [Row].self, limit: limit) { seen.append(row.id) }
            }
            #expect(error?.code == code && error?.message.contains(text) == true, "\(path)")
            #expect(seen == (path == "a" ? [1, 2] : [1]))
        }
        #expect(other.requestCount == 0)
        #expect(try await collect(api.pages("away", as: [Row].self, allowsOtherOrigins: true)).map(\.id) == [1])
    }

    @Test("a refused page ends the sequence with its error")
    func refusedPage() async throws {
        let server = try await server(["/p": page([1], "</none>; rel=next")])
        let api = try makeSession(baseURL: server.url())
        let error = await curlewError { _ = try await collect(api.pages("p", as: [Row].self)) }
        #expect(error?.code == .unacceptableStatus && error?.uri?.path == "/none")
    }
}
