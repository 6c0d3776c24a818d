import Curlew
import CurlewTesting
import HTTPTypes
import Testing

@Suite("The masking of secrets in a recording", .timeLimit(.minutes(1)))
struct RecordingMaskingTests {
    /// The secret of these tests, which must not appear in the file.
    private static let secret = "hush4711"

    /// The text of the recording file of an exchange with a stub.
    private func file(
        _ request: CurlewRequest, _ answer: StubAnswer = .response(),
        masking: Recording.Masking = Recording.Masking()
    ) async throws -> String {
        let stub = StubTransport()
        stub.enqueue(answer)
        let recorder = RecordingTransport(stub, masking: masking)
        let response = try? await recorder.send(request)
        _ = try await response?.body.collect(upTo: .mebibytes(1))
        let folder = try ScratchFolder()
        try await recorder.save(to: folder.file("a.json"))
        return try folder.text("a.json")
    }

    @Test("secret fields are masked in requests, responses and trailers; schemes, names and attributes stay")
    func fields() async throws {
        let secret = Self.secret
        var request = try CurlewRequest(.put, "https://user:\(secret)@stub.test/a", options: RequestOptions())
        request.fields = [
            .authorization: "Bearer \(secret)", .cookie: "a=\(secret); b=\(secret)", .proxyAuthorization: secret,
            .init("X-API-Key")!: secret, .init("X-Mine")!: secret, .init("X-Marked")!: secret, .accept: "text/plain",
        ]
        request.options.secretFields = [.init("X-Marked")!]
        request.body = .string("x")
        request.trailers = [.init("X-Mine")!: secret]
        let answer = StubAnswer.response(fields: [
            .setCookie: "session=\(secret); Path=/; HttpOnly", .init("X-Mine")!: secret,
            .location: "https://u:\(secret)@stub.test/b?page=2&token=\(secret)#id_token=\(secret)",
            .init("Link")!: "<https://stub.test/?api_key=\(secret)&page=3>; rel=\"next\"",
        ])
        let text = try await self.file(request, answer, masking: Recording.Masking(fields: [.init("X-Mine")!]))
        #expect(!text.contains(secret))
        for line in [
            "Authorization: Bearer ***", "Cookie: a=***; b=***", "Accept: text/plain", "X-Marked: ***",
            "Set-Cookie: session=***; Path=/; HttpOnly",
            "Location: https://***@stub.test/b?page=2&token=***#id_token=***",
            #"Link: <https://stub.test/?api_key=***&page=3>; rel=\"next\""#,
        ] { #expect(text.contains(line), "\(line)") }
    }

    @Test(
        "query items are masked by name, in any spelling",
        arguments: [
            ("?token=S", "?token=***"), ("?a=1&Access_Token=S&b=2", "?a=1&Access_Token=***&b=2"),
            ("?%74oken=S", "?%74oken=***"), ("?user[password]=S", "?user[password]=***"),
            ("?token=S,S;S", "?token=***"), ("?token=%22S%22&x", "?token=***&x"), ("?notatoken=1", "?notatoken=1"),
            ("?token", "?token"), ("?q=token=S", "?q=token=S"), ("?x-amz-signature=S", "?x-amz-signature=***"),
        ])
    func queries(query: String, masked: String) async throws {
        let query = query.replacing("S", with: Self.secret)
        let masked = masked.replacing("S", with: Self.secret)
        let text = try await self.file(try CurlewRequest(.get, "https://stub.test/a\(query)#token=\(Self.secret)"))
        #expect(
            text.contains("\"https://stub.test/a\(try CurlewURI("http://a/" + masked).query.map { "?\($0)" } ?? "")\""))
    }

    @Test(
        "secret members of JSON are masked at any depth, in partial files and streams too, and the rest stays unchanged",
        arguments: [
            (#"{"password":"S","id":7}"#, #"{"password":"***","id":7}"#),
            (#"{ "a" : [ { "token" : "x\"S" } ] }"#, #"{ "a" : [ { "token" : "***" } ] }"#),
            (#"{"token":4711,"b":true}"#, #"{"token":"***","b":true}"#),
            (#"{"secret":{"a":["S","}"],"b":"S"},"c":1}"#, #"{"secret":"***","c":1}"#),
            (#"{"to\u006ben":"S"}"#, #"{"to\u006ben":"***"}"#),
            (#"{"token":"S"#, #"{"token":"***""#), (#"{"secret":[1,"S"#, #"{"secret":"***""#),
            (#"data: {"token":"S"}"#, #"data: {"token":"***"}"#),
            (#"5" wide, "token": "S""#, #"5" wide, "token": "***""#),
            (#"{"a":"token","b":"token: "}"#, #"{"a":"token","b":"token: "}"#),
            (#"{"token":null}"#, #"{"token":"***"}"#), (#"{"token""#, #"{"token""#),
            (#"{"token":"#, #"{"token":"***""#),
        ])
    func members(body: String, masked: String) async throws {
        let body = body.replacing("S", with: Self.secret)
        let stub = StubTransport()
        stub.enqueue(.response(body: .string(body)))
        let recorder = RecordingTransport(stub)
        let response = try await recorder.send(
            try CurlewRequest(
                .post, "https://stub.test/a", fields: [.contentType: "application/json"], body: .string(body)))
        #expect(try await response.body.collect(upTo: 1000) == Array(body.utf8))
        let exchange = try #require(try await recorder.recording().exchanges.first)
        #expect(exchange.request.body.text == masked)
        #expect(exchange.response?.body.text == masked)
    }

    @Test("secret fields of a form are masked")
    func form() async throws {
        let fields: HTTPFields = [.contentType: "application/x-www-form-urlencoded; charset=utf-8"]
        let body = "grant_type=password&password=\(Self.secret)+\"\(Self.secret)&x=1"
        let text = try await self.file(
            try CurlewRequest(.post, "https://stub.test/token", fields: fields, body: .string(body)))
        #expect(!text.contains(Self.secret) && text.contains("grant_type=password&password=***&x=1"))
    }

    @Test("a secret in a compressed body is masked")
    func compressed() async throws {
        let mock = try MockResponse(body: #"{"token":"\#(Self.secret)"}"#).encoded(.gzip)
        let server = try await MockServer.start { _ in mock }
        let recorder = RecordingTransport(try SessionActor())
        let response = try await recorder.send(try CurlewRequest(.get, server.url()))
        #expect(response.fields[.contentEncoding] == "gzip")
        _ = try await response.body.collect(upTo: 1000)
        let recorded = try await recorder.recording().exchanges.first?.response
        #expect(recorded?.body.text == #"{"token":"***"}"# && recorded?.fields[.contentEncoding] == nil)
        await server.shutdown()
    }

    @Test("closures mask other secrets in requests, responses and compared requests")
    func closures() async throws {
        let secret = Self.secret
        var masking = Recording.Masking()
        masking.scrubRequest = { $0.url.replace(secret, with: Recording.mask) }
        masking.scrubResponse = { $0.body.text?.replace(secret, with: Recording.mask) }
        let request = try CurlewRequest(.get, "https://stub.test/bot\(secret)/send")
        let text = try await self.file(request, .response(body: "you are \(secret)"), masking: masking)
        #expect(!text.contains(secret) && text.contains("/bot***/send") && text.contains("you are ***"))

        let folder = try ScratchFolder()
        try folder.write("a.json", text)
        let replay = try ReplayTransport(contentsOf: folder.file("a.json"), masking: masking)
        let error = await #expect(throws: CurlewError.self) {
            try await replay.send(try CurlewRequest(.get, "https://stub.test/bot\(secret)/delete"))
        }
        #expect(error?.message.contains(secret) == false)
        #expect(try await replay.send(request).status == .ok)
    }

    @Test("the message of a failure contains no secret")
    func failure() async throws {
        let text = try await self.file(
            try CurlewRequest(.get, "https://stub.test/?token=\(Self.secret)"),
            .failure(.connectionLost, "no answer from https://stub.test/?token=\(Self.secret)&a=1"))
        #expect(!text.contains(Self.secret) && text.contains("no answer from"))
    }
}
