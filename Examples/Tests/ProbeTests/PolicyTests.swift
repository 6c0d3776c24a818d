import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("Policies between the caller and the exchange", .timeLimit(.minutes(1)))
struct PolicyTests {
    @Test(
        "a redirect is followed, returned or reported as an error, according to the line",
        arguments: [301, 302, 303, 307, 308])
    func redirects(_ status: Int) async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/" else { return MockResponse(body: "there") }
            return MockResponse(status: HTTPResponse.Status(code: status), fields: [.location: "/there"], body: "moved")
        }
        let probe = ProbeDriver()
        let manual = try await probe.fetch(server.url(), #""redirect":"manual""#)
        #expect(manual["status"] == .integer(status))
        #expect(manual.bodyText == "moved" && manual["redirects"] == .integer(0))
        let followed = try await probe.fetch(server.url())
        #expect(followed["status"] == .integer(200) && followed.bodyText == "there")
        #expect(followed.string("url") == server.url("/there") && followed["redirects"] == .integer(1))
        #expect(followed["history"] == .array([.array([.integer(status), .string(server.url())])]))
        #expect(try await probe.fetch(server.url(), #""redirect":"error""#).code == "redirect-refused")
        #expect(try await probe.fetch(server.url(), #""max_redirects":0"#).code == "too-many-redirects")
        await server.shutdown()
    }

    @Test("a body with a content coding is decoded, unless the line turns decoding off")
    func coded() async throws {
        let server = try await MockServer.start { _ in try MockResponse(body: "plain").encoded(.gzip) }
        let probe = ProbeDriver()
        #expect(try await probe.fetch(server.url()).bodyText == "plain")
        let raw = try await probe.fetch(server.url(), #""decode":false"#)
        #expect(raw.bodyText != "plain" && raw["status"] == .integer(200))
        await server.shutdown()
    }

    @Test("credentials follow their scheme and are sent only to their origin")
    func credentials() async throws {
        let other = try await MockServer.start { request in MockResponse(body: .string("\(request.fields)")) }
        let server = try await MockServer.start { [url = other.url()] request in
            if request.path == "/away" { return MockResponse(status: .found, fields: [.location: url]) }
            guard let sent = request.fields[.authorization] else {
                let challenge = #"Digest realm="r", nonce="n", qop="auth", algorithm=MD5"#
                return MockResponse(status: .unauthorized, fields: [.wwwAuthenticate: challenge])
            }
            return MockResponse(body: .string(String(sent.prefix { $0 != " " })))
        }
        let probe = ProbeDriver()
        for scheme in ["basic", "digest"] {
            let auth = #""auth":{"scheme":"\#(scheme)","user":"u","password":"p"}"#
            #expect(try await probe.fetch(server.url(), auth).bodyText?.lowercased() == scheme)
        }
        let bearer = #""auth":{"scheme":"bearer","token":"t"}"#
        #expect(try await probe.fetch(server.url(), bearer).bodyText == "Bearer")
        let away = try await probe.fetch(server.url("/away"), bearer)
        #expect(away["status"] == .integer(200) && away.bodyText?.lowercased().contains("bearer") == false)
        for wrong in [#"{"scheme":"basic"}"#, #"{"scheme":"bearer","user":"u"}"#, "1", #"{"scheme":1}"#] {
            #expect(try await probe.fetch(server.url(), #""auth":\#(wrong)"#).code == "bad-request")
        }
        await server.shutdown()
        await other.shutdown()
    }

    @Test("a token of OAuth 2 is requested once in a session, and is sent only to its origin")
    func oauth() async throws {
        let tokens = try await MockServer.start { request in
            let isKnown = request.fields[.authorization] == "Basic Yzpz"
            return MockResponse(
                status: isKnown ? .ok : .unauthorized, fields: [.contentType: "application/json"],
                body: isKnown
                    ? #"{"access_token":"t","token_type":"Bearer","expires_in":3600}"# : #"{"error":"invalid_client"}"#)
        }
        let server = try await MockServer.start { request in
            MockResponse(body: .string(request.fields[.authorization] ?? "none"))
        }
        let probe = ProbeDriver()
        let client = #""client_id":"c","client_secret":"s""#
        let auth = #""auth":{"scheme":"oauth","token_url":"\#(tokens.url("/token"))",\#(client)}"#
        for _ in 0..<3 { #expect(try await probe.fetch(server.url(), auth).bodyText == "Bearer t") }
        #expect(tokens.requestCount == 1)
        #expect(try await probe.fetch(server.url()).bodyText == "none")
        let refused = auth.replacing(#""s""#, with: #""wrong""#)
        #expect(try await probe.fetch(server.url(), refused).code == "token-refused")
        #expect(try await probe.fetch(server.url(), #""auth":{"scheme":"oauth"}"#).code == "bad-request")
        await server.shutdown()
        await tokens.shutdown()
    }

    @Test("a request is signed by Signature Version 4")
    func sigv4() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .string(request.fields[.authorization] ?? "none"))
        }
        let probe = ProbeDriver()
        let auth = #""auth":{"scheme":"sigv4","user":"AKID","password":"k","region":"r","service":"execute-api"}"#
        let signature = try await probe.fetch(server.url(), auth).bodyText ?? ""
        #expect(signature.hasPrefix("AWS4-HMAC-SHA256 Credential=AKID/"))
        #expect(signature.contains("/r/execute-api/aws4_request"))
        #expect(try await probe.fetch(server.url(), #""auth":{"scheme":"sigv4","user":"a"}"#).code == "bad-request")
        await server.shutdown()
    }

    @Test("a request that fails temporarily is retried as often as the line allows")
    func retry() async throws {
        let server = try await MockServer.start()
        for status in [503, 503, 200] {
            server.enqueue(
                MockResponse(status: HTTPResponse.Status(code: status), fields: [.retryAfter: "0"]))
        }
        let probe = ProbeDriver()
        let once = try await probe.fetch(server.url())
        #expect(once["status"] == .integer(503) && once["metrics"]?.number("attempts") == 1)
        let twice = try await probe.fetch(server.url(), #""retry":{"attempts":2}"#)
        #expect(twice["status"] == .integer(200) && twice["metrics"]?.number("attempts") == 2)
        for wrong in ["0", "-1", #""2""#] {
            #expect(try await probe.fetch(server.url(), #""retry":{"attempts":\#(wrong)}"#).code == "bad-request")
        }
        await server.shutdown()
    }

    @Test("public addresses are the only permitted ones if the line requires it")
    func addresses() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let probe = ProbeDriver()
        #expect(try await probe.fetch(server.url(), #""address_policy":"any""#).bodyText == "ok")
        #expect(try await probe.fetch(server.url(), #""address_policy":"public""#).code == "address-forbidden")
        await server.shutdown()
    }

    @Test("a request uses the proxy that the line names")
    func proxy() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let proxy = try await MockProxy.start()
        let probe = ProbeDriver()
        #expect(try await probe.fetch(server.url(), #""proxy":"http://127.0.0.1:\#(proxy.port)""#).bodyText == "ok")
        #expect(proxy.connectionCounts.accepted == 1)
        #expect(try await probe.fetch(server.url(), #""proxy":"ftp://127.0.0.1:1""#)["error"] != nil)
        #expect(try await probe.fetch(server.url(), #""proxy":"environment""#).bodyText == "ok")
        await proxy.shutdown()
        await server.shutdown()
    }

    @Test("credentials of the proxy are sent to the proxy and to no origin")
    func proxyLogin() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: request.fields.contains(.proxyAuthorization) ? "leaked" : "ok")
        }
        let proxy = try await MockProxy.start(.init(credentials: .init(user: "u", password: "p:w")))
        let probe = ProbeDriver()
        let through = #""proxy":"http://127.0.0.1:\#(proxy.port)""#
        func login(_ password: String, _ scheme: String = "basic") -> String {
            #"\#(through),"proxy_auth":{"scheme":"\#(scheme)","user":"u","password":"\#(password)"}"#
        }
        #expect(try await probe.fetch(server.url(), login("p:w")).bodyText == "ok")
        #expect(try await probe.fetch(server.url(), login("wrong"))["status"] == .integer(407))
        #expect(try await probe.fetch(server.url(), through)["status"] == .integer(407))
        #expect(try await probe.fetch(server.url(), login("p:w", "ntlm")).skip == "proxy_auth ntlm")
        let login = #""proxy_auth":{"scheme":"basic","user":"u","password":"p"}"#
        #expect(try await probe.fetch(server.url(), login).code == "bad-request")
        #expect(try await probe.fetch(server.url(), login + #","proxy":"environment""#).skip != nil)
        #expect(
            try await probe.fetch(server.url(), through + #","proxy_auth":{"scheme":"basic"}"#).code == "bad-request")
        await proxy.shutdown()
        await server.shutdown()
    }

    @Test("a Digest challenge of a proxy is answered")
    func proxyDigest() async throws {
        let proxy = try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                let isAnswered = head.contains("Proxy-Authorization: Digest username=\"u\"")
                try await connection.write(
                    isAnswered
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                        : "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n"
                            + "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256\r\n\r\n"
                )
            }
        }
        let answer = try await ProbeDriver().fetch(
            "http://origin.test/",
            #""proxy":"http://127.0.0.1:\#(proxy.port)","proxy_auth":{"scheme":"digest","user":"u","password":"p"}"#)
        #expect(answer.bodyText == "ok", "\(answer)")
        await proxy.shutdown()
    }
}
