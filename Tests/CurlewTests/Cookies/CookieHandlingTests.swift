import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Cookies over the network", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct CookieHandlingTests {
    /// Answers with the received Cookie fields, one per line, and sets the cookies of the query.
    private static let echo: MockServer.Handler = { request in
        var response = MockResponse(body: .string(request.fields[values: .cookie].joined(separator: "\n")))
        if let query = request.target.split(separator: "?").dropFirst().first {
            response.fields.append(HTTPField(name: .setCookie, value: String(query.replacing("+", with: " "))))
        }
        return response
    }

    private func session(
        _ jar: CookieJar, _ adjust: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> HTTPSession {
        var configuration = SessionConfiguration()
        adjust(&configuration)
        return try HTTPSession(
            configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
        ) {
            CookieHandling(jar)
        }
    }

    private func text(
        _ session: HTTPSession, _ url: String, fields: HTTPFields = [:], options: RequestOptions = RequestOptions()
    ) async throws -> String {
        let response = try await session.get(.raw(url), fields: fields, options: options)
        return String(decoding: try await response.body.collect(upTo: .mebibytes(1)), as: UTF8.self)
    }

    @Test(
        "a server's cookies are sent back in one field, over every version of HTTP",
        arguments: ["1.1", "2"])
    func versions(_ version: String) async throws {
        let server = try await MockServer.start(handler: Self.echo)
        let jar = CookieJar()
        let api = try session(jar) { $0.versionPolicy = version == "2" ? .http2PriorKnowledge : .http11 }
        #expect(try await text(api, server.url("/?a=1")) == "")
        #expect(try await text(api, server.url("/?b=2;+path=/d")) == "a=1")
        #expect(try await text(api, server.url("/d/?a=;+max-age=0;+path=/")) == "b=2; a=1")
        #expect(try await text(api, server.url("/d")) == "b=2")
        #expect(try await text(api, server.url("/e")) == "")
    }

    @Test("a final response sets cookies whatever its status, and an interim response sets none")
    func statuses() async throws {
        let server = try await MockServer.start()
        let jar = CookieJar()
        let api = try session(jar)
        for code in [200, 204, 302, 304, 404, 500] {
            var response = MockResponse(status: .init(code: code), fields: [.setCookie: "c\(code)=1"])
            response.interim = [.init(status: .init(code: 103), fields: [.setCookie: "interim=1"])]
            server.enqueue(response)
            _ = try await api.get(.raw(server.url()))
        }
        #expect(jar.cookies.map(\.name) == ["c200", "c204", "c302", "c304", "c404", "c500"])
    }

    @Test("the caller's cookies stand first, and replace cookies of the same names in the jar")
    func joining() async throws {
        let server = try await MockServer.start(handler: Self.echo)
        let jar = CookieJar()
        let uri = try CurlewURI(server.url())
        for field in ["a=jar", "b=jar", "nameless"] { jar.store(field, from: uri) }
        let api = try session(jar)
        #expect(try await text(api, server.url(), fields: [.cookie: "a=mine"]) == "a=mine; b=jar; nameless")
        // swift-http-types splits this cookie into two fields; one is sent.
        #expect(
            try await text(api, server.url(), fields: [.cookie: "x=1; b=mine;c"]) == "x=1; b=mine;c; a=jar")
        jar.removeAll()
        #expect(try await text(api, server.url(), fields: [.cookie: "x=1; b=2"]) == "x=1; b=2")
    }

    @Test("a request with cookies off neither sends nor stores cookies, and keeps the caller's own field")
    func off() async throws {
        let server = try await MockServer.start(handler: Self.echo)
        let jar = CookieJar()
        jar.store("a=1", from: try CurlewURI(server.url()))
        let api = try session(jar)
        var options = RequestOptions()
        options.usesCookies = false
        #expect(try await text(api, server.url("/?b=2"), options: options) == "")
        #expect(try await text(api, server.url("/?b=2"), fields: [.cookie: "x=1"], options: options) == "x=1")
        options.usesCookies = true
        #expect(try await text(api, server.url(), options: options) == "a=1")
    }

    @Test("each session has its own jar by default")
    func sharing() async throws {
        let server = try await MockServer.start(handler: Self.echo)
        let jar = CookieJar()
        let (first, second) = (try session(jar), try session(jar))
        let other = try HTTPSession(eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare) {
            CookieHandling()
        }
        _ = try await text(first, server.url("/?a=1"))
        #expect(try await text(second, server.url()) == "a=1")
        #expect(try await text(other, server.url()) == "")
    }

    @Test("secure cookies are set and sent only over TLS")
    func secure() async throws {
        let certificate = try HeldCertificate.localhost()
        var configuration = MockServer.Configuration()
        configuration.tls = ServerTLS([certificate])
        let server = try await MockServer.start(configuration, handler: Self.echo)
        let plain = try await MockServer.start(handler: Self.echo)
        let jar = CookieJar()
        let api = try session(jar) { $0.security = .anchors(pem: certificate.certificatePEM) }
        _ = try await text(api, server.url("/?a=1;+secure"))
        _ = try await text(api, plain.url("/?b=2;+secure"))
        _ = try await text(api, plain.url("/?a=3"))
        _ = try await text(api, plain.url("/?c=4"))
        #expect(try await text(api, server.url()) == "a=1; c=4")
        #expect(try await text(api, plain.url()) == "c=4")
    }

    @Test("4,900 cookies in one response exceed the default field limit; with a higher limit the jar keeps its bound")
    func thousands() async throws {
        // libcurl from 8.14 on accepts fewer than 5,000 fields, whatever the limit.
        let fields = HTTPFields((0..<4900).map { HTTPField(name: .setCookie, value: "c\($0)=1") })
        let server = try await MockServer.start { _ in MockResponse(fields: fields, body: "ok") }
        let jar = CookieJar()
        let api = try session(jar)
        let error = await curlewError { _ = try await api.get(.raw(server.url())) }
        #expect(error?.code == .responseHeadTooLarge)
        #expect(jar.cookies.isEmpty)
        let tolerant = try session(jar) { $0.limits.fieldCount = 10_000 }
        #expect(try await text(tolerant, server.url()) == "ok")
        #expect(jar.cookies.map(\.name) == (4850..<4900).map { "c\($0)" })
        try await api.expectUsable()
    }

    @Test("a cookie of 1 MiB fails the response, and one of 60 KiB is not stored")
    func hugeValues() async throws {
        let server = try await MockServer.start { request in
            let size = request.path == "/huge" ? 1 << 20 : 60 << 10
            return MockResponse(fields: [.setCookie: "a=\(String(repeating: "b", count: size))"], body: "ok")
        }
        let jar = CookieJar()
        let api = try session(jar)
        let error = await curlewError { _ = try await api.get(.raw(server.url("/huge"))) }
        #expect(error?.code == .responseHeadTooLarge)
        #expect(try await text(api, server.url("/large")) == "ok")
        #expect(jar.cookies.isEmpty)
        try await api.expectUsable()
    }

    @Test("a cookie for a top-level domain, another host or a wrong path is never sent")
    func wrongPlaces() async throws {
        let server = try await MockServer.start(handler: Self.echo)
        let jar = CookieJar()
        let api = try session(jar) {
            $0.route.redirections = [ConnectionRoute.Redirection(toHost: "127.0.0.1", toPort: server.port)]
        }
        let base = "http://www.shop.co.uk:\(server.port)"
        for query in ["a=1;+domain=uk", "a=1;+domain=co.uk", "a=1;+domain=other.co.uk", "a=1;+path=/elsewhere"] {
            _ = try await text(api, "\(base)/?\(query)")
        }
        #expect(try await text(api, "\(base)/") == "")
        #expect(jar.cookies.map(\.path) == ["/elsewhere"])
        _ = try await text(api, "\(base)/?a=1;+domain=shop.co.uk")
        #expect(try await text(api, "\(base)/") == "a=1")
    }

    @Test("the link sees every request of an outer link")
    func hops() async throws {
        /// Repeats the request at the Location, like a redirecting link.
        struct Follow: CurlewMiddleware {
            func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
                -> CurlewResponse
            {
                let response = try await next(request)
                guard let location = response.fields[.location] else { return response }
                return try await next(CurlewRequest(.get, try request.uri.resolving(location)))
            }
        }
        let server = try await MockServer.start { request in
            guard request.path == "/start" else {
                return MockResponse(body: .string(request.fields[.cookie] ?? "none"))
            }
            return MockResponse(status: .found, fields: [.location: "/end", .setCookie: "a=1; path=/"])
        }
        let api = try HTTPSession(eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare) {
            Follow()
            CookieHandling()
        }
        #expect(try await text(api, server.url("/start")) == "a=1")
    }
}
