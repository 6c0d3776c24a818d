import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Secrets of a session and the origin of its base", .endsServers, .noLeaks, .timeLimit(.minutes(1)))
struct SecretScopeTests {
    private static let apiKey = HTTPField.Name("X-API-Key")!

    /// A link that adds a bearer token to every request, without regard to its origin.
    private static let bearer = Link { request, next in
        var request = request
        request.fields[.authorization] = "Bearer secret"
        return try await next(request)
    }

    private func stub() -> StubTransport { StubTransport { _ in .response(.ok) } }

    private func session(_ stub: StubTransport, _ chain: StandardChain.Options? = .bare) throws -> HTTPSession {
        try HTTPSession(
            baseURL: "https://a.test/v1/", transport: stub, defaultFields: [Self.apiKey: "key", .accept: "a/b"],
            chain: chain
        ) { Self.bearer }
    }

    private func fields(_ stub: StubTransport, _ index: Int = 0) throws -> HTTPFields {
        try #require(stub.received.count > index)
        return stub.received[index].request.fields
    }

    @Test(
        "default fields and links' credentials are sent only to the base",
        arguments: ["x", "/x", "https://a.test/x", "https://A.test:443/x", "//a.test/"])
    func base(_ reference: String) async throws {
        let stub = stub()
        _ = try await session(stub).get(.raw(reference))
        let sent = try fields(stub)
        #expect(sent[.authorization] == "Bearer secret" && sent[Self.apiKey] == "key")
    }

    @Test(
        "an absolute reference to another origin carries all fields except secrets",
        arguments: [
            "https://evil.test/x", "http://a.test/x", "https://a.test:444/x", "//evil.test/x",
            "https://a.test.evil.test/",
        ])
    func foreign(_ reference: String) async throws {
        let stub = stub()
        _ = try await session(stub).get(.raw(reference))
        let sent = try fields(stub)
        #expect(sent[.authorization] == nil && sent[Self.apiKey] == nil && sent[.accept] == "a/b")
    }

    @Test("fields set on the request itself are sent to its target, and to no other origin")
    func callers() async throws {
        let stub = stub()
        let api = try HTTPSession(baseURL: "https://a.test/", transport: stub)
        _ = try await api.get("https://b.test/x", fields: [.authorization: "mine", Self.apiKey: "mine"])
        #expect(try fields(stub)[.authorization] == "mine")
        #expect(try fields(stub)[Self.apiKey] == "mine")
        stub.enqueue(.response(.found, fields: [.location: "https://c.test/"]))
        _ = try await api.get("https://b.test/x", fields: [.authorization: "mine"])
        #expect(try fields(stub, 1)[.authorization] == "mine")
        #expect(try fields(stub, 2)[.authorization] == nil)
    }

    @Test("a redirect to another origin loses a renewed credential, in any field")
    func renewedCredentials() async throws {
        let name = HTTPField.Name("X-Example-Badge")!
        let stub = stub()
        stub.enqueue(.response(.found, fields: [.location: "https://b.test/"]))
        let renewal = try CredentialRenewal(
            for: "https://a.test", initial: "secret", apply: { $1.fields[name] = $0 }, renew: { _ in "secret" })
        let api = try HTTPSession(transport: stub) {
            renewal
            StandardChain()
        }
        _ = try await api.get("https://a.test/x", fields: [.accept: "a/b"])
        #expect(try fields(stub, 0)[name] == "secret")
        #expect(try fields(stub, 1)[name] == nil)
        #expect(try fields(stub, 1)[.accept] == "a/b")
    }

    @Test("a redirect to another origin loses credentials of links inside the redirects")
    func redirects() async throws {
        let stub = stub()
        stub.enqueue(.response(.found, fields: [.location: "https://b.test/"]))
        let api = try HTTPSession(baseURL: "https://a.test/", transport: stub) {
            StandardChain()
            Self.bearer
        }
        _ = try await api.get("x")
        #expect(try fields(stub, 0)[.authorization] == "Bearer secret")
        #expect(try fields(stub, 1)[.authorization] == nil)
    }

    @Test("marked fields are secrets too, and an origin can be allowed")
    func allowed() async throws {
        let stub = stub()
        var api = try session(stub)
        let own = HTTPField.Name("X-Own")!
        api.defaultFields[own] = "secret"
        var options = RequestOptions()
        options.secretFields = [own]
        _ = try await api.get("https://b.test/", options: options)
        #expect(try fields(stub)[own] == nil)
        api.secretScope = .origins([try CurlewURI("https://b.test/path")])
        _ = try await api.get("https://b.test/", options: options)
        #expect(try fields(stub, 1)[own] == "secret" && fields(stub, 1)[.authorization] == "Bearer secret")
        _ = try await api.get("https://c.test/")
        #expect(try fields(stub, 2)[.authorization] == nil)
        api.secretScope = .anyOrigin
        _ = try await api.get("https://c.test/")
        #expect(try fields(stub, 3)[.authorization] == "Bearer secret")
    }

    @Test("the cookies of a jar and the answers to challenges are sent to their own origins")
    func scoped() async throws {
        let stub = StubTransport { request in
            switch request.index {
            case 0: .response(.ok, fields: [.setCookie: "k=b"])
            case 2: .response(.unauthorized, fields: [.wwwAuthenticate: #"Basic realm="r""#])
            default: .response(.ok)
            }
        }
        var options = StandardChain.Options.singleUser
        options.authentication = ChallengeAuthentication(
            try Credential.Scoped("https://b.test", .password(user: "u", password: "p")))
        let api = try HTTPSession(
            baseURL: "https://a.test/v1/", transport: stub, defaultFields: [Self.apiKey: "key"], chain: options)
        for _ in 0..<3 { _ = try await api.get("https://b.test/x") }
        #expect(try fields(stub, 1)[.cookie] == "k=b" && fields(stub, 1)[.authorization] == nil)
        #expect(try fields(stub, 3)[.authorization] == "Basic dTpw" && fields(stub, 3)[Self.apiKey] == nil)
    }

    @Test("without a base URL no field is removed")
    func noBase() async throws {
        let stub = stub()
        let api = try HTTPSession(transport: stub, defaultFields: [Self.apiKey: "key"], chain: .bare) { Self.bearer }
        _ = try await api.get("https://b.test/x")
        #expect(try fields(stub)[.authorization] == "Bearer secret" && fields(stub)[Self.apiKey] == "key")
    }

    @Test("a link's secret that replaces the caller's own is not sent to another origin")
    func replaced() async throws {
        let stub = stub()
        _ = try await session(stub).get("https://b.test/", fields: [.authorization: "mine", Self.apiKey: "mine"])
        #expect(try fields(stub)[.authorization] == nil && fields(stub)[Self.apiKey] == "mine")
    }

    @Test("an origin's own cookie does not let a link's cookie for the base pass")
    func cookies() async throws {
        let stub = stub()
        let base = Link { request, next in
            var request = request
            request.fields[.cookie] = "session=SECRET"
            return try await next(request)
        }
        let api = try HTTPSession(baseURL: "https://a.test/", transport: stub, chain: .bare) {
            base
            CookieHandling()
        }
        for url in ["https://evil.test/1", "https://a.test/1"] {
            stub.enqueue(.response(.ok, fields: [.setCookie: "own=1"]))
            _ = try await api.get(.raw(url))
            _ = try await api.get(.raw(url))
        }
        #expect(try fields(stub, 0)[.cookie] == nil)
        #expect(try fields(stub, 1)[.cookie] == "own=1")
        #expect(try fields(stub, 2)[.cookie] == "session=SECRET")
        #expect(try fields(stub, 3)[fields: .cookie].map(\.value) == ["session=SECRET; own=1"])
        _ = try await api.get("https://evil.test/2", fields: [.accept: "a/b"])
        #expect(try fields(stub, 4)[.cookie] == "own=1")
    }

    @Test("the caller's own cookie goes to another origin with the jar's, and its trailers go with it")
    func ownCookies() async throws {
        let stub = stub()
        let jar = CookieJar()
        let api = try HTTPSession(baseURL: "https://a.test/", transport: stub, chain: .bare) { CookieHandling(jar) }
        stub.enqueue(.response(.ok, fields: [.setCookie: "own=1"]))
        _ = try await api.get("https://b.test/")
        _ = try await api.get("https://b.test/", fields: [.cookie: "mine=2"])
        #expect(try fields(stub, 1)[fields: .cookie].map(\.value) == ["mine=2; own=1"])
        _ = try await api.send(
            CurlewRequest(.put, "https://b.test/", body: .string("x"), trailers: [Self.apiKey: "mine"]))
        #expect(stub.received.last?.request.trailers[Self.apiKey] == "mine")
    }

    @Test("a link's secret trailer for the base is not sent to another origin")
    func trailers() async throws {
        let stub = stub()
        let api = try HTTPSession(baseURL: "https://a.test/", transport: stub, chain: .bare) {
            Link { request, next in
                var request = request
                request.trailers = [Self.apiKey: "SECRET", .accept: "a/b"]
                return try await next(request)
            }
        }
        for url in ["https://a.test/", "https://b.test/"] {
            _ = try await api.send(CurlewRequest(.put, url, body: .string("x")))
        }
        #expect(stub.received.first?.request.trailers[Self.apiKey] == "SECRET")
        #expect(stub.received.last?.request.trailers == [.accept: "a/b"])
    }

    @Test("credentials of a serializer, and of an endpoint's links, do not count as the caller's")
    func serializers() async throws {
        let stub = stub()
        var api = try HTTPSession(baseURL: "https://a.test/", transport: stub, chain: .bare)
        var serializer = HTTPRequestSerializer()
        try serializer.setAuthorization(user: "u", password: "p")
        api.requestSerializer = serializer
        _ = try await api.get("https://b.test/", parameters: ["k": 1], fields: [Self.apiKey: "mine"])
        _ = try await api.get("x", parameters: ["k": 1])
        #expect(try fields(stub)[.authorization] == nil && fields(stub)[Self.apiKey] == "mine")
        #expect(try fields(stub, 1)[.authorization] == "Basic dTpw")
        let endpoint = Endpoint(.get) { (host: String) in
            .init(.raw("https://\(host)/"))
        } through: {
            Self.bearer
        }
        _ = try await api.call(endpoint, "b.test")
        _ = try await api.call(endpoint, "a.test")
        #expect(try fields(stub, 2)[.authorization] == nil)
        #expect(try fields(stub, 3)[.authorization] == "Bearer secret")
    }

    @Test("pages of another origin get neither the session's secrets nor those of the first page")
    func pages() async throws {
        let link = HTTPField.Name("Link")!
        let stub = StubTransport { request in
            let next = ["<https://b.test/2>; rel=next", "<https://a.test/3>; rel=next"]
            let fields: HTTPFields = request.index < 2 ? [link: next[request.index]] : [:]
            return .response(.ok, fields: fields, body: .string("[\(request.index)]"))
        }
        let own = HTTPField.Name("X-Auth-Token")!
        let pages = try session(stub).pages("1", as: [Int].self, allowsOtherOrigins: true, fields: [own: "mine"])
        var seen: [Int] = []
        for try await element in pages { seen.append(element) }
        #expect(seen == [0, 1, 2])
        #expect(try fields(stub)[own] == "mine" && fields(stub)[Self.apiKey] == "key")
        #expect(try fields(stub, 1).allSatisfy { !SecretFields.names.contains($0.name) })
        #expect(try fields(stub, 2)[own] == nil && fields(stub, 2)[Self.apiKey] == "key")
        #expect(try fields(stub, 2)[.authorization] == "Bearer secret")
    }
}
