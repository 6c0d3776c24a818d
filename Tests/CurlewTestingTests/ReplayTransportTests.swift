import Curlew
import CurlewTesting
import HTTPTypes
import Testing

@Suite("ReplayTransport", .timeLimit(.minutes(1)))
struct ReplayTransportTests {
    private func exchange(
        _ method: HTTPRequest.Method, _ path: String, _ request: Recording.Body = Recording.Body(),
        fields: HTTPFields = [:], answer: String = ""
    ) -> Recording.Exchange {
        Recording.Exchange(
            request: Recording.Request(method, url: "https://api.test\(path)", fields: fields, body: request),
            response: Recording.Response(.ok, fields: [.contentType: "text/plain"], body: Recording.Body(answer)))
    }

    private func api(_ replay: ReplayTransport, chain: StandardChain.Options? = .bare) throws -> HTTPSession {
        try HTTPSession(baseURL: "https://api.test/", transport: replay, chain: chain)
    }

    @Test("a recorded response is replayed completely: interim responses, status, fields, version, trailers, chunks")
    func response() async throws {
        let recorded = Recording.Response(
            .init(code: 299, reasonPhrase: "Fine"), fields: [.contentLength: "1", .server: "s"],
            body: Recording.Body("0123456789"), trailers: [.eTag: "\"7\""], version: .http2,
            interim: [HTTPResponse(status: .init(code: 103))])
        let recording = Recording(exchanges: [
            Recording.Exchange(request: Recording.Request(.get, url: "https://api.test/a"), response: recorded)
        ])
        let response = try await self.api(ReplayTransport(recording, chunkSize: 4)).get("a")
        #expect(response.status.code == 299 && response.head.status.reasonPhrase == "Fine")
        #expect(response.version == .http2 && response.interim.map(\.status.code) == [103])
        #expect(response.fields[.server] == "s" && response.contentLength == 10 && response.body.length == 10)
        var chunks: [String] = []
        for try await chunk in response.body { chunks.append(String(decoding: chunk, as: UTF8.self)) }
        #expect(chunks == ["0123", "4567", "89"] && response.body.trailers[.eTag] == "\"7\"")
    }

    @Test("strict mode replays each exchange once, in the recorded order")
    func strict() async throws {
        let recording = Recording(exchanges: [
            self.exchange(.get, "/a", answer: "1"), self.exchange(.get, "/a", answer: "2"),
            self.exchange(.get, "/b", answer: "3"),
        ])
        let replay = ReplayTransport(recording, name: "birds.json")
        let api = try self.api(replay)
        #expect(try await api.get("a", as: .text) == "1")
        #expect(replay.unused == Array(recording.exchanges.dropFirst()))
        let tooFew = #expect(throws: TestKitError.self) { try replay.verify() }
        #expect(
            tooFew?.description == "birds.json, exchanges[1], GET https://api.test/a, was not used; "
                + "birds.json, exchanges[2], GET https://api.test/b, was not used")
        #expect(try await api.get("a", as: .text) == "2")
        #expect(try await api.get("b", as: .text) == "3")
        try replay.verify()
        let error = await #expect(throws: CurlewError.self) { try await api.get("b") }
        #expect(error?.code == .unexpectedRequest && error?.method == .get && error?.uri?.path == "/b")
        let tooMany = "request 4, GET https://api.test/b, is one more than birds.json has, which are 3"
        #expect(error?.message == tooMany)
        #expect(#expect(throws: TestKitError.self) { try replay.verify() }?.description == tooMany)
    }

    private struct Mismatch: Sendable, CustomTestStringConvertible {
        var method = HTTPRequest.Method.post
        var url = "https://api.test/birds?page=1&sort=name"
        var type = "application/json"
        var body: CurlewRequest.Body = .string(#"{"name":"Numenius","eggs":[4]}"#)
        let difference: String

        var testDescription: String { self.difference }
    }

    private static let mismatches = [
        Mismatch(method: .put, difference: "the method is PUT, not POST"),
        Mismatch(
            url: "http://api.test/birds?page=1&sort=name",
            difference: "the origin is http://api.test:80, not https://api.test:443"),
        Mismatch(
            url: "https://api.test:444/birds?page=1&sort=name",
            difference: "the origin is https://api.test:444, not https://api.test:443"),
        Mismatch(url: "https://api.test/bees?page=1&sort=name", difference: "the path is /bees, not /birds"),
        Mismatch(
            url: "https://api.test/birds?sort=name&page=2",
            difference: "the query does not have page=1; the query has page=2"),
        Mismatch(url: "https://api.test/birds?page=1", difference: "the query does not have sort=name"),
        Mismatch(type: "text/plain", difference: "the field Content-Type is text/plain, not application/json"),
        Mismatch(
            body: .string(#"{"name":"Numenius","eggs":[5]}"#), difference: "the body differs at eggs[0]: it is 5, not 4"
        ),
        Mismatch(
            body: .string(#"{"name":"Numenius","eggs":[4],"age":1}"#),
            difference: "the body differs at the top: there is also age"),
        Mismatch(body: .string(#"{"eggs":[4]}"#), difference: "the body differs at name: it is missing"),
        Mismatch(
            body: .string(#"{"name":"Numenius","eggs":[4,4]}"#),
            difference: "the body differs at eggs: there are 2 elements, not 1"),
        Mismatch(
            body: .string("a bird"),
            difference: #"the body differs from byte 0 on: it is "a bird", not "{"eggs":[4],"name":"Numenius"}""#),
        Mismatch(
            method: .put, url: "https://api.test/bees?page=1&sort=name",
            difference: "the method is PUT, not POST; the path is /bees, not /birds"),
    ]

    @Test(
        "a different request fails at once, and the error names the place and the difference", arguments: mismatches)
    private func mismatch(_ mismatch: Mismatch) async throws {
        let body = #"{"eggs":[4],"name":"Numenius"}"#
        let recording = Recording(exchanges: [
            self.exchange(
                .post, "/birds?page=1&sort=name", Recording.Body(body), fields: [.contentType: "application/json"])
        ])
        var matching = ReplayTransport.Matching.standard
        matching.fields = [.contentType]
        let replay = ReplayTransport(recording, name: "birds.json", matching: matching)
        let request = try CurlewRequest(
            mismatch.method, mismatch.url, fields: [.contentType: mismatch.type], body: mismatch.body)
        let error = await #expect(throws: CurlewError.self) { try await replay.send(request) }
        #expect(error?.code == .unexpectedRequest)
        #expect(
            error?.message == "request 1, \(mismatch.method) \(mismatch.url), is not the recorded one (birds.json, "
                + "exchanges[0], POST https://api.test/birds?page=1&sort=name): \(mismatch.difference)")
        // The refused request has not used up a recorded exchange.
        let good = try CurlewRequest(
            .post, "https://api.test/birds?sort=name&page=1", fields: [.contentType: "application/json"],
            body: Mismatch(difference: "").body)
        #expect(try await replay.send(good).status == .ok)
    }

    @Test("the comparison is limited to the chosen properties")
    func matching() async throws {
        let recording = Recording(exchanges: [self.exchange(.post, "/birds?page=1", Recording.Body("x"))])
        for matching in [
            ReplayTransport.Matching([.method]), .init([.path]), .init([.body]), .init([.query]), .init([]),
        ] {
            var request = try CurlewRequest(.put, "http://other.test/bees?page=2", body: .string("y"))
            if matching.parts.contains(.method) { request.method = .post }
            if matching.parts.contains(.path) { request.uri = try CurlewURI("http://other.test/birds") }
            if matching.parts.contains(.query) { request.uri = try CurlewURI("http://other.test/?page=1") }
            if matching.parts.contains(.body) { request.body = .string("x") }
            #expect(try await ReplayTransport(recording, matching: matching).send(request).status == .ok)
        }
    }

    @Test(
        "a masked value in the recording matches any value",
        arguments: [
            ("/a?token=***&b=1", "/a?b=1&token=new", "", "", "", ""),
            ("/bot***/send", "/bot4711/send", "", "", "", ""),
            (
                "/a", "/a", "application/json", #"{"mine":"***","b":"x***"}"#, "application/json",
                #"{"b":"xy","mine":{"c":1}}"#
            ),
            (
                "/a", "/a", "application/x-www-form-urlencoded", "a=***&b=1", "application/x-www-form-urlencoded",
                "b=1&a=2"
            ),
            ("/a", "/a", "text/plain", "one *** two *** three", "text/plain", "one 1 two 2 three"),
            (
                "/a", "/a", "multipart/form-data; boundary=X", "--X\r\n\r\na\r\n--X--",
                "multipart/form-data; boundary=YY", "--YY\r\n\r\na\r\n--YY--"
            ),
        ])
    func masked(path: String, sent: String, type: String, body: String, sentType: String, sentBody: String) async throws
    {
        let recording = Recording(exchanges: [
            self.exchange(.post, path, Recording.Body(body), fields: [.contentType: type])
        ])
        let request = try CurlewRequest(
            .post, "https://api.test\(sent)", fields: [.contentType: sentType], body: .string(sentBody))
        #expect(try await ReplayTransport(recording).send(request).status == .ok)
    }

    @Test("a masked host matches any host of the same scheme")
    func maskedHost() async throws {
        var exchange = self.exchange(.get, "/a?b=1")
        exchange.request.url = "https://***/a?b=1"
        let folder = try ScratchFolder()
        try Recording(exchanges: [exchange]).write(to: folder.file("a.json"))
        let replay = try ReplayTransport(contentsOf: folder.file("a.json"), mode: .loose)
        #expect(try await replay.send(try CurlewRequest(.get, "https://other.test/a?b=1")).status == .ok)
        for url in ["http://other.test/a?b=1", "https://other.test/b?b=1", "https://other.test/a?b=2"] {
            await #expect(throws: CurlewError.self) { try await replay.send(try CurlewRequest(.get, url)) }
        }
    }

    @Test("a secret field matches any secret of the same scheme")
    func secretFields() async throws {
        let recording = Recording(exchanges: [self.exchange(.get, "/a", fields: [.authorization: "Bearer ***"])])
        var matching = ReplayTransport.Matching.methodAndURL
        matching.fields = [.authorization]
        for (value, difference) in [
            ("Bearer new", nil), ("Basic new", "the field Authorization is Basic ***, not Bearer ***"),
            (nil, "the field Authorization is missing, not Bearer ***"),
        ] {
            let fields: HTTPFields = value.map { [.authorization: $0] } ?? [:]
            let request = try CurlewRequest(.get, "https://api.test/a", fields: fields)
            let replay = ReplayTransport(recording, matching: matching)
            if let difference {
                let error = await #expect(throws: CurlewError.self) { try await replay.send(request) }
                #expect(error?.message.hasSuffix(difference) == true)
            } else {
                #expect(try await replay.send(request).status == .ok)
            }
        }
    }

    @Test("loose mode replays in any order; equal requests get the recorded responses in turn, then the last one again")
    func loose() async throws {
        let recording = Recording(exchanges: [
            self.exchange(.get, "/a", answer: "1"), self.exchange(.get, "/b", answer: "2"),
            self.exchange(.get, "/a", answer: "3"),
        ])
        let replay = ReplayTransport(recording, name: "birds.json", mode: .loose)
        let api = try self.api(replay)
        var answers: [String] = []
        for _ in 0..<4 { answers.append(try await api.get("a", as: .text)) }
        #expect(answers == ["1", "3", "3", "3"])
        #expect(replay.unused == [recording.exchanges[1]])
        try replay.verify()
        #expect(try await api.get("b", as: .text) == "2")
        let error = await #expect(throws: CurlewError.self) { try await api.get("b?page=2") }
        let message =
            "request 6, GET https://api.test/b?page=2, was not recorded; the nearest is birds.json, exchanges[1], "
            + "GET https://api.test/b: the query has page=2"
        #expect(error?.message == message)
        #expect(#expect(throws: TestKitError.self) { try replay.verify() }?.description == message)
    }

    @Test("an empty recording has no answer in either mode", arguments: [ReplayTransport.Mode.strict, .loose])
    func empty(mode: ReplayTransport.Mode) async throws {
        let error = await #expect(throws: CurlewError.self) {
            try await self.api(ReplayTransport(Recording(), mode: mode)).get("a")
        }
        #expect(error?.code == .unexpectedRequest)
    }

    @Test("a recorded failure is thrown again after the bytes that preceded it")
    func failures() async throws {
        let request = Recording.Request(.get, url: "https://api.test/a")
        let response = Recording.Response(
            .ok, fields: [.contentLength: "100"], body: Recording.Body(Array("part".utf8), isComplete: false))
        let replay = ReplayTransport(
            Recording(exchanges: [
                Recording.Exchange(
                    request: request, failure: Recording.Failure(.connectTimeout, "late", stage: .connecting)),
                Recording.Exchange(
                    request: request, response: response,
                    failure: Recording.Failure(.responseTruncated, "cut", stage: .receiving)),
                Recording.Exchange(request: request, response: response),
            ]), name: "birds.json")
        let api = try self.api(replay)
        let error = await #expect(throws: CurlewError.self) { try await api.get("a") }
        #expect(error?.code == .connectTimeout && error?.message == "late" && error?.stage == .connecting)
        for (code, message) in [
            (ErrorCode.responseTruncated, "cut"),
            (
                .recordingFailed,
                "only the first 4 bytes of the body were read, and therefore recorded (birds.json, exchanges[2], GET https://api.test/a)"
            ),
        ] {
            let response = try await api.get("a")
            #expect(response.contentLength == 100)
            var chunks = response.body.makeAsyncIterator()
            #expect(try await chunks.next() == Array("part".utf8))
            let error = await #expect(throws: CurlewError.self) { try await chunks.next() }
            #expect(error?.code == code && error?.message == message)
            #expect(error?.stage == .receiving && error?.response?.status == .ok)
        }
    }

    @Test("a replayed request is checked, its body is consumed, and cancellation ends it")
    func treatment() async throws {
        let replay = ReplayTransport(Recording(exchanges: [self.exchange(.put, "/a", Recording.Body("x"))]))
        let api = try self.api(replay)
        let bad = await #expect(throws: CurlewError.self) { try await api.put("a", fields: [.contentLength: "7"]) }
        #expect(bad?.code == .invalidRequest)
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await api.put("a", .body(.string("x")))
        }
        let cancelled = await #expect(throws: CurlewError.self) { try await call.value }
        #expect(cancelled?.code == .cancelled)
        let once = CurlewRequest.Body.once(AsyncStream { $0.finish() } as AsyncStream<[UInt8]>)
        await #expect(throws: CurlewError.self) { try await api.put("a", .body(once)) }
        let again = await #expect(throws: CurlewError.self) { try await api.put("a", .body(once)) }
        #expect(again?.code == .bodyNotReplayable)
        #expect(try await api.put("a", .body(.string("x"))).status == .ok)
    }

    @Test(
        "the standard chain repeats its work on a recording: redirects, retries, cookies, decoding"
    )
    func chain() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            MockResponse(status: .found, fields: [.location: "/there?token=hush4711", .setCookie: "id=hush4711"]))
        server.enqueue(MockResponse(status: .serviceUnavailable, fields: [.retryAfter: "0"]))
        server.enqueue(try MockResponse(fields: [.contentType: "text/plain"], body: "at last").encoded(.gzip))
        let folder = try ScratchFolder()
        var urls: [[String]] = []
        for isRecording in [true, false] {
            let recorder = isRecording ? RecordingTransport(try SessionActor()) : nil
            let replay = isRecording ? nil : try ReplayTransport(contentsOf: folder.file("a.json"))
            let transport = try #require((recorder as (any Transport)?) ?? replay)
            let api = try HTTPSession(baseURL: server.url(), transport: transport) { CookieHandling(CookieJar()) }
            let response = try await api.get("here")
            #expect(try await response.body.collect(upTo: 100) == Array("at last".utf8))
            #expect(response.history.map(\.status) == [.found] && response.attempts == 2)
            try await recorder?.save(to: folder.file("a.json"))
            try replay?.verify()
            urls.append(try Recording(contentsOf: folder.file("a.json")).exchanges.map(\.request.url))
        }
        #expect(urls[0] == ["/here", "/there?token=***", "/there?token=***"].map { server.url($0) })
        #expect(try !folder.text("a.json").contains("hush4711"))
        await server.shutdown()
    }
}
