import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("A token of OAuth 2 in requests", .endsServers, .timeLimit(.minutes(2)))
struct OAuthCredentialTests {
    let client = OAuth.Client("s6BhdRkqt3", .basic(secret: "SECRET-of-client"))

    /// An authorization server that numbers its tokens, and records the forms that it receives.
    actor Issuer {
        private(set) var forms: [String] = []
        private let lifetime: Int
        private let refreshes: Bool
        private var refusesRefresh = false

        init(lifetime: Int = 3600, refreshes: Bool = false) {
            self.lifetime = lifetime
            self.refreshes = refreshes
        }

        func refuseRefresh() { refusesRefresh = true }

        func answer(_ request: InboundRequest) async throws -> MockResponse {
            let form = String(decoding: try await request.body.collect(), as: UTF8.self)
            forms.append(form)
            if refusesRefresh, form.hasPrefix("grant_type=refresh_token") {
                return MockResponse(status: .badRequest, body: #"{"error":"invalid_grant"}"#)
            }
            let refresh = refreshes ? ",\"refresh_token\":\"SECRET-refresh-\(forms.count)\"" : ""
            return MockResponse(
                fields: [.contentType: "application/json"],
                body: .string(
                    "{\"access_token\":\"SECRET-\(forms.count)\",\"token_type\":\"Bearer\",\"expires_in\":\(lifetime)\(refresh)}"
                ))
        }
    }

    /// The server of an API that accepts all tokens except the refused ones.
    func api(refusing refused: Set<String> = []) async throws -> MockServer {
        try await MockServer.start { request in
            let token = request.fields[.authorization] ?? "none"
            return MockResponse(status: refused.contains(token) ? .unauthorized : .ok, body: .string(token))
        }
    }

    func session(
        _ api: MockServer, _ tokens: MockServer, grant: OAuth.Request?,
        store: any OAuth.TokenStore = OAuth.MemoryTokenStore(),
        rule: TokenRenewal = TokenRenewal(), clock: any Clock<Duration> = ContinuousClock()
    ) throws -> (HTTPSession, OAuthCredential) {
        let endpoint = try OAuth.Endpoint(tokens.url("/token"), client: client)
        let credential = try OAuthCredential(
            for: api.url(), endpoint, grant: grant, store: store, rule: rule, clock: clock)
        return (try HTTPSession { credential }, credential)
    }

    func text(_ session: HTTPSession, _ server: MockServer) async throws -> String {
        String(decoding: try await session.get(.raw(server.url())).body.collect(upTo: 1000), as: UTF8.self)
    }

    @Test("a hundred calls cause one request for a token, with the client's secret")
    func clientCredentials() async throws {
        let issuer = Issuer()
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await api()
        let endpoint = try OAuth.Endpoint(tokens.url("/token"), client: client)
        let credential = try OAuthCredential.clientCredentials(
            for: api.url(), endpoint, scopes: ["birds", "nests"], adding: [("audience", "api")])
        let session = try HTTPSession { credential }
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await text(session, api) } }
            for try await text in group { #expect(text == "Bearer SECRET-1") }
        }
        #expect(await issuer.forms == ["grant_type=client_credentials&scope=birds+nests&audience=api"])
        let received = try #require(await tokens.takeRequest())
        #expect(received.fields[.authorization]?.hasPrefix("Basic ") == true)
        #expect(received.fields[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test("a refused token is renewed once for all calls, by its refresh token")
    func refused() async throws {
        let issuer = Issuer(refreshes: true)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await api(refusing: ["Bearer SECRET-1"])
        let store = OAuth.MemoryTokenStore()
        let (session, _) = try session(api, tokens, grant: .clientCredentials(), store: store)
        #expect(try await text(session, api) == "Bearer SECRET-2")
        #expect(try await text(session, api) == "Bearer SECRET-2")
        #expect(
            await issuer.forms == [
                "grant_type=client_credentials", "grant_type=refresh_token&refresh_token=SECRET-refresh-1",
            ])
        #expect(await store.load()?.refreshToken == "SECRET-refresh-2")
    }

    @Test("a token is renewed before it expires, at the time that the rule chooses")
    func early() async throws {
        let issuer = Issuer(lifetime: 3600)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await api()
        let clock = TestClock()
        let (session, _) = try session(
            api, tokens, grant: .clientCredentials(), rule: TokenRenewal(margin: .seconds(60), jitter: .zero),
            clock: clock)
        #expect(try await text(session, api) == "Bearer SECRET-1")
        clock.advance(by: .seconds(3530))
        #expect(try await text(session, api) == "Bearer SECRET-1")
        clock.advance(by: .seconds(15))
        #expect(try await text(session, api) == "Bearer SECRET-2")
    }

    @Test("a user's token is stored in its file, and removed if its refresh token is refused")
    func user() async throws {
        let issuer = Issuer(refreshes: true)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await api(refusing: ["Bearer SECRET-login"])
        let folder = try ScratchFolder()
        let store = OAuth.FileTokenStore("\(folder.path)/token")
        let (session, credential) = try session(api, tokens, grant: nil, store: store)
        let missing = await curlewError { _ = try await text(session, api) }
        #expect(missing?.code == .credentialUnavailable)
        try await store.save(OAuth.Token(accessToken: "SECRET-login", refreshToken: "SECRET-r", scopes: ["birds"]))
        #expect(try await text(session, api) == "Bearer SECRET-1")
        #expect(await issuer.forms == ["grant_type=refresh_token&refresh_token=SECRET-r"])
        let kept = try #require(try await store.load())
        #expect(kept.refreshToken == "SECRET-refresh-1")
        #expect(kept.scopes == ["birds"])
        let mode = try FileManager.default.attributesOfItem(atPath: store.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // A second session, as in another process, reads the stored token.
        let (second, _) = try self.session(api, tokens, grant: nil, store: store)
        #expect(try await text(second, api) == "Bearer SECRET-1")
        #expect(await issuer.forms.count == 1)
        try await credential.forget()
        #expect(try await store.load() == nil)
        await issuer.refuseRefresh()
        try await store.save(OAuth.Token(accessToken: "SECRET-login", refreshToken: "SECRET-r"))
        let refused = await curlewError { _ = try await text(session, api) }
        #expect(refused?.code == .tokenRefused)
        #expect((refused?.underlying as? OAuth.Failure)?.code == .invalidGrant)
        #expect(try await store.load() == nil)
    }

    /// A store that refuses a number of saves.
    actor FailingStore: OAuth.TokenStore {
        private var token: OAuth.Token?
        private var failures: Int

        init(_ token: OAuth.Token, failures: Int) {
            self.token = token
            self.failures = failures
        }

        func load() -> OAuth.Token? { token }

        func save(_ token: OAuth.Token?) throws {
            guard failures == 0 else {
                failures -= 1
                throw CurlewError(.fileFailed, "the store is full")
            }
            self.token = token
        }
    }

    @Test("a renewed token that the store could not save is saved by the next call")
    func unsaved() async throws {
        let issuer = Issuer(refreshes: true)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await api()
        let expired = try OAuth.Token(
            accessToken: "SECRET-old", refreshToken: "SECRET-refresh-0", expiration: Date(timeIntervalSinceNow: -1))
        let store = FailingStore(expired, failures: 2)
        let (session, _) = try session(api, tokens, grant: nil, store: store)
        for _ in 0..<2 {
            let error = await curlewError { _ = try await text(session, api) }
            #expect(error?.code == .fileFailed)
        }
        #expect(try await text(session, api) == "Bearer SECRET-1")
        #expect(await store.load()?.refreshToken == "SECRET-refresh-1")
        #expect(await issuer.forms.count == 1)
    }

    @Test("a login that replaced the token in the store is not overwritten by an unsaved token")
    func obsolete() async throws {
        let issuer = Issuer(refreshes: true)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await api()
        let expired = try OAuth.Token(
            accessToken: "SECRET-old", refreshToken: "SECRET-refresh-0", expiration: Date(timeIntervalSinceNow: -1))
        let store = FailingStore(expired, failures: 1)
        let (session, _) = try session(api, tokens, grant: nil, store: store)
        let error = await curlewError { _ = try await text(session, api) }
        #expect(error?.code == .fileFailed)
        try await store.save(
            OAuth.Token(accessToken: "SECRET-login", expiration: Date(timeIntervalSinceNow: 3600)))
        #expect(try await text(session, api) == "Bearer SECRET-login")
        #expect(await store.load()?.accessToken == "SECRET-login")
        #expect(await issuer.forms.count == 1)
    }

    @Test("a client that acts for itself requests a new token if its refresh token is refused")
    func fallback() async throws {
        let issuer = Issuer()
        await issuer.refuseRefresh()
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await api(refusing: ["Bearer old"])
        let store = OAuth.MemoryTokenStore(try OAuth.Token(accessToken: "old", refreshToken: "r"))
        let (session, _) = try session(api, tokens, grant: .clientCredentials(), store: store)
        #expect(try await text(session, api) == "Bearer SECRET-2")
    }

    @Test("a token is not sent to another origin")
    func origins() async throws {
        let issuer = Issuer()
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let other = try await api()
        let api = try await MockServer.start { _ in
            MockResponse(status: .temporaryRedirect, fields: [.location: other.url()])
        }
        let (session, _) = try session(api, tokens, grant: .clientCredentials())
        #expect(try await text(session, api) == "none")
    }

    @Test("a file that other users may read, or that contains no token, is an error")
    func badFiles() async throws {
        let folder = try ScratchFolder()
        let open = OAuth.FileTokenStore(try folder.write("{}", mode: 0o644))
        #expect(await curlewError { _ = try await open.load() }?.code == .credentialFileExposed)
        let broken = OAuth.FileTokenStore(try folder.write(#"{"accessToken":"SECRET SECRET"}"#, mode: 0o600))
        let error = await curlewError { _ = try await broken.load() }
        #expect(error?.code == .invalidCredential)
        #expect(error?.description.contains("SECRET") == false)
        #expect(try await OAuth.FileTokenStore("\(folder.path)/none").load() == nil)
        try await OAuth.FileTokenStore("\(folder.path)/none").save(nil)
    }
}

@Suite("Endpoints of authorization servers", .endsServers, .timeLimit(.minutes(2)))
struct OAuthEndpointTests {
    let client = OAuth.Client("id", .post(secret: "SECRET"))

    func endpoint(_ response: MockResponse) async throws -> (OAuth.Endpoint, MockServer) {
        let server = try await MockServer.start { _ in response }
        return (try OAuth.Endpoint(server.url("/token"), client: client), server)
    }

    @Test("a secret that is sent without TLS to this machine does not go through a proxy")
    func proxy() async throws {
        let proxy = try await MockProxy.start()
        let server = try await MockServer.start { request in
            if request.target == "/token" {
                return MockResponse(body: #"{"access_token": "t", "token_type": "Bearer"}"#)
            }
            return MockResponse(body: .string(request.fields[.authorization] ?? "none"))
        }
        var configuration = SessionConfiguration()
        configuration.proxy = .proxy(try Proxy(proxy.url))
        let endpoint = try OAuth.Endpoint(server.url("/token"), client: client, configuration: configuration)
        #expect(try await endpoint.token(.clientCredentials()).accessToken == "t")
        let api = try HTTPSession(configuration: configuration) {
            NetrcAuthentication(try Netrc(Array("machine 127.0.0.1 login u password p".utf8)))
        }
        let text = try await api.get(.raw(server.url("/api"))).body.collect(upTo: 100)
        #expect(String(decoding: text, as: UTF8.self) == "Basic dTpw")
        await proxy.shutdown()
        #expect(await proxy.takeRequest() == nil)
    }

    @Test("a refusal has a code and an explanation, regardless of its status", arguments: [400, 401, 200, 500])
    func refusals(_ status: Int) async throws {
        let text = #"{"error":"invalid_client","error_description":"no\nsuch SECRET"}"#
        let (endpoint, _) = try await endpoint(MockResponse(status: .init(code: status), body: .string(text)))
        let error = await curlewError { _ = try await endpoint.token(.clientCredentials()) }
        #expect(error?.code == .tokenRefused)
        let failure = try #require(error?.underlying as? OAuth.Failure)
        #expect(failure.code == .invalidClient)
        #expect(failure.explanation == nil)
        #expect(error?.description.contains("SECRET") == false)
        #expect(error?.method == .post)
    }

    @Test("a response without a token is an error that does not quote the response")
    func badAnswers() async throws {
        for response in [
            MockResponse(body: "<html>SECRET</html>"), MockResponse(), MockResponse(body: "[]"),
            MockResponse(body: #"{"access_token":"SECRET"}"#),
            MockResponse(status: .internalServerError, body: "SECRET"),
            MockResponse(body: #"{"access_token":"SECRET","token_type":"mac"}"#),
            MockResponse(status: .found, fields: [.location: "/elsewhere"]),
            MockResponse(body: .pattern(count: 300_000)),
        ] {
            let (endpoint, server) = try await endpoint(response)
            let error = await curlewError { _ = try await endpoint.token(.clientCredentials()) }
            #expect(error?.code == .invalidToken)
            #expect(error?.description.contains("SECRET") == false)
            #expect(server.requestCount == 1)
        }
    }

    @Test("a server that never responds causes a timeout")
    func hanging() async throws {
        var response = MockResponse(body: "{}")
        response.headDelay = .seconds(60)
        var (endpoint, _) = try await endpoint(response)
        endpoint.timeout = .milliseconds(100)
        let waiting = endpoint
        let error = await curlewError { _ = try await waiting.token(.clientCredentials()) }
        #expect(error?.isTimeout == true)
    }

    @Test(
        "secrets are sent only over https or to this machine",
        arguments: ["http://as.example.com/token", "ftp://a/", "x"])
    func schemes(_ url: String) {
        #expect(throws: CurlewError.self) { try OAuth.Endpoint(url, client: client) }
        #expect(throws: Never.self) { try OAuth.Endpoint("https://as.example.com/token", client: client) }
    }

    @Test("a token is revoked")
    func revocation() async throws {
        let (endpoint, server) = try await endpoint(MockResponse())
        try await endpoint.revoke("SECRETTOKEN", at: server.url("/revoke"), hint: "refresh_token")
        let received = try #require(await server.takeRequest())
        #expect(received.target == "/revoke")
        #expect(received.text == "token=SECRETTOKEN&token_type_hint=refresh_token&client_id=id&client_secret=SECRET")
    }

    @Test("a device waits for its user at the interval of the server")
    func device() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .internalServerError) }
        server.enqueue(
            MockResponse(
                body: .string(
                    """
                    {"device_code":"SECRETCODE","user_code":"WDJB-MJHT","verification_uri":"https://example.com/device",
                    "expires_in":1800,"interval":5}
                    """)),
            MockResponse(status: .badRequest, body: #"{"error":"authorization_pending"}"#),
            MockResponse(status: .badRequest, body: #"{"error":"slow_down"}"#),
            MockResponse(body: #"{"access_token":"token","token_type":"Bearer"}"#))
        let clock = TestClock()
        let endpoint = try OAuth.Endpoint(server.url("/token"), client: client, clock: clock)
        async let waits: [Duration] = {
            var waits: [Duration] = []
            for _ in 0..<3 { waits.append(try await clock.advanceToNextSleeper()) }
            return waits
        }()
        let shown = Guarded("")
        let token = try await endpoint.deviceToken(authorizedAt: server.url("/device"), scopes: ["birds"]) { codes in
            shown.withLock { $0 = codes.userCode }
        }
        #expect(token.accessToken == "token")
        #expect(try await waits == [.seconds(5), .seconds(5), .seconds(10)])
        #expect(shown.withLock { $0 } == "WDJB-MJHT")
        #expect(await server.takeRequest()?.target == "/device")
        #expect(await server.takeRequest()?.text.contains("device_code=SECRETCODE") == true)
    }

    @Test("the user's refusal of a device ends the wait")
    func deniedDevice() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            MockResponse(
                body: #"{"device_code":"d","user_code":"u","verification_uri":"https://a/","expires_in":60}"#),
            MockResponse(status: .badRequest, body: #"{"error":"access_denied"}"#))
        let clock = TestClock()
        let endpoint = try OAuth.Endpoint(server.url("/token"), client: client, clock: clock)
        async let wait = clock.advanceToNextSleeper()
        let error = await curlewError { _ = try await endpoint.deviceToken(authorizedAt: server.url()) { _ in } }
        #expect(error?.code == .tokenRefused)
        #expect((error?.underlying as? OAuth.Failure)?.code == .accessDenied)
        #expect(try await wait == .seconds(5))
    }
}
