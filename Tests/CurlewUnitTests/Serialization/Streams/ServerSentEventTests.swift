import SeededNumbers
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Server-sent events")
struct ServerSentEventTests {
    private func events(_ text: String, cutAt size: Int = 1 << 20) throws -> [ServerSentEvent] {
        var parser = ServerSentEventParser()
        return try pieces(of: Array(text.utf8), size: size).flatMap { try parser.consume($0) }
    }

    private func message(_ data: String, _ id: String = "", type: String = "message") -> ServerSentEvent {
        ServerSentEvent(type: type, data: data, lastEventID: id)
    }

    @Test("the examples of the standard are parsed as specified", arguments: 1...5)
    func standard(size: Int) throws {
        #expect(
            try events("data: YHOO\ndata: +2\ndata: 10\n\n", cutAt: size) == [message("YHOO\n+2\n10")])
        let text = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n"
        #expect(try events(text, cutAt: size) == [message("first event", "1"), message("second event")])
        #expect(try events("data\n\ndata\ndata\n\ndata:", cutAt: size) == [message(""), message("\n")])
        #expect(try events("data:test\n\ndata: test\n\n", cutAt: size) == [message("test"), message("test")])
    }

    @Test("lines end with LF, CR or CRLF, in any mixture and in any chunks", arguments: 1...4)
    func lineEnds(size: Int) throws {
        for end in ["\n", "\r", "\r\n"] {
            let text = ["event: add", "data: 1", "", "data: 2", "", ""].joined(separator: end)
            #expect(try events(text, cutAt: size) == [message("1", type: "add"), message("2")])
        }
        #expect(try events("data: a\r\ndata: b\n\rdata: c\r\r\n", cutAt: size) == [message("a\nb"), message("c")])
    }

    @Test("an event whose line ends with CR is delivered before further bytes arrive")
    func promptness() throws {
        var parser = ServerSentEventParser()
        #expect(try parser.consume(Array("data: a\r\r".utf8)) == [message("a")])
        #expect(try parser.consume(Array("\ndata: b\n\n".utf8)) == [message("b")])
    }

    @Test("a single byte order mark at the beginning is removed", arguments: 1...4)
    func mark(size: Int) throws {
        #expect(try events("\u{FEFF}data: a\n\n", cutAt: size) == [message("a")])
        #expect(try events("\u{FEFF}\u{FEFF}data: a\n\n", cutAt: size) == [])
        #expect(try events("data: a\n\u{FEFF}data: b\n\n", cutAt: size) == [message("a")])
    }

    @Test("the identifier persists until the next; one with NUL is ignored, and an empty one resets it")
    func identifiers() throws {
        let text =
            "id: 1\ndata: a\n\ndata: b\n\nid: 2\u{0}\ndata: c\n\nid\ndata: d\n\nid: 3\n\ndata: e\n\nid: 4\ndata: f\n"
        var parser = ServerSentEventParser(lastEventID: "0")
        let found = try parser.consume(Array(text.utf8))
        #expect(found == [message("a", "1"), message("b", "1"), message("c", "1"), message("d"), message("e", "3")])
        #expect(parser.lastEventID == "3")
        var later = ServerSentEventParser(lastEventID: "3")
        #expect(try later.consume(Array("data: x\n\n".utf8)) == [message("x", "3")])
    }

    @Test("unknown fields, comments and events without data are skipped; a type applies to one event")
    func otherFields() throws {
        let text =
            "event: gone\n\nevent: kept\ndata: a\nDATA: b\n data: c\nfoo: bar\n:data: x\n\ndata: d\n\nevent: 1\nevent: 2\ndata\n\n"
        #expect(try events(text) == [message("a", type: "kept"), message("d"), message("", type: "2")])
        #expect(try events("event:\ndata: a\n\n") == [message("a")])
        #expect(try events("data:a:b\n\ndata:   a\n\n") == [message("a:b"), message("  a")])
    }

    @Test(
        "a retry field is accepted only if it consists of digits",
        arguments: [
            ("retry: 1500", 1500), ("retry:0", 0), ("retry: 00012", 12), ("retry", nil), ("retry: 1.5", nil),
            ("retry: -1", nil),
            ("retry: +1", nil), ("retry: 1s", nil), ("retry: ", nil), ("retry: ١", nil),
            ("retry: 99999999999999999999", 1_000_000_000_000),
        ] as [(String, Int64?)])
    func retry(_ line: String, milliseconds: Int64?) throws {
        var parser = ServerSentEventParser()
        _ = try parser.consume(Array("\(line)\n".utf8))
        #expect(parser.reconnectionTime == milliseconds.map { .milliseconds($0) })
    }

    @Test("bytes that are not UTF-8 are replaced by U+FFFD")
    func repair() throws {
        var parser = ServerSentEventParser()
        let bytes = Array("data: a".utf8) + [0xFF] + Array("b\n\n".utf8)
        #expect(try parser.consume(bytes) == [message("a\u{FFFD}b")])
    }

    @Test("lines and events have size limits")
    func bounds() throws {
        var parser = ServerSentEventParser(limits: ServerSentEvent.Limits(line: 10, event: 20))
        #expect(try parser.consume(Array("data: 1234\n\n".utf8)) == [message("1234")])
        #expect(throws: CurlewError.self) { try parser.consume(Array("data: 12345".utf8)) }
        var endless = ServerSentEventParser(limits: ServerSentEvent.Limits(line: 10, event: 20))
        #expect(throws: CurlewError.self) {
            for _ in 0..<100 { _ = try endless.consume([UInt8(ascii: "x")]) }
        }
        var wide = ServerSentEventParser(limits: ServerSentEvent.Limits(line: 10, event: 20))
        #expect(throws: CurlewError.self) {
            for _ in 0..<100 { _ = try wide.consume(Array("data: 1234\n".utf8)) }
        }
    }

    @Test("events before an overlong line are delivered, even if they arrive together")
    func eventsBeforeFault() async throws {
        let limits = ServerSentEvent.Limits(line: 10, event: 20)
        let stream = Array("data: 1\n\ndata: 2\n\ndata: too long\n\ndata: 3\n\n".utf8)
        var parser = ServerSentEventParser(limits: limits)
        #expect(try parser.consume(stream) == [message("1"), message("2")])
        #expect(throws: CurlewError.self) { try parser.check() }
        #expect(throws: CurlewError.self) { try parser.consume(Array("data: 4\n\n".utf8)) }

        var events = CurlewResponse.Body.bytes(stream).serverSentEvents(limits: limits).makeAsyncIterator()
        #expect(try await events.next() == message("1"))
        #expect(try await events.next() == message("2"))
        for _ in 0..<2 {
            await #expect(throws: CurlewError.self) { try await events.next() }
        }
    }

    @Test("an event may be as large as its limit")
    func eventAtBound() throws {
        let limits = ServerSentEvent.Limits(line: 20, event: 5)
        var parser = ServerSentEventParser(limits: limits)
        #expect(
            try parser.consume(Array("data: 12345\n\ndata: 12\ndata: 34\n\n".utf8)).map(\.data) == ["12345", "12\n34"])
        #expect(throws: CurlewError.self) { try parser.consume(Array("data: 12\ndata: 345\n".utf8)) }
    }

    @Test("the events do not depend on the chunks, for any bytes")
    func anyBytes() throws {
        var generator = SeededNumbers(seed: 11)
        let alphabet = Array("data:ivnt ery1\n\r\u{0}\u{FEFF}".utf8) + [0xFF]
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            var whole = ServerSentEventParser()
            var cut = ServerSentEventParser()
            let events = try whole.consume(bytes)
            #expect(
                try pieces(of: bytes, size: Int.random(in: 1...5, using: &generator)).flatMap { try cut.consume($0) }
                    == events)
            #expect(cut.lastEventID == whole.lastEventID)
            #expect(cut.reconnectionTime == whole.reconnectionTime)
        }
    }

    @Test("a body's events are delivered one at a time, up to its end or failure")
    func body() async throws {
        var seen: [String] = []
        for try await event in chunkedBody([Array("data: 1\n\ndata: 2\n\nda".utf8), Array("ta: 3".utf8)])
            .serverSentEvents
        {
            seen.append(event.data)
        }
        #expect(seen == ["1", "2"])
        let broken = chunkedBody([Array("data: 1\n\ndata: 2".utf8)], then: CurlewError(.responseTruncated, "cut"))
        var iterator = broken.serverSentEvents.makeAsyncIterator()
        #expect(try await iterator.next()?.data == "1")
        #expect(await curlewError { _ = try await iterator.next() }?.code == .responseTruncated)
    }
}
