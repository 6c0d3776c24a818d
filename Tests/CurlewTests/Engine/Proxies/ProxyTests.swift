import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad

@Suite("Requests through a proxy", .endsServers, .timeLimit(.minutes(2)))
struct ProxyTests {
    private let credentials = MockProxy.Credentials(user: "user", password: "s3cret-word")

    private func origin(_ certificate: HeldCertificate? = nil) async throws -> MockServer {
        var configuration = MockServer.Configuration()
        if let certificate { configuration.tls = ServerTLS([certificate]) }
        return try await MockServer.start(configuration) { request in
            MockResponse(body: .bytes(try await request.body.collect()))
        }
    }

    private func session(_ proxy: Proxy, trusting certificate: HeldCertificate? = nil) throws -> HTTPSession {
        try makeSession {
            $0.proxy = .proxy(proxy)
            if let certificate { $0.security = .anchors(pem: certificate.certificatePEM) }
        }
    }

    private func authenticated(_ url: String) throws -> Proxy {
        try Proxy(url).authenticated(user: credentials.user, password: credentials.password)
    }

    @Test("a request with an http URI is sent in absolute form, and the credentials reach only the proxy")
    func absoluteForm() async throws {
        let server = try await origin()
        let proxy = try await MockProxy.start(.init(credentials: credentials))
        let session = try session(authenticated(proxy.url))
        let url = "http://named.test:\(server.port)/a%2fb?b=%c3%A9"
        let response = try await session.post(.raw(url), .body(.string("body")))
        #expect(try await response.body.collect(upTo: 10) == Array("body".utf8))
        let asked = try #require(await proxy.takeRequest())
        #expect(asked.method == "POST")
        #expect(asked.target == url)
        #expect(asked.credentials == credentials)
        #expect(await server.takeRequest()?.fields[.proxyAuthorization] == nil)
    }

    @Test(
        "credentials are sent to a proxy unchanged, percent signs included",
        arguments: ["100%25", "p%00q", "%0d%0aX-Injected%3A yes", "%", "%4"], [false, true])
    func percentSigns(_ text: String, _ usesTunnel: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await origin(usesTunnel ? certificate : nil)
        let proxy = try await MockProxy.start(.init(credentials: .init(user: "u" + text, password: text)))
        let configured = try Proxy(proxy.url).authenticated(user: "u" + text, password: text)
        let session = try session(configured, trusting: certificate)
        _ = try await session.fetch(server.url())
        let asked = try #require(await proxy.takeRequest())
        #expect(asked.credentials == MockProxy.Credentials(user: "u" + text, password: text))
        #expect(!asked.head.contains("X-Injected"))
    }

    @Test("credentials in the environment's URL are percent-decoded once")
    func percentSignsOfEnvironment() async throws {
        let server = try await origin()
        let proxy = try await MockProxy.start()
        let session = try makeSession {
            $0.proxy = .environment(["all_proxy": "http://user:p%2525w@127.0.0.1:\(proxy.port)"])
        }
        _ = try await session.fetch("http://named.test:\(server.port)/")
        #expect(await proxy.takeRequest()?.credentials == .init(user: "user", password: "p%25w"))
    }

    @Test("the user and the password in a proxy's URL may begin with a combining mark", arguments: ["http", "socks5"])
    func combiningPassword(scheme: String) throws {
        let proxy = try Proxy("\(scheme)://\u{301}user:\u{301}pw@proxy.test:3128")
        #expect(
            try proxy
                == Proxy("\(scheme)://proxy.test:3128").authenticated(user: "\u{301}user", password: "\u{301}pw"))
    }

    // libcurl before 8.8.0 percent-decodes its credentials, and these characters require the affected option.
    @Test(
        "credentials that libcurl would decode are refused before they are sent",
        .enabled(if: Engine.decodesProxyCredentials, "this libcurl leaves them alone"),
        arguments: ["http", "socks5"])
    func decodedCredentials(_ scheme: String) async throws {
        for (user, password) in [("u%0d%0aX%3A y", "p"), ("u", "100%25")] {
            let proxy = try Proxy("\(scheme)://127.0.0.1:1").authenticated(
                user: user, password: password, by: scheme == "http" ? .digest : .basic)
            let error = await curlewError { _ = try await session(proxy).fetch("http://named.test/") }
            #expect(error?.code == .unsupported)
        }
    }

    @Test("an https URI uses a tunnel, with HTTP/2 in it, and the origin receives no proxy fields")
    func tunnel() async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await origin(certificate)
        let proxy = try await MockProxy.start(.init(credentials: credentials))
        let session = try session(authenticated(proxy.url), trusting: certificate)
        let response = try await session.get("https://localhost:\(raw: "\(server.port)")/a")
        #expect(response.version == .http2)
        _ = try await response.body.collect(upTo: 10)
        #expect(await proxy.takeRequest()?.target == "localhost:\(server.port)")
        let seen = try #require(await server.takeRequest())
        #expect(seen.target == "/a")
        #expect(!seen.fields.contains { $0.name.canonicalName.hasPrefix("proxy") })
        _ = try await session.fetch("https://localhost:\(server.port)/b")
        #expect(proxy.connectionCounts.accepted == 1)
    }

    @Test("a proxy can be reached over TLS, with its own trust anchors", arguments: [false, true])
    func overTLS(isSecure: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await origin(isSecure ? certificate : nil)
        let front = try HeldCertificate.localhost()
        let mock = try await MockProxy.start(.init(credentials: credentials, tls: ServerTLS([front])))
        var proxy = try authenticated(mock.url)
        let untrusting = try session(proxy, trusting: certificate)
        let url = "\(isSecure ? "https" : "http")://localhost:\(server.port)/"
        let error = await curlewError { _ = try await untrusting.fetch(url) }
        #expect(error?.code == .proxyFailed)
        #expect((error?.underlying as? CurlewError)?.code == .untrustedCertificate)
        proxy.anchorsPEM = front.certificatePEM
        let trusting = try session(proxy, trusting: certificate)
        #expect(try await trusting.get(.raw(url)).status == .ok)
        #expect(server.requestCount == 1)
    }

    @Test(
        "SOCKS carries http and https, and the scheme determines whether the proxy resolves the name",
        arguments: [false, true])
    func socks(isSecure: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await origin(isSecure ? certificate : nil)
        let url = "\(isSecure ? "https" : "http")://localhost:\(server.port)/"
        for (kind, scheme, target) in [
            (MockProxy.Kind.socks5, "socks5h", "localhost"), (.socks5, "socks5", "127.0.0.1"),
            (.socks4, "socks4a", "localhost"), (.socks4, "socks4", "127.0.0.1"),
        ] {
            let proxy = try await MockProxy.start(.init(kind: kind, credentials: credentials))
            var route = RequestOptions()
            route.route = ConnectionRoute(addressFamily: .ipv4)
            let session = try session(authenticated("\(scheme)://127.0.0.1:\(proxy.port)"), trusting: certificate)
            #expect(try await session.get(.raw(url), options: route).status == .ok)
            let asked = try #require(await proxy.takeRequest())
            #expect(asked.target == "\(target):\(server.port)")
            #expect(asked.credentials?.user == "user")
            await proxy.shutdown()
        }
    }

    @Test("the caller's Proxy-Authorization is sent to the proxy and never to the origin")
    func callersField() async throws {
        let certificate = try HeldCertificate.localhost()
        let secure = try await origin(certificate)
        let plain = try await origin()
        let proxy = try await MockProxy.start(.init(credentials: credentials))
        let field: HTTPFields = [.proxyAuthorization: "Basic dXNlcjpzM2NyZXQtd29yZA=="]
        let proxied = try session(Proxy(proxy.url), trusting: certificate)
        let direct = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        for server in [secure, plain] {
            #expect(try await proxied.get(.raw(server.url()), fields: field).status == .ok)
            #expect(await proxy.takeRequest()?.credentials == credentials)
            #expect(try await direct.get(.raw(server.url()), fields: field).status == .ok)
            for _ in 0..<2 { #expect(await server.takeRequest()?.fields[.proxyAuthorization] == nil) }
            await server.shutdown()
        }
    }

    @Test("a request's own proxy replaces the session's; with none, or over a Unix socket, it connects directly")
    func perRequest() async throws {
        let server = try await origin()
        let proxy = try await MockProxy.start()
        var options = RequestOptions()
        options.proxy = .proxy(try Proxy(proxy.url))
        _ = try await makeSession().fetch(server.url(), options: options)
        #expect(proxy.connectionCounts.accepted == 1)
        options.proxy = Proxy.Configuration.none
        _ = try await session(Proxy(proxy.url)).fetch(server.url(), options: options)
        let path = "/tmp/curlew-\(UInt64.random(in: 0 ... .max)).sock"
        let local = try await MockServer.start(.init(address: .unixSocket(path: path))) { _ in MockResponse() }
        options = RequestOptions()
        options.route = ConnectionRoute(unixSocket: path)
        _ = try await session(Proxy(proxy.url)).fetch("http://localhost/", options: options)
        #expect(proxy.connectionCounts.accepted == 1)
        #expect(local.requestCount == 1)
    }

    @Test("the environment's no_proxy is applied by Curlew, not by libcurl")
    func environment() async throws {
        let server = try await origin()
        let proxy = try await MockProxy.start()
        let session = try makeSession {
            $0.proxy = .environment(["all_proxy": proxy.url, "no_proxy": "direct.test"])
            $0.route.hosts = [.init(host: "direct.test", port: server.port, addresses: ["127.0.0.1"])]
        }
        _ = try await session.fetch("http://proxied.test:\(server.port)/")
        _ = try await session.fetch("http://direct.test:\(server.port)/")
        #expect(proxy.connectionCounts.accepted == 1)
        #expect(server.requestCount == 2)
    }

    @Test("an authenticated tunnel is not reused for another user, or for a request without a proxy")
    func users() async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await origin(certificate)
        let proxy = try await MockProxy.start()
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        for user in ["a", "b", "b"] {
            var options = RequestOptions()
            options.proxy = .proxy(try Proxy(proxy.url).authenticated(user: user, password: "x"))
            _ = try await session.fetch(server.url(), options: options)
        }
        _ = try await session.fetch(server.url())
        #expect(await proxy.takeRequest()?.credentials?.user == "a")
        #expect(await proxy.takeRequest()?.credentials?.user == "b")
        #expect(proxy.connectionCounts.accepted == 2)
        #expect(server.connectionCounts.accepted == 3)
    }

    @Test("HTTP/2 without TLS works through SOCKS, but not through an HTTP proxy")
    func priorKnowledge() async throws {
        let server = try await origin()
        var options = RequestOptions()
        options.versionPolicy = .http2PriorKnowledge
        let socks = try await MockProxy.start(.init(kind: .socks5))
        #expect(try await session(Proxy(socks.url)).get(.raw(server.url()), options: options).version == .http2)
        let http = try session(Proxy("http://127.0.0.1:1"))
        #expect(
            await curlewError { _ = try await http.get(.raw(server.url()), options: options) }?.code == .unsupported)
    }

    @Test("a redirection of the route uses a tunnel")
    func redirected() async throws {
        let server = try await origin()
        let proxy = try await MockProxy.start()
        let configuration = Proxy.Configuration.proxy(try Proxy(proxy.url))
        let session = try makeSession {
            $0.proxy = configuration
            $0.route.redirections = [.init(host: "first.test", port: 80, toHost: "second.test", toPort: server.port)]
        }
        _ = try await session.fetch("http://first.test/")
        let asked = try #require(await proxy.takeRequest())
        #expect(asked.method == "CONNECT")
        #expect(asked.target == "second.test:\(server.port)")
    }
}
