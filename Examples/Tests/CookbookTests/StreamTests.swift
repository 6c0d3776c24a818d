import Cookbook
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

@Suite("Streams of the cookbook", .timeLimit(.minutes(2)))
struct StreamTests {
    /// An answer of words, each an event. After `count` words it waits at a gate.
    private func answer(_ words: [String], gate: Gate? = nil, after count: Int = .max) -> MockResponse {
        MockResponse(
            fields: [.contentType: "text/event-stream"],
            body: .stream { writer in
                for (index, word) in words.enumerated() {
                    if index == count { await gate?.pass() }
                    try await writer.write("data: {\"text\":\"\(word)\"}\n\n")
                }
                try await writer.write("data: [DONE]\n\n")
            })
    }

    @Test("a chat shows each word when it arrives, and ends at the end marker")
    func chatWhole() async throws {
        let server = try await MockServer.start()
        server.enqueue(answer(["a ", "long ", "bill"]))
        var shown: [String] = []
        let text = try await chat("What is a curlew?", at: server.url(), token: "t0ken") { shown.append($0) }
        #expect(text == "a long bill" && shown == ["a ", "long ", "bill"])
        let request = try #require(await server.takeRequest())
        #expect(request.text == #"{"prompt":"What is a curlew?","stream":true}"#)
        #expect(request.fields[.authorization] == "Bearer t0ken" && request.fields[.accept] == "text/event-stream")
        await server.shutdown()
    }

    @Test("a chat that is left early ends its exchange")
    func chatLeft() async throws {
        let gate = Gate()
        let server = try await MockServer.start()
        server.enqueue(answer(["one ", "two ", "three "], gate: gate, after: 2))
        let text = try await chat(
            "Count", at: server.url(), token: "t", isEnough: { $0.hasSuffix("two ") }, show: { _ in })
        #expect(text == "one two ")
        try await server.waitForConnections(open: 0)
        await gate.open()
        await server.shutdown()
    }

    @Test("a chat whose task is cancelled throws, and ends its exchange")
    func chatCancelled() async throws {
        let gate = Gate()
        let server = try await MockServer.start()
        server.enqueue(answer(["one ", "two "], gate: gate, after: 1))
        let url = server.url()
        let (words, tell) = AsyncStream.makeStream(of: String.self)
        let call = Task { try await chat("Count", at: url, token: "t") { tell.yield($0) } }
        for await word in words {
            #expect(word == "one ")
            call.cancel()
            break
        }
        let error = await #expect(throws: CurlewError.self) { try await call.value }
        #expect(error?.isCancellation == true)
        try await server.waitForConnections(open: 0)
        await gate.open()
        await server.shutdown()
    }

    @Test("a question that the server refuses is not sent again")
    func chatRefused() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .internalServerError) }
        let error = await #expect(throws: CurlewError.self) {
            try await chat("Why?", at: server.url(), token: "t") { _ in }
        }
        #expect(error?.status == .internalServerError)
        #expect(server.requestCount == 1)
        await server.shutdown()
    }

    @Test("the values of lines are added up, and a line without JSON is skipped")
    func lines() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            MockResponse(
                body:
                    "{\"station\":1,\"level\":2.5}\nbroken\n\n{\"station\":1,\"level\":4}\n{\"station\":2,\"level\":1}")
        )
        let sums = try await totals(of: server.url())
        #expect(sums.rows == 3 && sums.levels == [1: 6.5, 2: 1])
        #expect(await server.takeRequest()?.target == "/readings.ndjson?year=2026")
        await server.shutdown()
    }

    @Test("an export that breaks off is an error")
    func linesBrokenOff() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(body: .string(String(repeating: "{\"station\":1,\"level\":2.5}\n", count: 10_000)))
        }
        try server.inject(Fault(.inResponseBody(after: 100_000), .close))
        let error = await #expect(throws: CurlewError.self) { try await totals(of: server.url()) }
        #expect(error?.code == .responseTruncated)
        await server.shutdown()
    }

    @Test("an export of 64 MiB takes as little memory as one of 4 MiB")
    func linesInLittleMemory() async throws {
        let note = String(repeating: "n", count: 4000)
        let batch = String(repeating: "{\"note\":\"\(note)\",\"station\":1,\"level\":2.5}\n", count: 32)
        var peaks: [Int] = []
        for count in [32, 512] {
            let server = try await MockServer.start { _ in
                MockResponse(body: .stream { writer in for _ in 0..<count { try await writer.write(batch) } })
            }
            let program = try ProgramProcess("lines", server.url())
            let end = await program.end()
            #expect(end.status == 0 && program.lines == ["\(count * 32)"])
            peaks.append(end.peakResidentBytes)
            await server.shutdown()
        }
        #expect(peaks[1] - peaks[0] < 24 << 20, "\(peaks.map { $0 >> 20 }) MiB")
    }
}
