import FoundationEssentials
import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The placement of parameters", .timeLimit(.minutes(1)))
struct RequestSerializerTests {
    private var plain: HTTPRequestSerializer { HTTPRequestSerializer(defaultFields: [:]) }

    private func uri(_ url: String, _ parameters: ParameterValue?) throws -> String {
        try plain.serialize(parameters, into: CurlewRequest(.get, url)).uri.description
    }

    @Test(
        "a query is inserted before the fragment and after an existing query",
        arguments: [
            ("http://a.test", "http://a.test/?k=v"),
            ("http://a.test/p", "http://a.test/p?k=v"),
            ("http://a.test/p?x=1", "http://a.test/p?x=1&k=v"),
            ("http://a.test/p?", "http://a.test/p?k=v"), ("http://a.test/p?x=1&", "http://a.test/p?x=1&k=v"),
            ("http://a.test/p#part", "http://a.test/p?k=v#part"),
            ("http://a.test/p?x=1#a?b", "http://a.test/p?x=1&k=v#a?b"),
            ("http://[::1]:8080/../p?x=%5B#", "http://[::1]:8080/../p?x=%5B&k=v#"),
        ])
    func placement(_ url: String, _ expected: String) throws {
        #expect(try uri(url, ["k": "v"]) == expected)
        let again = try CurlewURI(expected)
        #expect(try plain.serialize(["k": "v"] as ParameterValue, into: CurlewRequest(.get, url)).uri == again)
    }

    @Test("empty parameters, and none, leave the URI unchanged")
    func empty() throws {
        for parameters: ParameterValue? in [[:], ["a": []], nil] {
            #expect(try uri("http://a.test/p", parameters) == "http://a.test/p")
            #expect(try uri("http://a.test/p?x#y", parameters) == "http://a.test/p?x#y")
        }
    }

    @Test("user information in the URI is kept when parameters become the query")
    func userInformation() throws {
        let request = try plain.serialize(
            ["k": "v"] as ParameterValue, into: CurlewRequest(.get, "http://me:secret@a.test/#f"))
        #expect(request.uri.description == "http://a.test/?k=v#f")
        #expect(request.curlCommand(maskingSecrets: false).contains("me:secret"))
    }

    @Test("the method determines where parameters are placed, in any letter case, unless the call overrides it")
    func methods() throws {
        let parameters: ParameterValue = ["k": "v"]
        for method in ["GET", "HEAD", "DELETE", "get", "Delete"] {
            let request = try plain.serialize(
                parameters, into: CurlewRequest(HTTPRequest.Method(method)!, "http://a.test/"))
            #expect(request.uri.query == "k=v")
            #expect(request.body.isNone)
            #expect(request.fields.isEmpty)
        }
        for method in ["POST", "PUT", "PATCH", "QUERY", "post"] {
            let request = try plain.serialize(
                parameters, into: CurlewRequest(HTTPRequest.Method(method)!, "http://a.test/"))
            #expect(request.uri.query == nil)
            #expect(try request.bytes() == Array("k=v".utf8))
            #expect(request.fields == [.contentType: "application/x-www-form-urlencoded"])
        }
        let delete = try plain.serialize(parameters, into: CurlewRequest(.delete, "http://a.test/"), placement: .body)
        #expect(try delete.bytes() == Array("k=v".utf8))
        let post = try plain.serialize(parameters, into: CurlewRequest(.post, "http://a.test/"), placement: .query)
        #expect(post.uri.query == "k=v")
        #expect(post.body.isNone)
        var other = plain
        other.methodsWithQuery = [.post]
        #expect(try other.serialize(parameters, into: CurlewRequest(.post, "http://a.test/")).uri.query == "k=v")
        #expect(try other.serialize(parameters, into: CurlewRequest(.get, "http://a.test/")).uri.query == nil)
    }

    @Test("a form without parameters is an empty body, JSON and property lists without parameters send no body")
    func none() throws {
        let post = try CurlewRequest(.post, "http://a.test/")
        let form = try plain.serialize(nil, into: post)
        #expect(!form.body.isNone)
        #expect(form.body.length == 0)
        #expect(form.fields[.contentType] == "application/x-www-form-urlencoded")
        let others: [any RequestSerializer] = [
            JSONRequestSerializer(base: plain), PropertyListRequestSerializer(base: plain),
        ]
        for serializer in others {
            let request = try serializer.serialize(RequestParameters.none.value(), into: post)
            #expect(request.body.isNone)
            #expect(request.fields.isEmpty)
        }
        let empty = try JSONRequestSerializer(base: plain).serialize([:] as ParameterValue, into: post)
        #expect(try empty.bytes() == Array("{}".utf8))
        struct Search: Encodable { var text = "" }
        #expect(try plain.serialize(Search?.none, into: post).body.length == 0)
    }

    @Test("JSON and property lists have their media types, and become queries for methods without a body")
    func types() throws {
        let parameters: ParameterValue = ["k": ["v"]]
        let json = try JSONRequestSerializer(base: plain).serialize(
            parameters, into: CurlewRequest(.put, "http://a.test/"))
        #expect(try json.bytes() == Array(#"{"k":["v"]}"#.utf8))
        #expect(json.fields == [.contentType: "application/json"])
        let list = try PropertyListRequestSerializer(base: plain).serialize(
            parameters, into: CurlewRequest(.put, "http://a.test/"))
        #expect(list.fields == [.contentType: "application/x-plist"])
        for serializer: any RequestSerializer in [
            JSONRequestSerializer(base: plain), PropertyListRequestSerializer(base: plain),
        ] {
            let get = try serializer.serialize(parameters, into: CurlewRequest(.get, "http://a.test/"))
            #expect(get.uri.query == "k%5B%5D=v")
            #expect(get.body.isNone)
            let delete = try serializer.serialize(
                parameters, into: CurlewRequest(.delete, "http://a.test/"), placement: .body)
            #expect(!delete.body.isNone)
        }
    }

    @Test("an existing Content-Type is kept, and so is an existing body")
    func existing() throws {
        let typed = try CurlewRequest(.post, "http://a.test/", fields: [.contentType: "text/x-own"])
        let serializers: [any RequestSerializer] = [plain, JSONRequestSerializer(base: plain)]
        for serializer in serializers {
            #expect(
                try serializer.serialize(["k": 1] as ParameterValue, into: typed).fields[values: .contentType] == [
                    "text/x-own"
                ])
            let full = try CurlewRequest(.post, "http://a.test/", body: .string("mine"))
            #expect(try serializer.serialize(nil, into: full).bytes() == Array("mine".utf8))
            let inQuery = try serializer.serialize(["k": 1] as ParameterValue, into: full, placement: .query)
            #expect(try inQuery.bytes() == Array("mine".utf8))
            let error = #expect(throws: CurlewError.self) {
                try serializer.serialize(["k": 1] as ParameterValue, into: full)
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test("default fields do not replace a request's own, in any letter case")
    func defaultFields() throws {
        var serializer = HTTPRequestSerializer(defaultFields: [.userAgent: "default", .accept: "a/b"])
        let name = try #require(HTTPField.Name("uSER-aGENT"))
        let request = try serializer.serialize(nil, into: CurlewRequest(.get, "http://a.test/", fields: [name: "mine"]))
        #expect(request.fields[values: .userAgent] == ["mine"])
        #expect(request.fields[.accept] == "a/b")
        serializer.defaultFields[name] = nil
        #expect(try serializer.serialize(nil, into: CurlewRequest(.get, "http://a.test/")).fields == [.accept: "a/b"])
    }

    @Test("Basic credentials are set and cleared, and those that RFC 7617 forbids are refused")
    func authorization() throws {
        var serializer = plain
        try serializer.setAuthorization(user: "Aladdin", password: "open:sesame \u{fc}")
        let request = try serializer.serialize(nil, into: CurlewRequest(.get, "http://a.test/"))
        #expect(
            request.fields[.authorization] == "Basic " + Data("Aladdin:open:sesame \u{fc}".utf8).base64EncodedString())
        serializer.clearAuthorization()
        #expect(try serializer.serialize(nil, into: CurlewRequest(.get, "http://a.test/")).fields.isEmpty)
        for (user, password) in [("a:b", "c"), ("a\n", "b"), ("a", "\u{0}"), ("\u{7F}", "")] {
            let error = #expect(throws: CurlewError.self) {
                try serializer.setAuthorization(user: user, password: password)
            }
            #expect(error?.code == .invalidRequest)
        }
        #expect(serializer.defaultFields.isEmpty)
    }

    @Test("a custom query encoder replaces the pairs, in URIs and bodies, if there are parameters")
    func queryEncoder() throws {
        var serializer = plain
        serializer.queryEncoder = { request, parameters in "\(request.method)=\(parameters["k"] == nil)é#" }
        let parameters: ParameterValue = ["k": "v"]
        let get = try serializer.serialize(parameters, into: CurlewRequest(.get, "http://a.test/#f"))
        #expect(get.uri.description == "http://a.test/?GET=false%C3%A9%23#f")
        let post = try serializer.serialize(parameters, into: CurlewRequest(.post, "http://a.test/"))
        #expect(try post.bytes() == Array("POST=falseé#".utf8))
        #expect(try serializer.serialize(nil, into: CurlewRequest(.get, "http://a.test/")).uri.query == nil)
        serializer.queryEncoder = { _, _ in "a=\r\nHost: evil" }
        let error = #expect(throws: CurlewError.self) {
            try serializer.serialize(parameters, into: CurlewRequest(.get, "http://a.test/"))
        }
        #expect(error?.code == .invalidURL)
        serializer.queryEncoder = { _, _ in "" }
        #expect(try serializer.serialize(parameters, into: CurlewRequest(.get, "http://a.test/")).uri.query == nil)
    }

    @Test("a serializer is a link that can precede others")
    func link() async throws {
        struct Twice: CurlewMiddleware {
            func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, Int>) async throws -> Int {
                try await next(request) + next(request)
            }
        }
        let chain = ChainBuilder.buildPartialBlock(accumulated: plain.asLink(returning: Int.self), next: Twice())
        let call = ParameterizedRequest(
            try CurlewRequest(.get, "http://a.test/"), parameters: RequestParameters(["k": "v"] as ParameterValue))
        #expect(try await chain.intercept(call) { $0.uri.description.count } == 36)
    }
}

extension CurlewRequest {
    /// The bytes of the request's body.
    func bytes(sourceLocation: SourceLocation = #_sourceLocation) throws -> [UInt8] {
        guard case .bytes(let bytes) = body.source else {
            Issue.record("the body is not made of bytes", sourceLocation: sourceLocation)
            return []
        }
        return bytes
    }
}
