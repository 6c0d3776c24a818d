import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("Server-sent events", .timeLimit(.minutes(1)))
struct EventTests {
    private static let lastEventID = HTTPField.Name("Last-Event-ID")!

    private func stream(_ text: String, _ fields: HTTPFields = [:]) -> MockResponse {
        var all: HTTPFields = [.contentType: "text/event-stream"]
        all.append(contentsOf: fields)
        return MockResponse(fields: all, body: .string(text))
    }

    private func line(_ url: String, _ members: String = "") -> String {
        #"{"id":1,"op":"sse","url":"\#(url)"\#(members.isEmpty ? "" : ","+members)}"#
    }

    private func message(_ type: String, _ data: String, _ identifier: String) -> String {
        #"{"id":1,"event":"message","type":"\#(type)","data":"\#(data)","lastEventId":"\#(identifier)"}"#
    }

    private let open = #"{"id":1,"event":"open"}"#
    private let broken = #"{"id":1,"event":"error","closed":false}"#
    private let closed = #"{"id":1,"event":"error","closed":true}"#

    /// The answers up to the one that closes the source or skips.
    private func follow(_ probe: ProbeDriver) async throws -> [String] {
        var lines: [String] = []
        while !(lines.last.map { $0 == closed || $0.contains("skip") } ?? false) {
            lines.append(try await probe.nextLine())
        }
        return lines
    }

    @Test("messages have types, data and identifiers, and a stream that breaks off resumes after the last message")
    func reconnection() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            stream("retry: 1\nid: 7\nevent: add\ndata: a\ndata: b\n\ndata: é\n\nid: 8\ndata: cut"),
            stream("data: c\n\n"),
            MockResponse(status: .noContent))
        let probe = ProbeDriver()
        await probe.send(line(server.url()))
        #expect(
            try await follow(probe) == [
                open, message("add", #"a\nb"#, "7"), message("message", "é", "7"), broken, open,
                message("message", "c", "7"), broken, closed,
            ])
        var identifiers: [String?] = []
        for _ in 0..<3 { identifiers.append(await server.takeRequest()?.fields[Self.lastEventID]) }
        #expect(identifiers == [nil, "7", "7"])
        await server.shutdown()
    }

    @Test("a connection that breaks off within a message is opened again")
    func brokenOff() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\n"
        let server = try await RawServer.start { connection in
            let request = try await connection.readHead()
            if request.contains("Last-Event-ID: 1\r\n") {
                try await connection.write("HTTP/1.1 204 No Content\r\n\r\n")
            } else {
                try await connection.write(head + "retry: 1\nid: 1\ndata: x\n\nid: 2\ndata: y")
            }
        }
        let probe = ProbeDriver()
        await probe.send(line(server.url()))
        #expect(try await follow(probe) == [open, message("message", "x", "1"), broken, closed])
        await server.shutdown()
    }

    @Test(
        "an unexpected status or media type closes the source at once",
        arguments: [
            (204, "text/event-stream"), (404, "text/event-stream"), (500, "text/event-stream"), (200, "text/plain"),
            (200, "text/event-streams"),
        ])
    func refused(_ status: Int, _ type: String) async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                status: HTTPResponse.Status(code: status), fields: [.contentType: type],
                body: status == 204 ? .none : "data: a\n\n")
        }
        let probe = ProbeDriver()
        await probe.send(line(server.url()))
        #expect(try await follow(probe) == [closed])
        await probe.finish()
        #expect(server.requestCount == 1)
        await server.shutdown()
    }

    @Test("an abort ends a stream, and no event of the stream is reported after it")
    func abort() async throws {
        let (ended, tell) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            defer { tell.yield() }
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n")
            try await connection.closed
        }
        let probe = ProbeDriver()
        await probe.send(line(server.url()))
        #expect(try await probe.nextLine() == open)
        #expect(try await probe.nextLine() == message("message", "a", ""))
        #expect(try await probe.ask(#"{"id":2,"op":"clear","what":"connections"}"#).skip != nil)
        await probe.send(#"{"id":2,"op":"abort","target":1}"#)
        #expect(try await probe.nextLine() == #"{"id":2,"aborted":true}"#)
        for await _ in ended { break }
        await probe.finish()
        #expect(try await probe.ask(#"{"id":3,"op":"abort","target":1}"#)["aborted"] == .bool(false))
        await server.shutdown()
    }

    @Test("an abort ends the wait before a reconnection")
    func abortBetween() async throws {
        let server = try await MockServer.start()
        server.enqueue(stream("retry: 3600000\ndata: a\n\n"))
        let probe = ProbeDriver()
        await probe.send(line(server.url()))
        for expected in [open, message("message", "a", ""), broken] { #expect(try await probe.nextLine() == expected) }
        await probe.send(#"{"id":2,"op":"abort","target":1}"#)
        #expect(try await probe.nextLine() == #"{"id":2,"aborted":true}"#)
        await probe.finish()
        #expect(server.requestCount == 1)
        await server.shutdown()
    }

    @Test("a stream sends the method, body and fields of its line, and starts with the Last-Event-ID of the caller")
    func fields() async throws {
        let server = try await MockServer.start()
        server.enqueue(stream("data: a\n\n"))
        let probe = ProbeDriver()
        await probe.send(
            line(
                server.url(),
                #""method":"POST","body":"aGk=","headers":[["X-A","1"],["last-event-id","41"]],"cookies":false"#))
        #expect(try await probe.nextLine() == open)
        #expect(try await probe.nextLine() == message("message", "a", "41"))
        let request = try #require(await server.takeRequest())
        #expect(request.method == .post && request.text == "hi")
        #expect(request.fields[HTTPField.Name("X-A")!] == "1")
        #expect(request.fields[fields: Self.lastEventID].map(\.value) == ["41"])
        #expect(request.fields[.accept] == "text/event-stream")
        await probe.send(#"{"id":2,"op":"abort","target":1}"#)
        await probe.finish()
        await server.shutdown()
    }

    @Test("a stream has an idle timeout only if its line sets one")
    func timeout() async throws {
        let server = try await silentServer()
        let probe = ProbeDriver()
        await probe.send(line(server.url(), #""idle_timeout_ms":50"#))
        #expect(try await probe.nextLine() == broken)
        await probe.send(#"{"id":2,"op":"abort","target":1}"#)
        await probe.finish()
        await server.shutdown()
    }

    @Test(
        "a field that does not apply to a stream, or is not supported by the library, is skipped",
        arguments: [
            (#""retry":{"attempts":1}"#, "field retry"), (#""max_body":5"#, "field max_body"),
            (#""cache":"reload""#, "cache reload"),
            (#""http_version":"2""#, "http_version 2 without TLS"),
        ])
    func unsupported(_ members: String, _ reason: String) async throws {
        #expect(try await ProbeDriver().ask(line("http://127.0.0.1:1/", members)).skip == reason)
    }

    @Test("a stream follows redirects and decodes content codings, unless the line turns that off")
    func responses() async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/" else { return MockResponse(status: .found, fields: [.location: "/"]) }
            return try stream("data: a\n\n").encoded(.brotli)
        }
        let probe = ProbeDriver()
        await probe.send(line(server.url("/moved")))
        for expected in [open, message("message", "a", "")] { #expect(try await probe.nextLine() == expected) }
        await probe.send(#"{"id":2,"op":"abort","target":1}"#)
        await probe.finish()
        let manual = ProbeDriver()
        await manual.send(line(server.url("/moved"), #""redirect":"manual""#))
        #expect(try await manual.nextLine() == closed)
        await server.shutdown()
    }

    @Test("a stream that sets a cookie reconnects with the cookie")
    func cookies() async throws {
        let server = try await MockServer.start { request in
            guard request.fields[.cookie] == nil else { return MockResponse(status: .noContent) }
            return stream("retry: 1\ndata: a\n\n", [.setCookie: "a=b"])
        }
        let probe = ProbeDriver()
        await probe.send(line(server.url()))
        #expect(try await follow(probe) == [open, message("message", "a", ""), broken, closed])
        #expect(server.requestCount == 2)
        await server.shutdown()
    }

    @Test("an invalid request is an error, not an event")
    func invalid() async throws {
        let answer = try await ProbeDriver().ask(line("nowhere"))
        #expect(answer.code == "invalid-url")
        #expect(answer["event"] == nil)
    }
}
