#if Service && TestKit
import Curlew
import HTTPTypes
import Testing

@testable import CurlewService

@Suite("Requests that a gateway forwards")
struct ForwardedRequestTests {
    private let base = try? CurlewURI("http://upstream.test:8080/app/")

    private func forwarded(
        _ head: HTTPRequest, client: String? = "192.0.2.7", to target: String? = nil,
        rules change: (inout HTTPSession.Forwarding) throws -> Void = { _ in }
    ) throws -> ForwardedRequest {
        var rules = try HTTPSession.Forwarding(named: "edge")
        try change(&rules)
        return try ForwardedRequest(head, target: target, client: client, base: try #require(base), rules: rules)
    }

    private func head(
        _ method: HTTPRequest.Method = .get, _ path: String? = "/a", fields: HTTPFields = [:]
    ) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "https", authority: "shop.test", path: path, headerFields: fields)
    }

    /// The status of a refused request; nil if it is forwarded.
    private func refusal(
        _ head: HTTPRequest, rules change: (inout HTTPSession.Forwarding) throws -> Void = { _ in }
    ) throws -> HTTPResponse.Status? {
        do {
            _ = try forwarded(head, rules: change)
            return nil
        } catch let refusal as ForwardedRequest.Refusal {
            return refusal.status
        }
    }

    @Test("forwarded fields tell the upstream the client, the scheme and the gateway")
    func client() throws {
        let fields = try forwarded(head(fields: [.accept: "text/html", .cookie: "a=1"])).fields
        #expect(fields[.accept] == "text/html" && fields[.cookie] == "a=1")
        #expect(fields[.via] == "1.1 edge")
        #expect(fields[.forwarded] == #"for=192.0.2.7;host="shop.test";proto=https"#)
        #expect(fields[.forwardedFor] == "192.0.2.7")
        #expect(fields[.forwardedHost] == "shop.test" && fields[.forwardedProtocol] == "https")
        #expect(!fields.contains(.host))
        let kept = try forwarded(head()) { $0.keepsHost = true }.fields
        #expect(kept[.host] == "shop.test")
        let alone = try forwarded(head(), client: "2001:db8::1") { $0.clientFields = .forwarded }.fields
        #expect(alone[.forwarded]?.hasPrefix(#"for="[2001:db8::1]";"#) == true)
        #expect(!alone.contains(.forwardedFor))
        #expect(try forwarded(head(), client: nil).fields[.forwarded]?.hasPrefix("for=unknown;") == true)
    }

    @Test("client information is accepted only from a trusted proxy")
    func trust() throws {
        let said: HTTPFields = [
            .forwarded: "for=203.0.113.9", .forwardedFor: "203.0.113.9", .forwardedHost: "evil.test",
            .forwardedProtocol: "gopher", .init("X-Real-IP")!: "203.0.113.9", .init("X-Forwarded-Prefix")!: "/admin",
            .init("X_Forwarded_For")!: "203.0.113.9",
        ]
        let stranger = try forwarded(head(fields: said)).fields
        #expect(stranger[.forwardedFor] == "192.0.2.7" && stranger[.forwardedHost] == "shop.test")
        #expect(stranger[.forwardedProtocol] == "https")
        #expect(stranger[.forwarded]?.contains("203.0.113.9") == false)
        #expect(!stranger.contains(.init("X-Real-IP")!) && !stranger.contains(.init("X-Forwarded-Prefix")!))
        #expect(!stranger.contains(.init("X_Forwarded_For")!))
        let balancer = try forwarded(head(fields: said)) { $0.trustedProxies = [try IPNetwork("192.0.2.0/24")] }.fields
        #expect(balancer[.forwardedFor] == "203.0.113.9, 192.0.2.7" && balancer[.forwardedHost] == "evil.test")
        #expect(
            balancer[.forwarded] == #"for=203.0.113.9, for=192.0.2.7;host="shop.test";proto=https"#)
        #expect(balancer[.init("X-Real-IP")!] == "203.0.113.9")
    }

    @Test("hop-by-hop fields, and those that Connection lists, are not forwarded")
    func hop() throws {
        let fields = try forwarded(
            head(fields: [
                .connection: "keep-alive, X-Trace", .keepAlive: "timeout=5", .proxyAuthorization: "Basic eA==",
                .upgrade: "websocket", .http2Settings: "AAMAAABk", .init("X-Trace")!: "1", .init("X-Kept")!: "2",
                .trailer: "Digest", .te: "trailers, deflate",
            ])
        ).fields
        let names = Set(fields.map(\.name.canonicalName))
        #expect(
            names.subtracting(["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "via"])
                == ["x-kept", "te", "connection"])
        #expect(fields[.te] == "trailers" && fields[.connection] == "TE")
    }

    @Test("a combining mark in Connection and Via hides no other element")
    func combiningMark() throws {
        let fields = try forwarded(
            head(fields: [.connection: "X-Trace,\u{301}, X-Other \u{301}", .init("X-Trace")!: "1"])
        ).fields
        #expect(!fields.contains(.init("X-Trace")!))
        #expect(try refusal(head(fields: [.via: "1.1 edge,\u{301}"])) == .loopDetected)
        #expect(try refusal(head(fields: [.via: "1.1 edge \u{301}"])) == .loopDetected)
    }

    @Test(
        "a Connection field that names an essential field is refused",
        arguments: [
            "Host", "content-length", "close, Via", "Authorization", "Cookie", "X-Forwarded-For", "Forwarded",
            "Max-Forwards",
        ])
    func connection(_ value: String) throws {
        #expect(try refusal(head(fields: [.connection: value])) == .badRequest)
    }

    /// The fields of a list of pairs; literals of HTTPFields accept each name once.
    private static func fields(_ pairs: [(HTTPField.Name, String)]) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in pairs { fields.append(HTTPField(name: name, value: value)) }
        return fields
    }

    @Test(
        "a body with ambiguous framing is refused",
        arguments: [
            ("both framings", fields([(.contentLength, "3"), (.transferEncoding, "chunked")]), 400),
            ("two lengths", fields([(.contentLength, "3"), (.contentLength, "4")]), 400),
            ("a list of lengths", fields([(.contentLength, "3, 3")]), 400),
            ("a sign", fields([(.contentLength, "+3")]), 400),
            ("no number", fields([(.contentLength, "")]), 400),
            ("a number beyond 64 bits", fields([(.contentLength, "99999999999999999999")]), 400),
            ("another coding", fields([(.transferEncoding, "gzip, chunked")]), 501),
            ("the sign of Kelvin for a k", fields([(.transferEncoding, "chun\u{212A}ed")]), 501),
            ("chunked twice", fields([(.transferEncoding, "chunked"), (.transferEncoding, "chunked")]), 501),
            ("an obscured coding", fields([(.transferEncoding, "x chunked")]), 501),
            ("an empty coding", fields([(.transferEncoding, "")]), 501),
        ])
    func framing(_ name: String, _ fields: HTTPFields, _ status: Int) throws {
        #expect(try refusal(head(.post, fields: fields))?.code == status)
    }

    @Test("equal lengths count as one, and a HEAD has no body")
    func lengths() throws {
        let twice = Self.fields([(.contentLength, "3"), (.contentLength, "3")])
        #expect(try forwarded(head(.post, fields: twice)).content == .length(3))
        #expect(try forwarded(head(.post, fields: [.transferEncoding: "Chunked"])).content == .chunked)
        #expect(try forwarded(head(.post)).content == .unannounced)
        #expect(try refusal(head(.head, fields: [.contentLength: "1"])) == .badRequest)
        #expect(try refusal(head(.head, fields: [.contentLength: "0"])) == nil)
    }

    @Test(
        "a path keeps its bytes, appended to the path of the upstream",
        arguments: [
            ("/", "/app/"), ("/a//b", "/app/a//b"), ("/%7Ea/%2f?b=%20&c=../x", "/app/%7Ea/%2f?b=%20&c=../x"),
            ("/a.b/..c/...", "/app/a.b/..c/..."), ("/a?", "/app/a?"), ("http://other.test/x?y", "/app/x?y"),
            ("HTTPS://other.test", "/app/"),
        ])
    func path(_ path: String, _ expected: String) throws {
        let uri = try forwarded(head(.get, path)).uri
        #expect(uri.description == "http://upstream.test:8080" + expected)
    }

    @Test(
        "a path that leaves its folder, or is invalid, is refused",
        arguments: [
            "/../secret", "/a/..", "/a/../b", "/./a", "/a/.", "/%2e%2E/secret", "/a/.%2e/b", "/..%2fsecret",
            "/..\\secret",
            "/..%5csecret", "/a/..;x/b", "/..%3bx/b", "/%/../secret", "/a%2/../secret", "/a%", "/a%2", "/a%zz",
            "/..%00/b", "", "a", "*", "/a b", "/a#b", "/ä", "http:/a", "evil.test:443",
        ])
    func refusedPath(_ path: String) throws {
        #expect(try refusal(head(.get, path)) == .badRequest)
    }

    @Test("the host of an absolute target takes precedence, and an invalid host is refused")
    func authority() throws {
        #expect(try forwarded(head(.get, "http://other.test:81/x")).fields[.forwardedHost] == "other.test:81")
        #expect(try refusal(head(.get, "http://user@other.test/x")) == .badRequest)
        var bad = head()
        bad.authority = "shop.test\" ;for=1"
        #expect(try refusal(bad) == .badRequest)
        #expect(try refusal(head(fields: [.host: "second.test"])) == .badRequest)
    }

    @Test("a target set by the route replaces the target of the request, and passes the same checks")
    func target() throws {
        #expect(try forwarded(head(), to: "/v2/a?x=1").uri.path == "/app/v2/a")
        #expect(throws: ForwardedRequest.Refusal.self) { _ = try forwarded(head(), to: "/../a") }
    }

    @Test("a request that has already passed the gateway is a loop")
    func loop() throws {
        #expect(try refusal(head(fields: [.via: "1.0 fred, 1.1 Edge (comment)"]))?.code == 508)
        let other = try forwarded(head(fields: [.via: "1.0 edge-2"])).fields
        #expect(other[values: .via] == ["1.0 edge-2", "1.1 edge"])
    }

    @Test("some methods, expectations and hop-by-hop features are refused")
    func refusals() throws {
        #expect(try refusal(head(.trace)) == .notImplemented)
        #expect(try refusal(head(.connect)) == .notImplemented)
        #expect(try refusal(head(.options, "*")) == .noContent)
        #expect(try refusal(head(.options, fields: [.maxForwards: "0"])) == .noContent)
        #expect(try forwarded(head(.options, fields: [.maxForwards: "3"])).fields[.maxForwards] == "2")
        #expect(try forwarded(head(.get, fields: [.maxForwards: "0"])).fields[.maxForwards] == "0")
        #expect(try refusal(head(.post, fields: [.expect: "a-pony"])) == .expectationFailed)
        let expecting = try forwarded(head(.post, fields: [.expect: "100-Continue", .contentLength: "5"])).fields
        #expect(expecting[.expect] == "100-Continue")
    }

    @Test("a gateway's name must be a token", arguments: ["", "a b", "a,b", "é"])
    func name(_ name: String) {
        #expect(throws: CurlewError.self) { _ = try HTTPSession.Forwarding(named: name) }
    }

    @Test(
        "each failure has a status",
        arguments: [
            (ErrorCode.invalidURL, 400), (.bodyFailed, 400), (.bodyLengthMismatch, 400), (.connectionRefused, 502),
            (.invalidResponse, 502), (.responseTruncated, 502), (.untrustedCertificate, 502), (.hostNotFound, 502),
            (.connectTimeout, 504), (.headTimeout, 504), (.totalTimeout, 504), (.deadlineUnreachable, 504),
            (.connectionWaitTimeout, 503), (.overloaded, 503), (.rateLimited, 503), (.circuitOpen, 503),
            (.sessionInvalidated, 503), (.resourcesExhausted, 503),
        ])
    func statuses(_ code: ErrorCode, _ status: Int) {
        #expect(HTTPSession.Forwarding.status(for: code).code == status)
    }

    @Test(
        "a scheme other than http and https is refused",
        arguments: ["https, for=127.0.0.1;proto=https", "ftp", "", "https\"", "HTTPSX"])
    func refusedScheme(_ scheme: String) throws {
        var forged = head()
        forged.scheme = scheme
        #expect(try refusal(forged) == .badRequest)
    }

    @Test("the forwarded scheme is that of the connection, if the server reports it")
    func scheme() throws {
        var plain = head()
        plain.scheme = "HTTPS"
        #expect(try forwarded(plain).fields[.forwardedProtocol] == "https")
        let told = try ForwardedRequest(
            plain, target: nil, client: "192.0.2.7", isSecure: false, base: try #require(base),
            rules: try HTTPSession.Forwarding(named: "edge"))
        #expect(told.fields[.forwardedProtocol] == "http")
        #expect(told.fields[.forwarded]?.hasSuffix(";proto=http") == true)
    }

    @Test(
        "a field with client information passes only from a trusted proxy",
        arguments: [
            "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "cf_connecting_ip", "Fastly-Client-IP",
            "X-Cluster-Client-IP", "X-Scheme", "X-Original-Host", "Client-Cert", "Forwarded-For",
        ])
    func clientFields(_ name: String) throws {
        let name = try #require(HTTPField.Name(name))
        let said = head(fields: [name: "203.0.113.9"])
        #expect(try !forwarded(said).fields.contains(name))
        #expect(try forwarded(said) { $0.trustedProxies = [try IPNetwork("192.0.2.0/24")] }.fields.contains(name))
    }

    @Test(
        "a field whose name imitates a framing field is dropped",
        arguments: ["Transfer_Encoding", "Content_Length"])
    func imitatedFraming(_ name: String) throws {
        let name = try #require(HTTPField.Name(name))
        let sent = head(fields: [name: "5", .init("X_Other")!: "1"])
        let fields = try forwarded(sent) { $0.trustedProxies = [try IPNetwork("192.0.2.0/24")] }.fields
        #expect(!fields.contains(name) && fields.contains(.init("X_Other")!))
    }

    @Test("an unterminated string in a trusted Forwarded field is refused, as it would swallow the next element")
    func openString() throws {
        for (value, isRefused) in [
            (#"for="203.0.113.9"#, true), (#"for="a\""#, true), (#"for="[2001:db8::1]";by=x"#, false),
        ] {
            let status = try refusal(head(fields: [.forwarded: value])) {
                $0.trustedProxies = [try IPNetwork("192.0.2.0/24")]
            }
            #expect((status == .badRequest) == isRefused, "\(value)")
        }
    }

    @Test("hop-by-hop fields of an answer are removed, and its Via gains an entry")
    func response() {
        let kept = HopFields.response(
            [
                .connection: "close, X-Hop", .init("X-Hop")!: "1", .keepAlive: "timeout=5",
                .transferEncoding: "chunked", .proxyAuthenticate: "Basic", .setCookie: "a=1", .trailer: "Digest",
            ], length: nil, via: "1.1 edge")
        #expect(Set(kept.map(\.name.canonicalName)) == ["set-cookie", "trailer", "via"])
        let measured = HopFields.response([.contentLength: "3", .trailer: "Digest"], length: 3, via: "2 edge")
        #expect(Set(measured.map(\.name.canonicalName)) == ["content-length", "via"])
    }
}
#endif
