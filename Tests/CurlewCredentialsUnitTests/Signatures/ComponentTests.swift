import Curlew
import HTTPTypes
import Testing

@testable import CurlewCredentials

@Suite("Components of message signatures")
struct ComponentTests {
    /// The lines of a signature base, for components in the form of a signature.
    func lines(_ components: String, _ message: MessageSignature.Message) throws -> [String] {
        let entry = try #require(StructuredField.dictionary(Array("x=(\(components))".utf8))?.entries.first)
        guard case .innerList(let list) = entry.member else { return [] }
        let base = String(decoding: try message.signatureBase(of: list), as: UTF8.self)
        return base.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    func request(
        _ path: String?, method: HTTPRequest.Method = .get, scheme: String = "https",
        authority: String? = "www.example.com", _ fields: HTTPFields = [:]
    ) -> MessageSignature.Message {
        MessageSignature.Message(
            HTTPRequest(method: method, scheme: scheme, authority: authority, path: path, headerFields: fields))
    }

    @Test("derived components have the values of the RFC's examples")
    func derived() throws {
        let message = request("/path?param=value&foo=bar&baz=batman&qux=", method: .post)
        #expect(
            try lines(
                """
                "@method" "@target-uri" "@authority" "@scheme" "@request-target" "@path" "@query" \
                "@query-param";name="baz" "@query-param";name="qux" "@query-param";name="param"
                """, message) == [
                    "\"@method\": POST",
                    "\"@target-uri\": https://www.example.com/path?param=value&foo=bar&baz=batman&qux=",
                    "\"@authority\": www.example.com", "\"@scheme\": https",
                    "\"@request-target\": /path?param=value&foo=bar&baz=batman&qux=", "\"@path\": /path",
                    "\"@query\": ?param=value&foo=bar&baz=batman&qux=", "\"@query-param\";name=\"baz\": batman",
                    "\"@query-param\";name=\"qux\": ", "\"@query-param\";name=\"param\": value",
                ])
        #expect(try lines("\"@query\"", request("/path?queryString")) == ["\"@query\": ?queryString"])
        #expect(try lines("\"@query\" \"@path\"", request(nil)) == ["\"@query\": ?", "\"@path\": /"])
        #expect(try lines("\"@query\"", request("/a?")) == ["\"@query\": ?"])
        let connect = request(nil, method: .connect, authority: "www.example.com:80")
        #expect(try lines("\"@request-target\"", connect) == ["\"@request-target\": www.example.com:80"])
        #expect(
            try lines("\"@request-target\" \"@target-uri\" \"@path\"", request("*", method: .options)) == [
                "\"@request-target\": *", "\"@target-uri\": https://www.example.com", "\"@path\": /",
            ])
        #expect(
            try lines("\"@target-uri\"", request("/a", authority: "u:p@EXAMPLE.com:443"))
                == ["\"@target-uri\": https://EXAMPLE.com/a"])
    }

    @Test("an authority is in lower case, without user information and the default port")
    func authorities() throws {
        let cases = [
            ("https", "u:p@EXAMPLE.com:443", "example.com"), ("http", "example.com:80", "example.com"),
            ("https", "example.com:80", "example.com:80"), ("HTTPS", "[::1]:443", "[::1]"),
        ]
        for (scheme, authority, value) in cases {
            let message = request("/", scheme: scheme, authority: authority)
            #expect(try lines("\"@authority\"", message) == ["\"@authority\": \(value)"])
        }
    }

    @Test("the field Host of a request replaces its authority")
    func host() throws {
        let message = request("/a", authority: "10.0.0.1:8443", [.host: "API.example.com:443"])
        #expect(
            try lines("\"@authority\" \"@target-uri\"", message) == [
                "\"@authority\": api.example.com", "\"@target-uri\": https://API.example.com/a",
            ])
    }

    @Test("parameters of a query are decoded and encoded again")
    func queryParameters() throws {
        let message = request(
            "/parameters?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace"
                + "&fa%C3%A7ade%22%3A%20=something"
        )
        let components: [MessageSignature.Component] = [
            .queryParameter("var"), .queryParameter("bar"), .queryParameter("façade\": "),
        ]
        #expect(
            try lines(components.map(\.description).joined(separator: " "), message) == [
                "\"@query-param\";name=\"var\": this%20is%20a%20big%0Amultiline%20value",
                "\"@query-param\";name=\"bar\": with%20plus%20whitespace",
                "\"@query-param\";name=\"fa%C3%A7ade%22%3A%20\": something",
            ])
    }

    @Test("fields have the values of the RFC's examples")
    func fields() throws {
        let dictionary = HTTPField.Name("Example-Dict")!
        var fields: HTTPFields = [
            .init("X-OWS-Header")!: "Leading and trailing whitespace.", .init("X-Empty-Header")!: "",
            dictionary: "a=1,    b=2;x=1;y=2,   c=(a   b   c), d",
        ]
        for value in ["max-age=60", "must-revalidate"] {
            fields.append(HTTPField(name: .cacheControl, value: value))
        }
        for value in ["value, with, lots", "of, commas"] {
            fields.append(HTTPField(name: .init("Example-Header")!, value: value))
        }
        let message = request("/", fields).withDictionary(dictionary)
        #expect(
            try lines(
                """
                "x-ows-header" "x-empty-header" "cache-control" "example-dict" "example-dict";sf \
                "example-dict";key="a" "example-dict";key="d" "example-dict";key="b" "example-dict";key="c" \
                "example-header" "example-header";bs
                """, message) == [
                    "\"x-ows-header\": Leading and trailing whitespace.", "\"x-empty-header\": ",
                    "\"cache-control\": max-age=60, must-revalidate",
                    "\"example-dict\": a=1,    b=2;x=1;y=2,   c=(a   b   c), d",
                    "\"example-dict\";sf: a=1, b=2;x=1;y=2, c=(a b c), d", "\"example-dict\";key=\"a\": 1",
                    "\"example-dict\";key=\"d\": ?1", "\"example-dict\";key=\"b\": 2;x=1;y=2",
                    "\"example-dict\";key=\"c\": (a b c)", "\"example-header\": value, with, lots, of, commas",
                    "\"example-header\";bs: :dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:",
                ])
    }

    @Test("trailers are separate from fields of the same name")
    func trailers() throws {
        let response = HTTPResponse(status: .ok, headerFields: [.trailer: "Expires", .expires: "0"])
        let message = MessageSignature.Message(response, trailers: [.expires: "Wed, 9 Nov 2022 07:28:00 GMT"])
        #expect(
            try lines("\"@status\" \"trailer\" \"expires\";tr \"expires\"", message) == [
                "\"@status\": 200", "\"trailer\": Expires", "\"expires\";tr: Wed, 9 Nov 2022 07:28:00 GMT",
                "\"expires\": 0",
            ])
    }

    @Test(
        "a missing or invalid component is refused",
        arguments: [
            "\"@status\"", "\"@unknown\"", "\"@signature-params\"", "\"x-none\"", "\"Cache-Control\"", "\"a b\"",
            "\"\"", "token", "1",
            "\"@method\";req", "\"@method\";sf", "\"@method\";tr", "\"@query-param\"", "\"@query-param\";name=\"no\"",
            "\"@query-param\";name=\"twice\"", "\"@query-param\";name=a", "\"@query\";name=\"a\"", "\"x-a\";sf",
            "\"x-a\";bs;sf",
            "\"x-a\";bs;key=\"a\"", "\"x-a\";key=a", "\"x-a\";key=\"none\"", "\"x-a\";bs=?0", "\"x-a\";bs=1",
            "\"x-a\";other", "\"x-a\";tr",
            "\"x-a\" \"x-a\"", "\"x-d\";key=\"a\";sf \"x-d\";sf;key=\"a\"", "\"x-utf8\"", "\"priority\";sf",
        ])
    func refusals(_ components: String) throws {
        let message = request(
            "/?twice=1&twice=2",
            [
                .cacheControl: "no-store", .init("x-a")!: "a b", .init("x-d")!: "a=1", .init("x-utf8")!: "é",
                .priority: "u=",
            ])
        let error = #expect(throws: CurlewError.self) { try lines(components, message) }
        #expect(error?.code == .invalidRequest)
    }

    @Test("a component of a request needs the request")
    func requestless() throws {
        let response = HTTPResponse(status: .ok)
        #expect(throws: CurlewError.self) {
            try lines("\"@method\";req", MessageSignature.Message(response))
        }
        #expect(throws: CurlewError.self) { try lines("\"@method\"", MessageSignature.Message(response)) }
        let request = HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/")
        let message = MessageSignature.Message(response, to: request)
        #expect(throws: CurlewError.self) { try lines("\"expires\";req;tr", message) }
        #expect(throws: CurlewError.self) { try lines("\"@status\";req", message) }
        #expect(try lines("\"@method\";req", message) == ["\"@method\";req: GET"])
    }

    @Test("components that differ only in the order of their parameters are equal")
    func identity() {
        let name = HTTPField.Name.contentDigest
        #expect(
            MessageSignature.Component.field(name).member("a").ofRequest
                == MessageSignature.Component.field(name).ofRequest.member("a"))
        #expect(MessageSignature.Component.field(name) != MessageSignature.Component.field(name).wrapped)
        #expect(MessageSignature.Component.field(name).wrapped.wrapped.description == "\"content-digest\";bs")
    }

    @Test("a digest of content is written, and compared by the strongest known algorithm")
    func digests() throws {
        let content = Array("{\"hello\": \"world\"}".utf8)
        let value = try DigestField.value(of: content)
        #expect(value == "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
        let fields = { (text: String) -> HTTPFields in [.contentDigest: text] }
        #expect(try DigestField.matches(fields(value), content) == true)
        #expect(try DigestField.matches(fields(value), content + [0]) == false)
        let strong = try DigestField.value(of: content, by: .sha512)
        #expect(try DigestField.matches(fields("sha-256=:AAAA:, \(strong)"), content) == true)
        #expect(try DigestField.matches(fields("md5=:AAAA:"), content) == nil)
        #expect(try DigestField.matches([:], content) == nil)
        for text in ["sha-256=a", "sha-256", "sha-256=:A:", "\(value), \(value)", "sha-256=(:AAAA:)", ","] {
            #expect(throws: CurlewError.self) { try DigestField.matches(fields(text), content) }
        }
    }
}
