import CurlewTesting
import Foundation
import HTTPTypes
import Testing

@testable import Probe

@Suite("Serialized content of a request", .timeLimit(.minutes(1)))
struct ContentTests {
    private func recorded(_ members: String, path: String = "/") async throws -> RecordedRequest {
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse()
        }
        let answer = try await ProbeDriver().fetch(server.url(path), members)
        #expect(answer["status"] == .integer(200), "\(answer)")
        let request = try #require(await server.takeRequest())
        await server.shutdown()
        return request
    }

    /// A summary of a received request.
    struct Sent: Sendable, CustomTestStringConvertible {
        let members: String
        let target: String
        var type: String?
        var body = ""

        var testDescription: String { members }
    }

    private static let form = "application/x-www-form-urlencoded"

    @Test(
        "parameters are placed according to the method and the encoding",
        arguments: [
            Sent(members: #""parameters":{"b":1,"a":"x y"}"#, target: "/?a=x%20y&b=1"),
            Sent(members: #""method":"DELETE","parameters":{"a":null}"#, target: "/?a"),
            Sent(
                members: #""method":"POST","parameters":{"b":1,"a":[1,2]}"#, target: "/", type: form,
                body: "a%5B%5D=1&a%5B%5D=2&b=1"),
            Sent(members: #""method":"POST","encoding":"query","parameters":{"a":1}"#, target: "/?a=1"),
            Sent(members: #""encoding":"form","parameters":{"a":1}"#, target: "/", type: form, body: "a=1"),
            Sent(members: #""method":"POST","encoding":"form""#, target: "/", type: form),
            Sent(members: #""method":"POST","encoding":"query""#, target: "/"),
            Sent(members: #""method":"POST","encoding":"json""#, target: "/"),
            Sent(members: #""method":"POST","encoding":"plist""#, target: "/"),
            Sent(members: #""encoding":"json","parameters":{"a":1}"#, target: "/?a=1"),
            Sent(
                members:
                    #""method":"PUT","encoding":"json","parameters":{"b":1.50,"a":[true,null,1e400,-0,12345678901234567890123],"c":{"z":1,"y":"\u00e9/"}}"#,
                target: "/", type: "application/json",
                body: #"{"b":1.50,"a":[true,null,1e400,-0,12345678901234567890123],"c":{"z":1,"y":"é\/"}}"#),
            Sent(
                members: #""method":"PUT","encoding":"json","parameters":[1]"#, target: "/", type: "application/json",
                body: "[1]"),
            Sent(
                members: #""method":"POST","encoding":"json","parameters":{},"headers":[["Content-Type","text/json"]]"#,
                target: "/", type: "text/json", body: "{}"),
            Sent(members: #""method":"POST","parameters":{"a":1},"body":"aGk=""#, target: "/?a=1", body: "hi"),
        ])
    func placed(_ sent: Sent) async throws {
        let request = try await recorded(sent.members)
        #expect(request.target == sent.target)
        #expect(request.fields[.contentType] == sent.type)
        #expect(request.text == sent.body)
    }

    @Test("parameters are appended to an existing query")
    func query() async throws {
        #expect(try await recorded(#""parameters":{"b":2}"#, path: "/p?a=1").target == "/p?a=1&b=2")
    }

    @Test("a property list keeps integers apart from other numbers")
    func propertyList() async throws {
        let request = try await recorded(
            #""method":"POST","encoding":"plist","parameters":{"i":1,"r":1.5,"t":["x",true]}"#)
        #expect(request.fields[.contentType] == "application/x-plist")
        let lines = request.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        for line in ["<integer>1</integer>", "<real>1.5</real>", "<string>x</string>", "<true/>"] {
            #expect(lines.contains(line))
        }
    }

    @Test(
        "the style applies to queries, forms and parts",
        arguments: [
            ("{}", #"{"b":true,"a":[1,2]}"#, "a%5B%5D=1&a%5B%5D=2&b=1"),
            (#"{"arrays":"brackets"}"#, #"{"a":[1,2]}"#, "a%5B%5D=1&a%5B%5D=2"),
            (#"{"arrays":"indexed"}"#, #"{"a":[1,2]}"#, "a%5B0%5D=1&a%5B1%5D=2"),
            (#"{"arrays":"repeated"}"#, #"{"a":[1,2]}"#, "a=1&a=2"),
            (#"{"arrays":"comma"}"#, #"{"a":["1,5","2"]}"#, "a=1%2C5,2"),
            (#"{"booleans":"numbers"}"#, #"{"a":false}"#, "a=0"),
            (#"{"booleans":"words"}"#, #"{"a":false}"#, "a=false"),
            (#"{"keys":"sorted"}"#, #"{"b":{"d":1,"c":2},"a":3}"#, "a=3&b%5Bc%5D=2&b%5Bd%5D=1"),
            (#"{"keys":"given"}"#, #"{"b":{"d":1,"c":2},"a":3}"#, "b%5Bd%5D=1&b%5Bc%5D=2&a=3"),
            (#"{"spaces":"percent"}"#, #"{"a":"x +"}"#, "a=x%20%2B"),
            (#"{"spaces":"plus"}"#, #"{"a":"x +"}"#, "a=x+%2B"),
            (#"{"nulls":"name"}"#, #"{"a":null,"b":1}"#, "a&b=1"),
            (#"{"nulls":"empty"}"#, #"{"a":null,"b":1}"#, "a=&b=1"),
            (#"{"nulls":"omit","arrays":null}"#, #"{"a":null,"b":1}"#, "b=1"),
        ])
    func style(_ style: String, _ parameters: String, _ pairs: String) async throws {
        let members = #""style":\#(style),"parameters":\#(parameters)"#
        #expect(try await recorded(members).target == "/?" + pairs)
        #expect(try await recorded(#""encoding":"json",\#(members)"#).target == "/?" + pairs)
        #expect(try await recorded(#""encoding":"plist",\#(members)"#).target == "/?" + pairs)
        #expect(try await recorded(#""method":"POST",\#(members)"#).text == pairs)
    }

    @Test("a form contains its parameters first, then its parts in order")
    func multipart() async throws {
        let file = try TemporaryFile(Array("{}".utf8))
        let name = try #require(file.path.split(separator: "/").last)
        let members = #"""
            "method":"POST","parameters":{"a":[true],"b":null},"style":{"booleans":"words"},"multipart":[
            {"name":"te\"xt","value":"héllo"},{"name":"f","filename":"x.json","type":"text/x","body":"aGk="},
            {"name":"g","filename":"x.json","body":""},{"name":"h","file":"\#(file.path)"},
            {"headers":[["X-Own","\u00e9"]],"body":"eW8="},{"name":"raw","body":"/w=="}]
            """#.replacing("\n", with: "")
        let request = try await recorded(members)
        let type = try #require(request.fields[.contentType])
        let boundary = try #require(type.split(separator: "boundary=").last)
        #expect(type.hasPrefix("multipart/form-data; boundary="))
        let parts = [
            "Content-Disposition: form-data; name=\"a[]\"\r\n\r\ntrue",
            "Content-Disposition: form-data; name=\"b\"\r\n\r\n",
            "Content-Disposition: form-data; name=\"te%22xt\"\r\n\r\nhéllo",
            "Content-Disposition: form-data; name=\"f\"; filename=\"x.json\"\r\nContent-Type: text/x\r\n\r\nhi",
            "Content-Disposition: form-data; name=\"g\"; filename=\"x.json\"\r\nContent-Type: application/json\r\n\r\n",
            "Content-Disposition: form-data; name=\"h\"; filename=\"\(name)\"\r\nContent-Type: application/octet-stream\r\n\r\n{}",
        ]
        var expected = Array(parts.map { "--\(boundary)\r\n\($0)\r\n" }.joined().utf8)
        expected += Array("--\(boundary)\r\nX-Own: ".utf8) + [0xE9] + Array("\r\n\r\nyo\r\n--\(boundary)\r\n".utf8)
        expected += Array("Content-Disposition: form-data; name=\"raw\"\r\n\r\n".utf8) + [0xFF]
        expected += Array("\r\n--\(boundary)--\r\n".utf8)
        #expect(request.body == expected)
        #expect(request.fields[.contentLength] == "\(expected.count)")
    }

    @Test("a form without parts is URL-encoded, and a chunked form has no Content-Length")
    func plainForm() async throws {
        let plain = try await recorded(#""method":"POST","multipart":[]"#)
        #expect(plain.fields[.contentType] == Self.form && plain.text.isEmpty)
        let chunked = try await recorded(
            #""method":"POST","chunked":true,"multipart":[{"name":"a","value":"b"}],"trailers":[["X-Sum","7"]]"#)
        #expect(chunked.fields[.contentLength] == nil && chunked.fields[.transferEncoding] == "chunked")
        #expect(chunked.text.contains("name=\"a\"") && chunked.trailers.count == 1)
    }

    @Test("progress counts the bytes of a form up to its length")
    func progress() async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .string("\(try await request.body.collect(upTo: 8 << 20).count)"))
        }
        let file = try TemporaryFile([UInt8](repeating: 0x61, count: 4 << 20))
        let answer = try await ProbeDriver().fetch(
            server.url(), #""method":"POST","multipart":[{"name":"f","file":"\#(file.path)"}]"#)
        let length = try #require(answer.bodyText)
        guard case .array(let steps) = answer["progress"] else { return #expect(Bool(false), "\(answer)") }
        #expect(steps.last == .array([.number(length), .number(length)]))
        let sent = steps.compactMap { step in
            if case .array(let pair) = step, case .number(let digits) = pair[0] { Int(digits) } else { nil }
        }
        #expect(sent.count == steps.count && sent == sent.sorted())
        #expect(try await ProbeDriver().fetch(server.url())["progress"] == nil)
        await server.shutdown()
    }

    @Test(
        "a value that cannot be encoded returns the library's error code, and no request is sent",
        arguments: [
            (#""parameters":[1]"#, "encoding-failed"), (#""parameters":"a""#, "encoding-failed"),
            (#""method":"POST","encoding":"json","parameters":5"#, "encoding-failed"),
            (#""method":"POST","encoding":"plist","parameters":{"a":null}"#, "encoding-failed"),
            (#""style":{"arrays":"comma"},"parameters":{"a":[[1]]}"#, "encoding-failed"),
            (#""multipart":[{"name":"a","value":"b"}]"#, "invalid-request"),
            (#""method":"POST","body":"","multipart":[]"#, "invalid-request"),
            (#""method":"POST","encoding":"form","body":"","parameters":{"a":1}"#, "invalid-request"),
            (#""method":"POST","multipart":[{"name":"a","file":"/nowhere/file"}]"#, "body-failed"),
            (#""method":"POST","multipart":[{"headers":[["a b","c"]],"body":""}]"#, "invalid-request"),
            (
                #""method":"POST","multipart":[{"name":"a","filename":"b","type":"c\r\nd: e","body":""}]"#,
                "invalid-request"
            ),
        ])
    func refused(_ members: String, _ code: String) async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        #expect(try await ProbeDriver().fetch(server.url(), members).code == code)
        #expect(server.connectionCounts.accepted == 0)
        await server.shutdown()
    }
}
