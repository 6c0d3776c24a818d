import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

/// The examples of RFC 10008, appendix A, and the rules of its sections 2 and 3.
@Suite("QUERY", .endsServers, .noLeaks, .timeLimit(.minutes(1)))
struct QueryVerbTests {
    struct Contact: Codable, Sendable, Equatable {
        var surname: String
        var givenname: String
        var email: String
    }

    private static let contacts = [
        Contact(surname: "Smith", givenname: "John", email: "smith@example.org"),
        Contact(surname: "Dubois", givenname: "Camille", email: "camille.dubois@example.net"),
    ]
    private static let json = """
        [ { "surname": "Smith", "givenname": "John", "email": "smith@example.org" },
          { "surname": "Dubois", "givenname": "Camille", "email": "camille.dubois@example.net" } ]
        """
    private static let query = "select=surname,givenname,email&limit=10&match=%22email=*@example.*%22"

    private func echo() async throws -> MockServer {
        try await MockServer.start { request in
            let body = String(decoding: try await request.body.collect(), as: UTF8.self)
            let type = request.fields[.contentType] ?? "-"
            return MockResponse(
                fields: [.contentType: "text/plain"],
                body: .string("\(request.method) \(request.target) \(type) \(body)"))
        }
    }

    @Test("the simple query of appendix A.1 has its content and its type, over both versions")
    func simple() async throws {
        for version in [HTTPVersionPolicy.http11, .http2PriorKnowledge] {
            let server = try await MockServer.start { _ in
                MockResponse(fields: [.contentType: "application/json"], body: .string(Self.json))
            }
            let api = try makeSession(baseURL: server.url()) { $0.versionPolicy = version }
            let found = try await api.query(
                "contacts", .body(.string(Self.query)), as: [Contact].self,
                fields: [.contentType: "application/x-www-form-urlencoded", .accept: "application/json"])
            #expect(found == Self.contacts)
            let request = try #require(await server.takeRequest())
            #expect(request.method.rawValue == "QUERY" && request.target == "/contacts")
            #expect(request.text == Self.query && request.fields[.accept] == "application/json")
            #expect(request.fields[.contentType] == "application/x-www-form-urlencoded")
        }
    }

    @Test("parameters, forms and JSON become the content, and the URL's query only on request")
    func content() async throws {
        let server = try await echo()
        let api = try makeSession(baseURL: server.url())
        let form = "application/x-www-form-urlencoded"
        #expect(try await api.query("q?a=1", parameters: ["b": 2], as: .text) == "QUERY /q?a=1 \(form) b=2")
        #expect(try await api.query("q", .form(["b": 2]), as: .text) == "QUERY /q \(form) b=2")
        #expect(try await api.query("q", .json(["b": 2]), as: .text) == "QUERY /q application/json {\"b\":2}")
        #expect(
            try await api.query("q", .body(.string("x")), query: ["b": 2], as: .text)
                == "QUERY /q?b=2 - x")
        let response = try await api.query("q", .form(["b": 2]))
        #expect(response.status == .ok)
        await response.discard()
    }

    @Test("a QUERY without content sends Content-Length 0")
    func empty() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        _ = try await makeSession().query(.raw(server.url()))
        #expect(try #require(await server.takeRequest()).fields[.contentLength] == "0")
    }

    @Test(
        "a redirect keeps method and content, except 303, which requests the result by GET (§2.5)",
        arguments: [301, 302, 303, 307, 308])
    func redirects(_ status: Int) async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/contacts" else { return MockResponse(body: .string(Self.json)) }
            return redirect(status, to: "/contacts/stored-queries/42")
        }
        let api = try makeSession { Redirects() }
        let response = try await api.query(
            .raw(server.url("/contacts")), .body(.string(Self.query)),
            fields: [.contentType: "application/x-www-form-urlencoded", .accept: "application/json"])
        #expect(response.history.map(\.status.code) == [status])
        await response.discard()
        _ = await server.takeRequest()
        let second = try #require(await server.takeRequest())
        #expect(second.method.rawValue == (status == 303 ? "GET" : "QUERY"))
        #expect(second.target == "/contacts/stored-queries/42" && second.fields[.accept] == "application/json")
        #expect(second.text == (status == 303 ? "" : Self.query))
        #expect(second.fields.contains(.contentType) == (status != 303))
    }

    @Test("Location and Content-Location of a direct response are left to the caller (appendix A.4)")
    func locations() async throws {
        let server = try await MockServer.start { request in
            guard request.method.rawValue == "QUERY" else {
                return MockResponse(body: .string("\(request.target)"))
            }
            return MockResponse(
                fields: [
                    .contentLocation: "/contacts/stored-results/17", .location: "/contacts/stored-queries/42",
                ], body: .string(Self.json))
        }
        let api = try makeSession(baseURL: server.url())
        let response = try await api.query("contacts", .form(["limit": 10]))
        try await server.waitForRequests(1)
        #expect(response.history.isEmpty && server.requestCount == 1)
        for name in [HTTPField.Name.location, .contentLocation] {
            let target = try response.uri.resolving(try #require(response.fields[name]))
            #expect(try await api.get(.raw(target.description), as: .text) == target.path)
        }
        await response.discard()
    }

    @Test("a conditional query returns 304 (appendix A.5)")
    func conditional() async throws {
        let date = "Sun, 31 Aug 2025, 08:44:00 GMT"
        let server = try await MockServer.start { request in
            MockResponse(status: request.fields[.ifModifiedSince] == date ? .notModified : .ok)
        }
        let response = try await makeSession().query(
            .raw(server.url()), .body(.string("SELECT 1")),
            fields: [.contentType: "application/sql", .accept: "text/csv", .ifModifiedSince: date])
        #expect(response.status == .notModified)
    }

    /// Fields and the types that they list; nil if the field is invalid (RFC 10008 §3, RFC 9651 §4.2.1).
    static let fields: [([String], [String]?)] = [
        (
            [#""application/jsonpath", application/sql;charset="UTF-8""#],
            ["application/jsonpath", "application/sql; charset=UTF-8"]
        ),
        (
            ["application/x-www-form-urlencoded, application/sql"],
            ["application/x-www-form-urlencoded", "application/sql"]
        ),
        ([#""application/sql", "application/xslt+xml""#], ["application/sql", "application/xslt+xml"]),
        (["application/sql", "text/csv"], ["application/sql", "text/csv"]),
        (["*/*"], ["*/*"]), (["text/*"], ["text/*"]), ([#""text/*";a=b"#], ["text/*; a=b"]),
        ([#""3gpp/x""#], ["3gpp/x"]), (["  a/b  ,\tc/d "], ["a/b", "c/d"]), ([""], []), (["Text/CSV"], ["text/csv"]),
        ([#"a/b;c="d e""#], [#"a/b; c="d e""#]), ([], nil), (["*/x"], nil), (["a"], nil), (["a/"], nil),
        ([#""/b""#], nil),
        ([#""a/b;c=d""#], nil), (["a/b;c"], nil), (["a/b;c=1"], nil), (["1"], nil), (["?1"], nil), (["(a/b)"], nil),
        (["a/b,"], nil), (["a/b;;"], nil), ([#""a/b"#], nil), ([":YQ==:"], nil), (["a/b/c"], nil), (["a/b", "1"], nil),
    ]

    @Test("Accept-Query is a list of media ranges, or absent", arguments: fields)
    func acceptQuery(_ values: [String], _ types: [String]?) throws {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: HTTPField.Name("Accept-Query")!, value: value)) }
        let response = CurlewResponse(.ok, fields: fields, uri: try CurlewURI("http://a.test/"))
        #expect(response.acceptedQueryTypes?.map(\.description) == types, "\(values)")
    }
}
