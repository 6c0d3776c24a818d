import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Checks of a request before it is sent", .endsServers, .timeLimit(.minutes(1)))
struct RequestCheckTests {
    @Test(
        "an invalid URL is an error",
        arguments: [
            "", "no url", "/path", "//host/path", "http:", "http://", "http:///path", "http://:80/", "http://ho st/",
            "http://host:port/", "http://host:99999/", "http://host:-1/", "http://[::1/", "http://[]/",
            "http://ho\u{0}st/",
            "http://host/pa\rth", "http://host/pa\nth", "http://host/pa\u{0}th", "http://host/\u{7F}",
            "http://host\\@evil/",
            "http://host%2Fevil/", "http://[::1]x/", "http://us\rer@host/", "http://user%0D%0A@host/",
        ])
    func badURL(_ url: String) async throws {
        let session = try makeSession()
        let error = await curlewError { _ = try await session.get(.raw(url)) }
        #expect(error?.code == .invalidURL, "\(String(describing: error))")
    }

    @Test(
        "schemes other than http and https are refused",
        arguments: ["file:///etc/passwd", "ftp://host/", "gopher://h/", "javascript:x", "HTTPX://h/"])
    func badScheme(_ url: String) async throws {
        let session = try makeSession()
        #expect(await curlewError { _ = try await session.get(.raw(url)) }?.code == .unsupportedScheme)
    }

    @Test("a field value with forbidden characters is an error; every other byte is kept")
    func checkedField() throws {
        let bytes = [UInt8](0x20...0x7E) + [0x09] + [UInt8](0x80...0xFF) + [0x21]
        let field = try HTTPField(checking: "X-mIxEd", value: bytes)
        #expect(field.name.rawName == "X-mIxEd")
        #expect(field.withUnsafeBytesOfValue { Array($0) } == bytes)
        let refused: [(String, [UInt8])] =
            [("", []), ("a b", []), ("a:", []), ("na\u{E9}me", []), (":path", []), ("a\r", [])]
            + ([UInt8](0x00...0x1F) + [0x7F]).filter { $0 != 0x09 }.map { ("X", [0x61, $0, 0x62]) }
        for (name, value) in refused {
            let error = #expect(throws: CurlewError.self) { try HTTPField(checking: name, value: value) }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test("CR, LF and NUL are never sent in a field, a method or a path")
    func injection() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try makeSession()
        #expect(HTTPRequest.Method("GE\rT") == nil)
        #expect(HTTPField.Name("Na\nme") == nil)
        let name = HTTPField.Name("X-Name")!
        _ = try await session.get(.raw(server.url("/")), fields: [name: "a\r\nInjected: 1"])
        let recorded = try #require(await server.takeRequest())
        #expect(recorded.fields[HTTPField.Name("Injected")!] == nil)
        var fields = HTTPFields()
        fields.append(HTTPField(name: name, lenientValue: [0x61, 0x01, 0x62]))
        let error = await curlewError { _ = try await session.get(.raw(server.url("/")), fields: fields) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.description.contains("\u{1}") == false)
    }

    @Test("a TRACE with a body is refused, and its credentials and cookies are not sent")
    func trace() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try makeSession()
        let fields: HTTPFields = [.authorization: "Basic eA==", .cookie: "a=b", .accept: "x/y"]
        // The GET first: its fields must not be taken from a cache for the TRACE.
        for method in [HTTPRequest.Method.get, .trace] {
            for _ in 0..<2 {
                _ = try await session.send(method, .raw(server.url("/")), fields: fields)
                let fields = try #require(await server.takeRequest()).fields
                #expect(fields[.accept] == "x/y")
                #expect((fields[.authorization] == nil) == (method == .trace))
                #expect((fields[.cookie] == nil) == (method == .trace))
            }
        }
        _ = try await session.send(.trace, .raw(server.url("/").replacing("http://", with: "http://u:p@")))
        #expect(try #require(await server.takeRequest()).fields[.authorization] == nil)
        let error = await curlewError {
            _ = try await session.send(.trace, .raw(server.url("/")), .body(.bytes([1])))
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test("a HEAD with a body is refused")
    func headWithBody() async throws {
        let error = await curlewError {
            _ = try await makeSession().send(.head, "http://127.0.0.1:1/", .body(.bytes([1])))
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test("fields that the transport sets are refused, and a matching Content-Length is sent once")
    func framingFields() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try makeSession()
        let bad: [HTTPFields] = [
            [.transferEncoding: "chunked"], [.contentLength: "4"], [.contentLength: "x"], [.contentLength: "3, 3"],
            [.upgrade: "h2c"], [.trailer: "X"], [HTTPField.Name("Host")!: "a b"], [HTTPField.Name("Host")!: ""],
            [HTTPField.Name("Host")!: "a", HTTPField.Name("host")!: "b"],
        ]
        for fields in bad {
            let error = await curlewError {
                _ = try await session.post(.raw(server.url()), .body(.bytes([1, 2, 3])), fields: fields)
            }
            #expect(error?.code == .invalidRequest, "\(fields)")
        }
        _ = try await session.post(.raw(server.url()), .body(.bytes([1, 2, 3])), fields: [.contentLength: "3"])
        let recorded = try #require(await server.takeRequest())
        #expect(recorded.fields[values: .contentLength] == ["3"])
    }

    @Test("fields keep order and case, empty ones included; user information becomes Basic and appears in no error")
    func fields() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(head.utf8.count)\r\n\r\n\(head)")
        }
        var fields = HTTPFields()
        fields.append(HTTPField(name: HTTPField.Name("x-Second")!, value: "2"))
        fields.append(HTTPField(name: HTTPField.Name("X-First")!, value: ""))
        fields.append(HTTPField(name: HTTPField.Name("x-Second")!, value: "again"))
        let url = "http://user:s%40cret@127.0.0.1:\(server.port)/a b/\u{e9}?q=<>#part"
        let body = try await makeSession().get(.raw(url), fields: fields).body.collect(upTo: 10_000)
        let head = String(decoding: body, as: UTF8.self)
        #expect(head.hasPrefix("GET /a%20b/%C3%A9?q=%3C%3E HTTP/1.1\r\n"))
        #expect(
            head.contains("x-Second: 2\r\nX-First:\r\nx-Second: again\r\nAuthorization: Basic dXNlcjpzQGNyZXQ=\r\n"))
        #expect(head.contains("\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        #expect(try CurlewURI(url).description.contains("cret") == false)
        for bad in ["http://user:secret@/", "https:/user:secret@host/", "us_er:secret@host", "1u:secret@h"] {
            let error = await curlewError { _ = try await makeSession().get(.raw(bad)) }
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test("a password in a URL may begin with a combining mark")
    func combiningPassword() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        _ = try await makeSession().get(.raw("http://user:%CC%81pw@127.0.0.1:\(server.port)/"))
        let recorded = try #require(await server.takeRequest())
        // The bytes "user:\u{301}pw" in Base64.
        #expect(recorded.fields[.authorization] == "Basic dXNlcjrMgXB3")
    }

    @Test(
        "a path is sent as written, and a fragment is never sent",
        arguments: ["/a//b/./c", "/%2e%2e/x", "/a;b=c,d", "/%c3%A9?q=%2f%2F"], [HTTPVersionPolicy.http11, .negotiated])
    func path(_ path: String, _ version: HTTPVersionPolicy) async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await MockServer.start(.init(tls: ServerTLS([certificate]))) { _ in MockResponse() }
        let session = try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            $0.versionPolicy = version
        }
        // The requests share a handle of libcurl: the target of one must not be that of the next.
        for target in [path, "/next", path] {
            let response = try await session.send(CurlewRequest(.get, server.url(target) + "#fragment"))
            _ = try await response.body.collect(upTo: 10)
            #expect(try #require(await server.takeRequest()).target == target)
        }
    }
}
