import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("The printed recipes", .endsServers, .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RecipeTests {
    private static let content = [UInt8](repeating: 7, count: 100_000)

    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            let body = try await request.body.collect()
            return try Self.answer(request, body)
        }
    }

    private static func json(_ text: String, _ fields: HTTPFields = HTTPFields()) -> MockResponse {
        var fields = fields
        fields[.contentType] = "application/json"
        return MockResponse(fields: fields, body: .string(text))
    }

    private static func answer(_ request: InboundRequest, _ body: [UInt8]) throws -> MockResponse {
        let text = String(decoding: body, as: UTF8.self)
        let isAuthorized = request.fields[.authorization] == "Bearer t0ken"
        switch request.path {
        case "/v1/users/7": return json(#"{"id":7,"full_name":"Numenius","fullName":"Numenius"}"#)
        case "/v1/users/..%2Fadmin": return json(#"{"id":0,"full_name":"\#(isAuthorized)"}"#)
        case "/v1/users/0":
            return MockResponse(
                status: .notFound, fields: [.contentType: "application/problem+json"], body: #"{"title":"gone"}"#)
        case "/v1/users":
            return request.target.contains("page=2")
                ? json(#"[{"id":2,"full_name":"b"}]"#)
                : json(#"[{"id":1,"full_name":"a"}]"#, [HTTPField.Name("Link")!: #"<users?page=2>; rel="next""#])
        case "/v1/people":
            return request.target.contains("cursor=a%26b")
                ? json(#"{"users":[{"id":2,"full_name":"b"}]}"#)
                : json(#"{"users":[{"id":1,"full_name":"a"}],"cursor":"a&b"}"#)
        case "/v1/search": return json(#"[{"title":"\#(request.target)"}]"#)
        case "/v1/orders":
            return request.method == .post
                ? json(#"{"id":1,"item":"\#(text.contains("egg") ? "egg" : "?")"}"#)
                : json(#"[{"id":1,"item":"egg"}]"#, [.eTag: "\"7\""])
        case "/v1/orders/1": return MockResponse(fields: [.contentType: "text/plain"], body: "OK")
        case "/v1/report": return json(#"{"lines":3}"#)
        case "/v1/about": return MockResponse(body: "about birds")
        case "/v1/messages", "/v1/runs/7/events":
            if request.fields[HTTPField.Name("Last-Event-ID")!] == "2" { return MockResponse(status: .noContent) }
            return MockResponse(
                fields: [.contentType: "text/event-stream"],
                body: .string(
                    "retry: 0\nid: 1\ndata: {\"text\":\"a\"}\n\nid: 2\ndata: {\"text\":\"b\"}\n\n"
                        + (request.method == .post ? "data: [DONE]\n\n" : "")))
        case "/v1/export.ndjson": return MockResponse(body: "{\"id\":1}\n{\"id\":2}\n")
        case "/v1/oauth/token":
            return json(
                text == "client_id=me&grant_type=client_credentials" || text == "grant_type=client_credentials"
                    ? #"{"access_token":"t0ken","expires_in":60}"# : "{}")
        case "/v1/photos", "/v1/recordings": return json(#"{"bytes":\#(body.count)}"#)
        case "/v1/big.iso": return MockResponse(fields: [.eTag: "\"x\""], body: .bytes(content))
        case "/v1/login": return MockResponse(fields: [.setCookie: "session=\(text.contains("user=u") ? "u" : "?")"])
        case "/v1/account": return MockResponse(body: .string(request.fields[.cookie] ?? "nobody"))
        case "/v1/changes":
            return request.target.contains("since=1") ? MockResponse(status: .noContent) : json(#"{"cursor":"1"}"#)
        case "/v1/stamp": return MockResponse(body: .string(request.fields[HTTPField.Name("X-Request-ID")!] ?? "-"))
        case "/v1/mine": return MockResponse(status: isAuthorized ? .ok : .unauthorized, body: "mine")
        default: return .notFound
        }
    }

    @Test("the recipes for calls work")
    func calls() async throws {
        let server = try await server()
        let api = try RecipeSnippets.client(server.url("/v1/"), "t0ken")
        #expect(try await RecipeSnippets.user(api, "7").fullName == "Numenius")
        #expect(try await RecipeSnippets.user(api, "../admin").fullName == "true")
        let hits = try await RecipeSnippets.search(api, "a&b", 2, Date(timeIntervalSince1970: 0), nil)
        #expect(hits.map(\.title) == ["/v1/search?page=2&q=a%26b&since=1970-01-01%2000%3A00%3A00%20%2B0000"])
        #expect(try await RecipeSnippets.order(api, .init(item: "egg")) == .init(id: 1, item: "egg"))
        #expect(try await RecipeSnippets.orderOnce(api, .init(item: "egg")) == .init(id: 1, item: "egg"))
        let (page, tag) = try await RecipeSnippets.orders(api)
        #expect(page.count == 1 && tag == "\"7\"")
        try await RecipeSnippets.delete(api, 1)
        #expect(try await RecipeSnippets.report(api) == .init(lines: 3))
        #expect(try await RecipeSnippets.text(api) == "about birds")
        #expect(try await RecipeSnippets.problem(api) == nil)
        #expect(try await RecipeSnippets.endpoints(api).id == 7)
        await api.shutdown()
    }

    @Test("the recipes for streams work")
    func streams() async throws {
        let server = try await server()
        let api = try RecipeSnippets.client(server.url("/v1/"), "t0ken")
        #expect(try await RecipeSnippets.deltas(api, .init(question: "?")) == "ab")
        #expect(try await RecipeSnippets.observed(api, 7) == ["a", "b"])
        #expect(try await RecipeSnippets.rows(api) == 3)
        #expect(try await RecipeSnippets.pages(api) == ["a", "b"])
        #expect(try await RecipeSnippets.pagesByCursor(api) == ["a", "b"])
        await api.shutdown()
    }

    @Test("the recipes for forms and files work")
    func files() async throws {
        let server = try await server()
        let api = try RecipeSnippets.client(server.url("/v1/"), "t0ken")
        #expect(try await RecipeSnippets.token(api, "me") == .init(accessToken: "t0ken", expiresIn: 60))
        let folder = try ScratchFolder()
        let path = try folder.write("photo.jpg", Self.content)
        #expect(try await RecipeSnippets.photo(api, path).bytes > Self.content.count)
        #expect(try await RecipeSnippets.upload(api, path).bytes == Self.content.count)
        let sha256 = try MessageDigest(.sha256)
        try sha256.update(Self.content)
        let published = try sha256.finish()
        let shown = Guarded<[Int64]>([])
        let file = try await RecipeSnippets.download(api, folder.path, published) { step in
            shown.withLock { $0.append(step.received.wire) }
        }
        #expect(file.size == Int64(Self.content.count) && shown.withLock { $0.last } == file.size)
        let discs = (1...6).map {
            RecipeSnippets.Disc(url: server.url("/v1/big.iso"), name: "\($0).iso", sha256: published)
        }
        for _ in 0..<2 { try await RecipeSnippets.mirror(api, discs, folder.path) }
        await api.shutdown()
    }

    @Test("the recipes for links, credentials and cookies work")
    func links() async throws {
        let server = try await server()
        let base = server.url("/v1/")
        let stamped = try RecipeSnippets.stamped(base) { "id-1" }
        #expect(try await stamped.get("stamp", as: .text) == "id-1")
        var login = try HTTPSession(baseURL: base)
        login.json = JSONCoding(keys: .snakeCase)
        let renewed = try RecipeSnippets.renewed(base, login)
        #expect(try await renewed.get("mine", as: .text) == "mine")
        #expect(try await RecipeSnippets.cookies(base, "u", "p") == "session=u")
        let patient = try RecipeSnippets.patient(base)
        #expect(try await RecipeSnippets.poll(patient, since: "0") == .init(cursor: "1"))
        #expect(try await RecipeSnippets.poll(patient, since: "1") == nil)
        #expect(try await RecipeSnippets.stubbed().map(\.id) == [7])
        for session in [stamped, login, renewed, patient] { await session.shutdown() }
    }

    @Test("the recipe for webhooks only connects to public addresses")
    func webhooks() async throws {
        let server = try await server()
        let hooks = try RecipeSnippets.webhooks { "\($0.count)" }
        let error = await curlewError {
            try await RecipeSnippets.notify(hooks, server.url(), .init(id: 1, item: "egg"), "event-1")
        }
        #expect(error?.code == .addressForbidden)
        await hooks.shutdown()
    }

    @Test("the recipe for webhooks signs each attempt, and every attempt has the same key")
    func signedWebhooks() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(status: .serviceUnavailable), MockResponse(status: .noContent))
        let signatures = Guarded(0)
        let hooks = try HTTPSession {
            StandardChain()
            RecipeSnippets.WebhookSignature { message in
                signatures.withLock { $0 += 1 }
                return "\(signatures.withLock { $0 }) \(message.count)"
            }
        }
        try await RecipeSnippets.notify(hooks, server.url(), .init(id: 1, item: "egg"), "event-1")
        for attempt in 1...2 {
            let request = try #require(await server.takeRequest())
            let time = try #require(request.fields[HTTPField.Name("X-Timestamp")!])
            let length = time.utf8.count + 1 + request.text.utf8.count
            #expect(request.fields[HTTPField.Name("X-Signature")!] == "\(attempt) \(length)")
            #expect(request.fields[.idempotencyKey] == "event-1")
        }
        try server.verify()
        await hooks.shutdown()
    }
}
