import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Secrets and redirects to other origins", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RedirectOriginTests {
    private static let own = HTTPField.Name("X-Own-Secret")!
    private static let plain = HTTPField.Name("X-Plain")!

    private let secrets: HTTPFields = [
        .authorization: "Bearer a", .proxyAuthorization: "Basic b", .cookie: "c=1", .apiKey: "d", .mark: "e", own: "f",
    ]

    private func link() -> Redirects {
        var link = Redirects()
        link.secretFields = [.mark]
        return link
    }

    private func request(_ url: String) throws -> CurlewRequest {
        var options = RequestOptions()
        options.secretFields = [Self.own]
        var fields = secrets
        fields[.accept] = "text/plain"
        fields[.host] = "public.example"
        return try CurlewRequest(.get, url, fields: fields, options: options)
    }

    @Test("known and marked secrets are sent only to their origin", arguments: [301, 302, 303, 307, 308])
    func otherPort(_ status: Int) async throws {
        let other = try await MockServer.start { _ in MockResponse() }
        let first = try await MockServer.start { _ in redirect(status, to: other.url("/there")) }
        let session = try makeSession { link() }
        let response = try await session.send(request(first.url()))
        #expect(response.uri.description == other.url("/there"))
        let told = try #require(await first.takeRequest())
        #expect(told.fields[.host] == "public.example")
        let seen = try #require(await other.takeRequest())
        for secret in secrets {
            // A field for a proxy is sent to no server.
            #expect(told.fields[secret.name] == (secret.name == .proxyAuthorization ? nil : secret.value))
            #expect(seen.fields[secret.name] == nil)
        }
        #expect(seen.fields[.host] == "127.0.0.1:\(other.port)")
        #expect(seen.fields[.accept] == "text/plain")
    }

    @Test("secret trailers are sent only to their origin", arguments: [307, 308])
    func trailers(_ status: Int) async throws {
        // Trailers follow the body.
        let other = try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse()
        }
        let first = try await MockServer.start { request in
            for try await _ in request.body {}
            return redirect(status, to: other.url("/there"))
        }
        let session = try makeSession { link() }
        var options = RequestOptions()
        options.secretFields = [Self.own]
        let trailers: HTTPFields = [.apiKey: "d", .mark: "e", Self.own: "f", Self.plain: "g"]
        _ = try await session.send(
            CurlewRequest(.put, first.url(), body: .string("x"), trailers: trailers, options: options))
        let told = try #require(await first.takeRequest())
        #expect(trailers.allSatisfy { told.trailers[$0.name] == $0.value })
        let seen = try #require(await other.takeRequest())
        #expect(seen.trailers == [Self.plain: "g"])
    }

    @Test("fields with secret-looking names are sent only to their origin, and other fields are kept")
    func names() async throws {
        let secret = [
            "Private-Token", "Job-Token", "X-Goog-Api-Key", "Api-Key", "DPoP", "Ocp-Apim-Subscription-Key",
            "X-Functions-Key",
            "X-Master-Key", "Cf-Access-Client-Secret", "Cf-Access-Jwt-Assertion", "X-Goog-IAP-JWT-Assertion",
            "DD-API-KEY",
            "X-Shopify-Access-Token", "X-Gitlab-Token", "X-Password", "Cookie2", "X_Api_Key", "Mcp-Session-Id",
            "X-OAuth-Scopes-Auth",
        ]
        let plain = [
            "Accept", "Accept-Language", "Idempotency-Key", "X-Author", "X-Keyboard", "X-Max-Tokens", "X-Request-Id",
            "User-Agent",
            "X-User-Id", "Key",
        ]
        let other = try await MockServer.start { _ in MockResponse() }
        let first = try await MockServer.start { _ in redirect(307, to: other.url()) }
        var fields = HTTPFields()
        for name in secret + plain { fields[try #require(HTTPField.Name(name))] = "v" }
        let session = try makeSession { Redirects() }
        _ = try await session.get(.raw(first.url()), fields: fields)
        let seen = try #require(await other.takeRequest())
        for name in secret { #expect(seen.fields[try #require(HTTPField.Name(name))] == nil, "\(name)") }
        for name in plain { #expect(seen.fields[try #require(HTTPField.Name(name))] == "v", "\(name)") }
    }

    @Test("dropped secrets are not sent again when a later redirect leads back to their origin")
    func thereAndBack() async throws {
        let (home, tellHome) = AsyncStream.makeStream(of: String.self)
        let other = try await MockServer.start { _ in
            for await url in home { return redirect(302, to: url) }
            return .notFound
        }
        let first = try await MockServer.start { request in
            request.path == "/home" ? MockResponse() : redirect(302, to: other.url())
        }
        tellHome.yield(first.url("/home"))
        let session = try makeSession { link() }
        #expect(try await session.send(request(first.url())).history.count == 2)
        _ = await first.takeRequest()
        let seen = try #require(await first.takeRequest())
        for secret in secrets { #expect(seen.fields[secret.name] == nil) }
    }

    @Test("secrets are kept within an origin, in any notation of the origin")
    func sameOrigin() async throws {
        let server = try await MockServer.start { request in
            request.path == "/" ? redirect(302, to: "http://LOCALHOST:\(request.fields[.mark]!)/there") : MockResponse()
        }
        let session = try makeSession { Redirects() }
        var request = try request("http://localhost:\(server.port)/")
        request.fields[.mark] = "\(server.port)"
        request.fields[.host] = nil
        _ = try await session.send(request)
        _ = await server.takeRequest()
        let seen = try #require(await server.takeRequest())
        for secret in secrets where secret.name != .mark && secret.name != .proxyAuthorization {
            #expect(seen.fields[secret.name] == secret.value)
        }
    }

    @Test("another host is another origin, even with the same port")
    func otherHost() async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/" else { return MockResponse() }
            return redirect(302, to: "http://localhost:\(request.fields[.mark]!)/there")
        }
        let session = try makeSession { Redirects() }
        let fields: HTTPFields = [.authorization: "Bearer a", .mark: "\(server.port)"]
        #expect(try await session.get(.raw(server.url()), fields: fields).status == .ok)
        _ = await server.takeRequest()
        #expect(await server.takeRequest()?.fields[.authorization] == nil)
    }

    @Test("user information is sent only to targets in the same origin", arguments: [true, false])
    func userInformation(stays: Bool) async throws {
        let other = try await MockServer.start { _ in MockResponse() }
        let server = try await MockServer.start { request in
            guard request.path == "/" else { return MockResponse() }
            return redirect(302, to: stays ? "http://127.0.0.1:\(request.fields[.mark]!)/there" : other.url("/there"))
        }
        let session = try makeSession { Redirects() }
        let url = "http://curlew:secret@127.0.0.1:\(server.port)/"
        let response = try await session.get(.raw(url), fields: [.mark: "\(server.port)"])
        #expect(response.status == .ok)
        #expect(await server.takeRequest()?.fields[.authorization] != nil)
        let seen = try #require(await (stays ? server : other).takeRequest())
        #expect((seen.fields[.authorization] != nil) == stays)
    }

    private func secured() async throws -> (MockServer, SecurityPolicy) {
        let certificate = try HeldCertificate.localhost()
        let server = try await MockServer.start(MockServer.Configuration(tls: ServerTLS([certificate]))) { request in
            guard request.path == "/" else { return MockResponse(body: "secure") }
            return redirect(302, to: request.fields[.mark])
        }
        return (server, .anchors(pem: certificate.certificatePEM))
    }

    @Test("a redirect from https to http is refused, unless it is allowed", arguments: [false, true])
    func downgrade(isAllowed: Bool) async throws {
        let plain = try await MockServer.start { _ in MockResponse() }
        let (server, security) = try await secured()
        var link = Redirects()
        link.allowsDowngrade = isAllowed
        let session = try makeSession(security: security) { link }
        let fields: HTTPFields = [.mark: plain.url()]
        if isAllowed {
            #expect(try await session.get(.raw(server.url()), fields: fields).status == .ok)
        } else {
            let error = await curlewError { _ = try await session.get(.raw(server.url()), fields: fields) }
            #expect(error?.code == .redirectRefused)
            #expect(plain.requestCount == 0)
        }
    }

    @Test("a redirect from http to https is followed, without the secrets")
    func upgrade() async throws {
        let (server, security) = try await secured()
        let plain = try await MockServer.start { _ in redirect(308, to: server.url("/there")) }
        let session = try makeSession(security: security) { Redirects() }
        let response = try await session.get(.raw(plain.url()), fields: [.authorization: "Bearer a"])
        #expect(try await response.body.collect(upTo: 10) == Array("secure".utf8))
        #expect(await server.takeRequest()?.fields[.authorization] == nil)
    }

    @Test("prior knowledge of HTTP/2 applies only to its origin")
    func priorKnowledge() async throws {
        let stub = StubTransport()
        stub.enqueue(
            .response(.found, fields: [.location: "/same"]),
            .response(.found, fields: [.location: "http://b.test/"]), .response(.ok))
        let session = try HTTPSession(transport: stub, chain: .bare) { Redirects() }
        var options = RequestOptions()
        options.versionPolicy = .http2PriorKnowledge
        options.tag = "tag"
        _ = try await session.get("http://a.test/", options: options)
        #expect(
            stub.received.map(\.request.options.versionPolicy) == [.http2PriorKnowledge, .http2PriorKnowledge, nil])
        #expect(stub.received.allSatisfy { $0.request.options.tag == "tag" })
    }
}
