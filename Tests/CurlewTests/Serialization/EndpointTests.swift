import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Endpoints", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct EndpointTests {
    struct User: Codable, Sendable, Equatable { var name: String }

    /// A request serializer that turns a user into a request.
    struct UserSerializer: CurlewMiddleware {
        func intercept(_ call: ParameterizedRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
            -> CurlewResponse
        {
            var request = call.request
            request.body = .bytes(try call.parameters.value()?.json() ?? [])
            request.fields[.contentType] = "application/json"
            return try await next(request)
        }
    }

    /// A link that appends a letter to a field of the request.
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
        let api = try HTTPSession(
            baseURL: server.url("/v1/"), eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) {
            Mark(letter: "s")
        }
        let user = Endpoint(.get, fields: [.userAgent: "-"]) { (_: Void) in
            "users/7"
        } through: {
            Mark(letter: "a")
            JSONResponseSerializer<User>()
            Mark(letter: "b")
        }
        for _ in 0..<2 { #expect(try await api.call(user) == User(name: "GET /v1/users/7 -abs")) }
        let raw = Endpoint(.delete, as: .raw) { (_: Void) in "users/7" }
        #expect(try await api.call(raw).status == .ok)
    }

    @Test("the argument of an endpoint passes through the chain's own serializer, and the value is returned")
    func withArgument() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        let create = Endpoint(.post) { (user: User) in
            .init("users", parameters: .encoding(user))
        } through: {
            UserSerializer()
            Mark(letter: "a")
            JSONResponseSerializer<User>().orFailure(User.self)
        }
        #expect(try await api.call(create, User(name: "Numenius")) == User(name: "Numenius"))
        let request = await server.takeRequest()
        #expect(request?.method == .post)
        #expect(request?.fields[.accept] == "application/json")
    }

    @Test("the argument of an endpoint may become the parameters of a request serializer")
    func parameters() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        let create = Endpoint(.post) { (user: User) in
            .init("users", parameters: .encoding(user))
        } through: {
            JSONRequestSerializer()
            Mark(letter: "a")
            JSONResponseSerializer<User>()
        }
        #expect(try await api.call(create, User(name: "Numenius")) == User(name: "Numenius"))
        let created = await server.takeRequest()
        #expect(created?.fields[.contentType] == "application/json")
        let search = Endpoint(.get) { (terms: [String: Int]) in
            .init("users", parameters: .encoding(terms))
        } through: {
            HTTPRequestSerializer()
            ResponseSerializers.Text()
        }
        _ = try await api.call(search, ["page": 2])
        _ = try await api.call(search, [:])
        #expect(await server.takeRequest()?.target == "/users?page=2")
        #expect(await server.takeRequest()?.target == "/users")
    }

    @Test("an endpoint of a type only needs its argument, and is independent of a session")
    func typed() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        let user = Endpoint(.get, as: User.self) { (id: String) in "users/\(id)" }
        #expect(try await api.call(user, "a/b").name.hasPrefix("GET /users/a%2Fb") == true)
        let create = Endpoint(.post, as: User.self) { (user: User) in .init("users", .json(user)) }
        #expect(try await api.call(create, User(name: "Numenius")) == User(name: "Numenius"))
        let all = Endpoint(.get, as: User.self) { "users" }
        #expect(try await api.call(all).name.hasPrefix("GET /users") == true)
    }

    @Test("an endpoint's error names the method, and an invalid reference is the call's error")
    func errors() async throws {
        let server = try await MockServer.start { _ in .notFound }
        let api = try makeSession(baseURL: server.url())
        let missing = Endpoint(.put) { (_: Void) in
            "x"
        } through: {
            Mark(letter: "a")
            JSONResponseSerializer<User>()
        }
        let error = await curlewError { _ = try await api.call(missing) }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.method == .put)
        #expect(error?.uri?.path == "/x")
        let first = Endpoint(.put, as: .json(User.self)) { (_: Void) in "x" }
        #expect(await curlewError { _ = try await api.call(first) }?.method == .put)
        let broken = Endpoint(.get, as: .text) { (_: Void) in "ftp://example.com/" }
        #expect(await curlewError { _ = try await api.call(broken) }?.code == .unsupportedScheme)
    }
}
