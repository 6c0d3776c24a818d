import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad

@Suite("Requests to alternative services", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct AlternativeServiceTests {
    private let now = Guarded<Int64>(1000)

    private func server(
        _ address: ServerAddress = .ipv4, _ certificate: HeldCertificate? = nil,
        _ answer: @escaping @Sendable () -> MockResponse = { MockResponse(body: "ok") }
    ) async throws -> MockServer {
        let certificate = try certificate ?? TestChain.selfSigned.get()
        return try await MockServer.start(.init(address: address, tls: ServerTLS([certificate]))) { _ in answer() }
    }

    private func store() -> AlternativeServices.Store {
        AlternativeServices.Store { [now] in now.withLock { $0 } }
    }

    private func session(
        _ store: AlternativeServices.Store, _ adjust: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(20), total: .seconds(50))
        configuration.security = .anchors(pem: try TestChain.selfSigned.get().certificatePEM)
        adjust(&configuration)
        return try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) { AlternativeServices(store) }
    }

    private func fetch(_ session: HTTPSession, _ server: MockServer, _ options: RequestOptions = .init()) async throws {
        let response = try await session.get(.raw("https://localhost:\(server.port)/"), options: options)
        #expect(response.status == .ok)
        _ = try await response.body.collect(upTo: 100)
    }

    private func note(_ store: AlternativeServices.Store, _ server: MockServer, _ field: String) throws -> CurlewURI {
        let uri = try CurlewURI("https://localhost:\(server.port)/")
        store.note([Array(field.utf8)], from: uri)
        return uri
    }

    @Test(
        "an announced alternative is used for the next request, with Host and certificate of the origin",
        arguments: ["h2", "http%2F1.1"])
    func use(_ name: String) async throws {
        let alternative = try await server()
        let port = alternative.port
        let origin = try await server { MockResponse(fields: [AlternativeServices.field: "\(name)=\":\(port)\""]) }
        let session = try session(store())
        for _ in 0..<3 { try await fetch(session, origin) }
        #expect(origin.requestCount == 1 && alternative.requestCount == 2)
        let request = try #require(await alternative.takeRequest())
        #expect(request.fields[HTTPField.Name("Alt-Used")!] == "localhost:\(port)")
        #expect(request.fields[.host] ?? "localhost:\(origin.port)" == "localhost:\(origin.port)")
        #expect(request.version == (name == "h2" ? .http2 : .http11))
        #expect(await origin.takeRequest()?.fields[HTTPField.Name("Alt-Used")!] == nil)
    }

    @Test("responses from an alternative are stored under their origin")
    func stored() async throws {
        let answer = MockResponse(fields: [.cacheControl: "max-age=60"], body: "ok")
        let alternative = try await server { answer }
        let origin = try await server { answer }
        let store = store()
        _ = try note(store, origin, "h2=\":\(alternative.port)\"")
        let cache = HTTPCache()
        let session = try makeSession(security: .anchors(pem: try TestChain.selfSigned.get().certificatePEM)) {
            cache
            AlternativeServices(store)
        }
        try await fetch(session, origin)
        try await fetch(session, origin)
        #expect(alternative.requestCount == 1 && origin.requestCount == 0)
        #expect(cache.figures.hits == 1 && cache.figures.stored == 1)
        // A response over a caller's own route is stored separately.
        var options = RequestOptions()
        options.route = ConnectionRoute(redirections: [.init(toHost: "127.0.0.1", toPort: origin.port)])
        try await fetch(session, origin, options)
        #expect(origin.requestCount == 1)
    }

    @Test("an alternative with another key must match the pins of its origin")
    func pinned() async throws {
        let certificate = try HeldCertificate.selfSigned()
        let alternative = try await server(.ipv4, certificate)
        let origin = try await server()
        let own = try TestChain.selfSigned.get()
        let store = store()
        let uri = try note(store, origin, "h2=\":\(alternative.port)\"")
        let session = try session(store) { configuration in
            var policy = SecurityPolicy.anchors(pem: own.certificatePEM + certificate.certificatePEM)
            if let pin = try? SecurityPolicy.Pin(of: CurlewCertificate(der: own.certificateDER)) {
                policy.pinning = .keys(SecurityPolicy.PinSet([pin]))
            }
            configuration.security = policy
        }
        try await fetch(session, origin)
        #expect(origin.requestCount == 1 && alternative.requestCount == 0)
        #expect(store.service(for: uri) { _ in true } == nil)
    }

    @Test("an alternative at another address is used until it expires")
    func otherAddress() async throws {
        let alternative = try await server(.ip("127.0.0.2"))
        let origin = try await server()
        let store = store()
        _ = try note(store, origin, "h3=\":1\", h2=\"127.0.0.2:\(alternative.port)\"; ma=10")
        let session = try session(store)
        try await fetch(session, origin)
        now.withLock { $0 += 10 }
        try await fetch(session, origin)
        #expect(origin.requestCount == 1 && alternative.requestCount == 1)
    }

    @Test("an unreachable alternative is excluded for five minutes, then for ten")
    func refused() async throws {
        let origin = try await server()
        let store = store()
        let port = try RefusedPort.unused()
        let uri = try note(store, origin, "h2=\":\(port.port)\"")
        let session = try session(store)
        try await fetch(session, origin)
        #expect(store.service(for: uri) { _ in true } == nil)
        now.withLock { $0 += 300 }
        #expect(store.service(for: uri) { _ in true } != nil)
        try await fetch(session, origin)
        now.withLock { $0 += 599 }
        #expect(store.service(for: uri) { _ in true } == nil)
        now.withLock { $0 += 1 }
        let service = try #require(store.service(for: uri) { _ in true })
        store.succeeded(service, for: uri)
        store.failed(service, for: uri)
        store.failed(service, for: uri)
        now.withLock { $0 += 300 }
        #expect(store.service(for: uri) { _ in true } != nil)
        #expect(origin.requestCount == 2)
    }

    @Test("an alternative without a certificate for the origin gets no request")
    func wrongCertificate() async throws {
        let certificate = try HeldCertificate.wrongName()
        let alternative = try await server(.ipv4, certificate)
        let origin = try await server()
        let store = store()
        let uri = try note(store, origin, "h2=\":\(alternative.port)\"")
        let session = try session(store) {
            $0.security = .anchors(
                pem: (try? TestChain.selfSigned.get().certificatePEM + certificate.certificatePEM) ?? "")
        }
        try await fetch(session, origin)
        #expect(origin.requestCount == 1 && alternative.requestCount == 0)
        #expect(store.service(for: uri) { _ in true } == nil)
    }

    @Test("a request with a 421 from an alternative is sent to the origin, POST too")
    func misdirected() async throws {
        let alternative = try await server { MockResponse(status: .misdirectedRequest, body: "not here") }
        let origin = try await server()
        let store = store()
        let uri = try note(store, origin, "h2=\":\(alternative.port)\"")
        let response = try await session(store).post(.raw(uri.description), .body(.string("once")))
        #expect(response.status == .ok)
        #expect(await origin.takeRequest()?.text == "once")
        // The engine repeats the request over a new connection, as after any 421.
        try await alternative.waitForRequests(2)
        #expect(alternative.requestCount == 2 && origin.requestCount == 1)
        #expect(store.service(for: uri) { _ in true } == nil)
    }

    @Test("an alternative at a forbidden address is not used")
    func forbiddenAddress() async throws {
        let alternative = try await server(.ip("127.0.0.2"))
        let origin = try await server()
        let store = store()
        let uri = try note(store, origin, "h2=\"127.0.0.2:\(alternative.port)\"")
        let session = try session(store) {
            $0.addressPolicy = .only([try! IPNetwork("127.0.0.1/32"), try! IPNetwork("::1/128")])
        }
        try await fetch(session, origin)
        #expect(origin.requestCount == 1 && alternative.connectionCounts.accepted == 0)
        // Another request may have another policy.
        #expect(store.service(for: uri) { _ in true } != nil)
        var options = RequestOptions()
        options.addressPolicy = .publicOnly
        let error = await curlewError { try await fetch(session, origin, options) }
        #expect(error?.code == .addressForbidden && alternative.connectionCounts.accepted == 0)
    }

    @Test("alternatives are not stored from http, and not used without certificate verification")
    func unverified() async throws {
        let clear = try await MockServer.start { _ in MockResponse(fields: [AlternativeServices.field: "h2=\":1\""]) }
        let origin = try await server { MockResponse(fields: [AlternativeServices.field: "h2=\":1\""]) }
        let alternative = try await server()
        let store = store()
        _ = try await session(store).get(.raw("http://localhost:\(clear.port)/"))
        let lax = try session(store) {
            $0.security.allowsInvalidCertificates = true
            $0.security.validatesDomainName = false
        }
        try await fetch(lax, origin)
        #expect(!store.isFilled)
        _ = try note(store, origin, "h2=\":\(alternative.port)\"")
        try await fetch(lax, origin)
        var options = RequestOptions()
        options.security = .system
        options.security?.evaluator = SecurityPolicy.Evaluator { _ in .accept }
        try await fetch(try session(store), origin, options)
        #expect(origin.requestCount == 3 && alternative.requestCount == 0)
    }

    @Test("a request with its own route ignores alternatives")
    func leftAlone() throws {
        let request = try CurlewRequest(.get, "https://h.example/")
        func isOpen(_ change: (inout CurlewRequest) -> Void) -> Bool {
            var request = request
            change(&request)
            return request.openRoute != nil
        }
        let proxy = Proxy.Configuration.proxy(try Proxy("http://proxy.example:3128"), except: "h.example")
        let override = ConnectionRoute(hosts: [.init(host: "h.example", port: 443, addresses: ["10.0.0.1"])])
        #expect(isOpen { _ in })
        #expect(isOpen { $0.options.proxy = proxy })
        #expect(isOpen { $0.options.route = ConnectionRoute(localInterface: "lo") })
        #expect(!isOpen { $0.options.proxy = .environment(["https_proxy": "http://proxy.example:3128"]) })
        #expect(!isOpen { $0.options.proxy = .environment(["https_proxy": "gopher://proxy.example"]) })
        #expect(!isOpen { $0.options.route = override })
        #expect(!isOpen { $0.options.route = ConnectionRoute(redirections: [.init(toHost: "a.example", toPort: 1)]) })
        #expect(!isOpen { $0.options.route = ConnectionRoute(unixSocket: "/run/x") })
        let defaults = ConnectionDefaults(route: override, proxy: .none, security: .system)
        #expect(!isOpen { $0.connectionDefaults = defaults })
        #expect(
            isOpen {
                $0.connectionDefaults = defaults
                $0.options.route = ConnectionRoute()
            })
        #expect(ConnectionDefaults(route: ConnectionRoute(), proxy: .none, security: .system) == nil)
    }

    @Test("the route of a session precedes alternatives")
    func sessionRoute() async throws {
        let origin = try await server()
        let alternative = try await server()
        let store = store()
        _ = try note(store, origin, "h2=\":\(alternative.port)\"")
        let session = try session(store) {
            $0.route.hosts = [.init(host: "localhost", port: origin.port, addresses: ["127.0.0.1"])]
        }
        try await fetch(session, origin)
        var once = try CurlewRequest(.post, "https://localhost:\(origin.port)/", body: oneShot("x"))
        once.options.tag = "once"
        _ = try await self.session(store).send(once)
        try await origin.waitForRequests(2)
        #expect(alternative.requestCount == 0)
    }

    @Test("an unprivileged port serves no privileged origin unless allowed, and other ports below 1024 are refused")
    func ports() async throws {
        func used(_ url: String, _ field: String, allows: Bool = false) async throws -> Bool {
            let store = store()
            store.note([Array(field.utf8)], from: try CurlewURI(url))
            var link = AlternativeServices(store)
            link.allowsUnprivilegedPorts = allows
            let isRouted = Guarded(false)
            let session = try HTTPSession(transport: StubTransport { _ in .response(.ok) }, chain: .bare) { [link] in
                link
                Link { request, next in
                    isRouted.withLock { $0 = request.options.route != nil }
                    return try await next(request)
                }
            }
            _ = try await session.get(.raw(url))
            return isRouted.withLock { $0 }
        }
        #expect(try await !used("https://h.example/", "h2=\":8443\""))
        #expect(try await used("https://h.example/", "h2=\":8443\"", allows: true))
        #expect(try await used("https://h.example/", "h2=\"other.example:443\""))
        #expect(try await !used("https://h.example/", "h2=\":25\"", allows: true))
        #expect(try await used("https://h.example:8443/", "h2=\":9443\""))
        #expect(try await used("https://h.example:8443/", "h2=\":443\""))
        #expect(try await !used("https://h.example:8443/", "h2=\":25\""))
        #expect(try await used("https://h.example/", "h2=\":8443\", http%2F1.1=\"other.example:443\""))
        #expect(try await !used("https://h.example/", "h2=\":443\", h2=\"other.example:443\""))
    }
}
