import CurlewTesting
import Foundation
import Testing

@testable import Probe

@Suite("The probe as a process", .timeLimit(.minutes(2)))
struct ProcessTests {
    @Test("the examples of the protocol's page are answered line by line, and the end of the input ends the probe")
    func cases() async throws {
        let server = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        let refused = try RefusedPort.unused()
        let examples = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = try String(contentsOf: examples.appendingPathComponent("probe-cases.jsonl"), encoding: .utf8)
        let probe = try ProbeProcess()
        // The ports of the file are placeholders, which the test replaces.
        try probe.send(
            file.replacing("127.0.0.1:8080", with: "127.0.0.1:\(server.port)")
                .replacing("127.0.0.1:1/", with: "127.0.0.1:\(refused.port)/"))
        try probe.endInput()
        var answers: [String] = []
        while let line = try await probe.next() { answers.append(line) }
        let first =
            #"{"id":1,"status":200,"reason":"OK","headers":[["Content-Length","5"]],"body":"aGVsbG8=","#
            + #""url":"\#(server.url("/hello"))","redirects":0,"#
        #expect(answers.contains { $0.hasPrefix(first) })
        let second =
            #"{"id":2,"error":"could not connect to 127.0.0.1:\#(refused.port): connection refused","#
            + #""code":"connection-refused"}"#
        #expect(answers.contains(second))
        #expect(answers.contains(#"{"id":3,"skip":"op teleport"}"#))
        #expect(answers.count == file.split(separator: "\n").count)
        #expect(answers.filter { $0.contains(#""code":"bad-request""#) }.count == 1)
        #expect(await probe.status() == 0)
        #expect(try probe.complaints().isEmpty)
        await server.shutdown()
    }

    @Test("running requests are finished at the end of the input, and a last line without a line end is answered")
    func endOfInput() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate { break }
            return MockResponse(body: "late")
        }
        let probe = try ProbeProcess()
        try probe.send(#"{"id":1,"url":"\#(server.url())"}"# + "\n" + #"{"id":2,"op":"teleport"}"#)
        try probe.endInput()
        #expect(try await probe.next() == #"{"id":2,"skip":"op teleport"}"#)
        open.yield()
        #expect(try await probe.next()?.contains(#""body":"bGF0ZQ==""#) == true)
        #expect(try await probe.next() == nil)
        #expect(await probe.status() == 0)
        await server.shutdown()
    }

    @Test("each answer is written at once, while the input is open")
    func flushed() async throws {
        let probe = try ProbeProcess()
        for id in 0..<3 {
            try probe.send(#"{"id":\#(id),"op":"teleport"}"# + "\n")
            #expect(try await probe.next() == #"{"id":\#(id),"skip":"op teleport"}"#)
        }
        try probe.endInput()
        #expect(await probe.status() == 0)
    }

    @Test("an empty input ends the probe")
    func nothing() async throws {
        let probe = try ProbeProcess()
        try probe.endInput()
        #expect(try await probe.next() == nil)
        #expect(await probe.status() == 0)
    }

    @Test("lines are read even if the answers are not, and no answer is lost or torn")
    func slowReader() async throws {
        let probe = try ProbeProcess()
        let padding = String(repeating: "x", count: 200)
        for id in 0..<2000 { try probe.send(#"{"id":\#(id),"op":"\#(padding)"}"# + "\n") }
        try probe.endInput()
        var identifiers: Set<Int> = []
        for _ in 0..<2000 {
            let answer = try JSONReader.read(Array(try #require(try await probe.next()).utf8))
            #expect(answer.skip == "op \(padding)")
            identifiers.insert(Int(try #require(answer.number("id"))))
        }
        #expect(identifiers.count == 2000)
        #expect(await probe.status() == 0)
    }

    @Test("the probe exits with 0 and prints no error when the reader closes its output")
    func closedOutput() async throws {
        let probe = try ProbeProcess()
        try probe.closeOutput()
        try probe.send(#"{"id":1,"op":"teleport"}"# + "\n")
        #expect(await probe.status() == 0)
        #expect(try probe.complaints().isEmpty)
    }

    @Test("a line of more than 64 MiB is refused, and the next line is answered")
    func longLine() async throws {
        let probe = try ProbeProcess()
        try probe.send(#"{"id":1,"body":""#)
        let piece = String(repeating: "A", count: 8 << 20)
        for _ in 0..<9 { try probe.send(piece) }
        try probe.send("\"}\n" + #"{"id":2,"op":"teleport"}"# + "\n")
        let refused = #"{"id":1,"error":"the line is longer than 67108864 bytes","code":"bad-request"}"#
        // The answers come in any order.
        let answers = Set([try await probe.next(), try await probe.next()])
        #expect(answers == [refused, #"{"id":2,"skip":"op teleport"}"#])
        try probe.endInput()
        #expect(await probe.status() == 0)
    }
}
