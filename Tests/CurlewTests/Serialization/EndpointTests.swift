import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("An endpoint", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct EndpointTests {
    struct User: Codable, Sendable, Equatable { var name: String }

    /// Turns a user into a request: what a request serializer does.
    struct UserSerializer: CurlewMiddleware {
        struct Input: EndpointInput {
            var request: CurlewRequest
            var user: User

            init(_ request: CurlewRequest, argument: User) {
                self.request = request
                user = argument
            }
        }

        func intercept(_ input: Input, next: Next<CurlewRequest, CurlewResponse>) async throws -> CurlewResponse {
            var request = input.request
            request.body = .string("{\"name\": \"\(input.user.name)\"}")
            request.fields[.contentType] = "application/json"
            return try await next(request)
        }
    }

    /// Adds a letter to a field on the way in.
    struct Mark: CurlewMiddleware {
        let letter: String

        func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
            -> CurlewResponse
        {
            var request = request
            request.fields[.userAgent] = (request.fields[.userAgent] ?? "") + letter
            return try await next(request)
        }
    }

    private func echo() async throws -> MockServer {
        try await MockServer.start { request in
            let body = try await request.body.collect()
            let agent = request.fields[.userAgent] ?? ""
            let text =
                body.isEmpty
                ? "{\"name\": \"\(request.method) \(request.path) \(agent)\"}" : String(decoding: body, as: UTF8.self)
            return MockResponse(fields: [.contentType: "application/json"], body: .string(text))
        }
    }

    @Test("an endpoint without an argument can be called many times")
    func withoutArgument() async throws {
        let server = try await echo()
        let api = try HTTPSession(baseURL: server.url("/v1/"), eventLoops: [CurlewEventLoop(name: "curlew-test")]) {
            Mark(letter: "s")
        }
        let user = api.endpoint(.get, "users/7", fields: [.userAgent: "-"]) {
            Mark(letter: "a")
            JSONResponseSerializer<User>()
            Mark(letter: "b")
        }
        for _ in 0..<2 { #expect(try await user() == User(name: "GET /v1/users/7 -abs")) }
        let raw = api.endpoint(.delete, "users/7") {}
        #expect(try await raw().status == .ok)
    }

    @Test("the argument of an endpoint goes through the chain's own serializer, and the value comes back")
    func withArgument() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        let create = api.endpoint(.post, "users") {
            UserSerializer()
            Mark(letter: "a")
            JSONResponseSerializer<User>().orFailure(User.self)
        }
        #expect(try await create(User(name: "Numenius")) == User(name: "Numenius"))
        let request = await server.takeRequest()
        #expect(request?.method == .post)
        #expect(request?.fields[.accept] == "application/json")
    }

    @Test("the argument of an endpoint may become the parameters of a request serializer")
    func parameters() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        let create = api.endpoint(.post, "users", taking: User.self) {
            JSONRequestSerializer()
            Mark(letter: "a")
            JSONResponseSerializer<User>()
        }
        #expect(try await create(User(name: "Numenius")) == User(name: "Numenius"))
        let created = await server.takeRequest()
        #expect(created?.fields[.contentType] == "application/json")
        let search = api.endpoint(.get, "users", taking: [String: Int].self) {
            HTTPRequestSerializer()
            StringResponseSerializer()
        }
        _ = try await search(["page": 2])
        _ = try await search([:])
        #expect(await server.takeRequest()?.target == "/users?page=2")
        #expect(await server.takeRequest()?.target == "/users")
    }

    @Test("an endpoint's error names the method, and a reference that cannot be resolved is the call's error")
    func errors() async throws {
        let server = try await MockServer.start { _ in .notFound }
        let api = try makeSession(baseURL: server.url())
        let missing = api.endpoint(.put, "x") {
            Mark(letter: "a")
            JSONResponseSerializer<User>()
        }
        let error = await curlewError { _ = try await missing() }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.method == .put)
        #expect(error?.uri?.path == "/x")
        let first = api.endpoint(.put, "x") { JSONResponseSerializer<User>() }
        #expect(await curlewError { _ = try await first() }?.method == .put)
        let broken = api.endpoint(.get, "ftp://example.com/") { StringResponseSerializer() }
        #expect(await curlewError { _ = try await broken() }?.code == .unsupportedScheme)
    }
}
