import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Authentication", .endsServers, .timeLimit(.minutes(2)))
struct AuthenticationTests {
    private static let basic = "Basic dXNlcjpwYXNz"
    private let password = Credential.password(user: "user", password: "pass")

    /// A server that accepts the given values, and answers other requests with a challenge in these fields.
    private func server(
        _ challenges: [String] = ["Basic realm=\"birds\""], accepting values: [String] = [basic]
    ) async throws -> MockServer {
        try await MockServer.start { request in
            let body = try await request.body.collect()
            if let value = request.fields[.authorization], values.contains(value) {
                return MockResponse(body: .bytes(body))
            }
            var response = MockResponse(status: .unauthorized, body: "who is there?")
            for challenge in challenges {
                response.fields.append(HTTPField(name: .wwwAuthenticate, value: challenge))
            }
            return response
        }
    }

    private func session(_ link: ChallengeAuthentication) throws -> HTTPSession {
        try HTTPSession(configuration: SessionConfiguration(), chain: .bare) { link }
    }

    private func seen(_ server: MockServer, _ count: Int) async -> [String?] {
        var values: [String?] = []
        for _ in 0..<count { values.append(await server.takeRequest()?.fields[.authorization]) }
        return values
    }

    @Test("a challenge is answered, and later requests to the same folder carry the credential without a challenge")
    func basic() async throws {
        let server = try await server()
        let session = try session(
            ChallengeAuthentication(try Credential.Scoped(server.url(), realm: "birds", password)))
        for path in ["/a/1", "/a/2", "/a/b/3", "/c", "/ab/"] {
            let response = try await session.post(.raw(server.url(path)), .body(.string(path)))
            #expect(response.status == .ok)
            #expect(try await response.body.collect(upTo: 10) == Array(path.utf8))
        }
        let basic = Self.basic
        #expect(await seen(server, 7) == [nil, basic, basic, basic, nil, basic, basic])
        #expect(server.requestCount == 7)
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("a preemptive credential is sent with the first request")
    func preemptive() async throws {
        let server = try await server(accepting: [Self.basic, "Bearer t0ken"])
        for credential in [password, .bearer("t0ken")] {
            let scoped = try Credential.Scoped(server.url(), credential, isPreemptive: true)
            #expect(try await session(ChallengeAuthentication(scoped)).get(.raw(server.url())).status == .ok)
        }
        #expect(server.requestCount == 2)
    }

    @Test(
        "another origin gets no credential, whether its port, scheme or host differs",
        arguments: ["localhost", "127.0.0.1"])
    func otherOrigin(_ host: String) async throws {
        let server = try await server()
        let other = try await self.server()
        let port = host == "localhost" ? server.port : other.port
        let scopes = ["http://127.0.0.1:\(server.port)", "https://\(host):\(port)", "http://\(host).test:\(port)"]
        let credentials = try scopes.map { try Credential.Scoped($0, password, isPreemptive: true) }
        let session = try session(ChallengeAuthentication(credentials))
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(try await session.get("http://\(raw: host):\(raw: "\(port)")/").status == .unauthorized)
        let target = host == "localhost" ? server : other
        if target === server { _ = await seen(server, 1) }
        #expect(await seen(target, 1) == [nil])
    }

    @Test("a server to which a later link redirects the request gets no credential")
    func hops() async throws {
        struct Detour: CurlewMiddleware {
            let url: String
            func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
                -> CurlewResponse
            {
                _ = try await next(request)
                return try await next(try CurlewRequest(.get, url))
            }
        }
        let server = try await server()
        let other = try await self.server()
        let credential = try Credential.Scoped(server.url(), password)
        let session = try HTTPSession(configuration: SessionConfiguration(), chain: .bare) {
            Detour(url: other.url())
            ChallengeAuthentication(credential)
        }
        #expect(try await session.get(.raw(server.url())).status == .unauthorized)
        #expect(await seen(other, 1) == [nil])
    }

    @Test("a realm without a matching credential gets none")
    func otherRealm() async throws {
        let server = try await server()
        let session = try session(ChallengeAuthentication(try Credential.Scoped(server.url(), realm: "fish", password)))
        #expect(try await session.get(.raw(server.url())).status == .unauthorized)
        #expect(server.requestCount == 1)
    }

    @Test("a 401 without a valid challenge is the response", arguments: [[], ["=\"", "realm=\"x\""]])
    func unreadable(_ challenges: [String]) async throws {
        let server = try await server(challenges)
        let session = try session(ChallengeAuthentication(try Credential.Scoped(server.url(), password)))
        let response = try await session.get(.raw(server.url()))
        #expect(response.status == .unauthorized)
        #expect(try await response.body.collect(upTo: 100) == Array("who is there?".utf8))
        #expect(server.requestCount == 1)
    }

    @Test("a challenge with broken quoting is answered")
    func brokenQuoting() async throws {
        let server = try await server(["Negotiate, Basic realm=\"birds, charset=\"UTF-8"])
        let session = try session(ChallengeAuthentication(try Credential.Scoped(server.url(), password)))
        #expect(try await session.get(.raw(server.url())).status == .ok)
    }

    @Test("the strongest known scheme of ten challenges is answered, and a password is not sent in Basic")
    func ten() async throws {
        let unknown = (0..<6).map { "Scheme\($0) realm=\"x\"" }
        let digests = ["MD5", "SHA-256", "SHA3"].map {
            "Digest realm=\"x\", nonce=\"n\", algorithm=\($0), qop=\"auth\""
        }
        let server = try await server(unknown + ["Basic realm=\"x\""] + digests)
        let session = try session(ChallengeAuthentication(try Credential.Scoped(server.url(), password)))
        #expect(try await session.get(.raw(server.url())).status == .unauthorized)
        let values = await seen(server, 2)
        #expect(values[0] == nil)
        #expect(values[1]?.hasPrefix("Digest ") == true)
        #expect(values[1]?.contains("algorithm=SHA-256") == true)
        #expect(server.requestCount == 2)
    }

    @Test(
        "a Bearer token is sent to a server that asks for Bearer, and to one that sends no challenge",
        arguments: [["Bearer"], []])
    func bearer(_ challenges: [String]) async throws {
        let server = try await server(challenges, accepting: ["Bearer t0ken=="])
        let session = try session(ChallengeAuthentication(try Credential.Scoped(server.url(), .bearer("t0ken=="))))
        #expect(try await session.get(.raw(server.url())).status == .ok)
    }

    @Test("the caller's own Authorization field is sent unchanged")
    func callersField() async throws {
        let server = try await server()
        let session = try session(
            ChallengeAuthentication(try Credential.Scoped(server.url(), password, isPreemptive: true)))
        let response = try await session.get(.raw(server.url()), fields: [.authorization: "Other"])
        #expect(response.status == .unauthorized)
        #expect(await seen(server, 1) == ["Other"])
    }

    @Test("a single-use body is a clear error, which contains the response")
    func oneShot() async throws {
        let server = try await server()
        let session = try session(ChallengeAuthentication(try Credential.Scoped(server.url(), password)))
        let body = AsyncStream<[UInt8]> { stream in
            stream.yield([1])
            stream.finish()
        }
        let error = await curlewError { _ = try await session.post(.raw(server.url()), .body(.once(body))) }
        #expect(error?.code == .bodyNotReplayable)
        #expect(error?.response?.status == .unauthorized)
        #expect(error?.uri?.description == server.url())
        #expect(server.requestCount == 1)
    }

    @Test("invalid credentials are an error, and descriptions contain no secrets")
    func unsendable() async throws {
        let server = try await server(["Basic realm=x", "Bearer"])
        for credential in [
            Credential.password(user: "a:b", password: "hidden"), .password(user: "a", password: "hid\nden"),
            .bearer("hid den"), .bearer(""),
        ] {
            let session = try session(ChallengeAuthentication(try Credential.Scoped(server.url(), credential)))
            let error = await curlewError { _ = try await session.get(.raw(server.url())) }
            #expect(error?.code == .invalidRequest)
            #expect(error?.description.contains("hid") == false)
            var dumped = ""
            dump(credential, to: &dumped)
            #expect(!"\(credential) \(String(reflecting: credential)) \(dumped)".contains("hid"))
        }
    }

    @Test("a proxy's 407 in absolute form is answered, and the origin receives no proxy credential")
    func proxy() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let proxy = try await MockProxy.start(.init(credentials: .init(user: "user", password: "pass")))
        var configuration = SessionConfiguration()
        configuration.proxy = .proxy(try Proxy(proxy.url))
        let credential = Credential.Scoped.proxy(password)
        let session = try HTTPSession(configuration: configuration, chain: .bare) {
            ChallengeAuthentication(credential)
        }
        for _ in 0..<2 { #expect(try await session.get(.raw(server.url())).status == .ok) }
        for isAccepted in [false, true, false, true] {
            #expect(await proxy.takeRequest()?.isAccepted == isAccepted)
        }
        let seen = await server.takeRequest()?.fields
        #expect(seen?[.proxyAuthorization] == nil)
        #expect(seen?[.authorization] == nil)
    }
}
