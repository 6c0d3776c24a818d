import CurlewTesting
import Foundation
import HTTPTypes
import Testing

@testable import Probe

@Suite("Serializers of a response", .timeLimit(.minutes(1)))
struct ReadingTests {
    /// The answer to a fetch of this body.
    private func answer(
        _ body: String, _ type: String?, _ members: String, status: Int = 200
    ) async throws -> JSONValue { try await answer(Array(body.utf8), type, members, status: status) }

    private func answer(
        _ body: [UInt8], _ type: String?, _ members: String, status: Int = 200
    ) async throws -> JSONValue {
        var fields = HTTPFields()
        fields[.contentType] = type
        let response = MockResponse(
            status: HTTPResponse.Status(code: status), fields: fields, body: body.isEmpty ? .none : .bytes(body))
        let server = try await MockServer.start { _ in response }
        let answer = try await ProbeDriver().fetch(server.url(), members)
        await server.shutdown()
        return answer
    }

    private func value(_ text: String) throws -> JSONValue { try JSONReader.read(Array(text.utf8)) }

    private static let plist = #"<?xml version="1.0"?><plist version="1.0">"#

    @Test(
        "each serializer returns its value beside the response",
        arguments: [
            (
                "json", "application/json", #"{"b":1.50,"a":[null,true,"\u00e9"],"n":12345678901234567890123}"#,
                #"{"b":1.5,"a":[null,true,"é"],"n":12345678901234567890123}"#
            ),
            ("json", "application/problem+json", "[]", "[]"),
            (
                "plist", "application/x-plist",
                plist
                    + "<dict><key>b</key><integer>-5</integer><key>a</key><array><true/><real>1.5</real><date>2026-11-22T08:30:00Z</date><data>/w==</data><string>é</string><integer>18446744073709551615</integer></array></dict></plist>",
                #"{"a":[true,1.5,"2026-11-22T08:30:00Z","/w==","é",18446744073709551615],"b":-5}"#
            ),
            (
                "xml", "text/xml",
                #"<a:r xmlns:a="urn:x" z="1" y="&lt;"><b/>te<!-- c -->xt<![CDATA[<]]><a:c>d</a:c></a:r>"#,
                #"{"name":"a:r","attributes":[["y","<"],["z","1"]],"children":[{"name":"b","attributes":[],"children":[]},"text<",{"name":"a:c","attributes":[],"children":["d"]}]}"#
            ),
            ("text", "text/plain; charset=utf-8", "héllo", #""héllo""#),
            ("data", "image/png", "hi", #""aGk=""#),
        ])
    func values(_ format: String, _ type: String, _ body: String, _ value: String) async throws {
        let answer = try await answer(body, type, #""as":"\#(format)""#)
        #expect(answer["value"] == (try self.value(value)), "\(answer)")
        #expect(answer["status"] == .integer(200) && answer.bodyText == body)
        #expect(answer["error"] == nil && answer.code == nil && answer["metrics"] != nil)
    }

    @Test("an image is reported as its size and its pixels, and other bytes are an error")
    func image() async throws {
        // A BMP of two pixels: red, and half-transparent white.
        var bitmap: [UInt8] = [0x42, 0x4D, 62, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0]
        bitmap += [40, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 24, 0] + [UInt8](repeating: 0, count: 24)
        bitmap += [0, 0, 255, 128, 128, 128, 0, 0]
        let answer = try await answer(bitmap, "image/bmp", #""as":"image""#)
        #expect(answer["value"] == (try value(#"{"width":2,"height":1,"rgba":"/wAA/4CAgP8="}"#)), "\(answer)")
        #expect(try await self.answer("no image", "image/png", #""as":"image""#).code == "decoding-failed")
        #expect(try await self.answer("hi", "text/plain", #""as":["json","image","data"]"#)["value"] == .string("aGk="))
    }

    @Test("a binary property list is read, with fractions of a second")
    func binaryPropertyList() async throws {
        let list: [String: Any] = ["d": Date(timeIntervalSince1970: 1.5), "n": 7, "f": false, "r": 1.0]
        let bytes = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        let answer = try await answer(Array(bytes), "application/x-plist", #""as":"plist""#)
        #expect(answer["value"]?["d"] == .string("1970-01-01T00:00:01.500Z"))
        #expect(answer["value"]?["n"] == .integer(7) && answer["value"]?["f"] == .bool(false))
        #expect(answer["value"]?.number("r") == 1)
    }

    @Test(
        "a body without an object is null, not an error",
        arguments: [("json", ""), ("json", " "), ("plist", ""), ("xml", "")])
    func nothing(_ format: String, _ body: String) async throws {
        let answer = try await answer(body, body.isEmpty ? nil : "application/json", #""as":"\#(format)""#)
        #expect(answer["value"] == .null, "\(answer)")
        #expect(answer["error"] == nil && answer.code == nil && answer.bodyText == body)
    }

    @Test("the Accept field lists the types of the serializer")
    func accept() async throws {
        let server = try await MockServer.start { request in MockResponse(body: .string(request.fields[.accept] ?? "-"))
        }
        let probe = ProbeDriver()
        #expect(try await probe.fetch(server.url(), #""as":"json""#).bodyText == "application/json")
        #expect(try await probe.fetch(server.url(), #""as":"xml","headers":[["Accept","a/b"]]"#).bodyText == "a/b")
        await server.shutdown()
    }

    /// A fault, and its expected answer.
    struct Fault: Sendable, CustomTestStringConvertible {
        let members: String
        var status = 200
        var type: String? = "application/json"
        let body: String
        let code: String
        var value: String?

        var testDescription: String { "\(members) of \(status) \(type ?? "-") \(body)" }
    }

    @Test(
        "status is checked before type, type before parsing, and the response accompanies the error",
        arguments: [
            Fault(
                members: #""as":"json""#, status: 404, body: #"{"a":1}"#, code: "unacceptable-status",
                value: #"{"a":1}"#),
            Fault(members: #""as":"json""#, status: 500, type: "text/html", body: "<p>", code: "unacceptable-status"),
            Fault(members: #""as":"json""#, status: 500, body: "junk", code: "unacceptable-status"),
            Fault(members: #""as":"json""#, status: 304, body: "", code: "unacceptable-status"),
            Fault(members: #""as":"json""#, type: "text/html", body: "{}", code: "unacceptable-content-type"),
            Fault(members: #""as":"json""#, type: nil, body: "{}", code: "unacceptable-content-type"),
            Fault(members: #""as":"json""#, body: #"{"a":}"#, code: "decoding-failed"),
            Fault(members: #""as":"json""#, body: #""fragment""#, code: "decoding-failed"),
            Fault(members: #""as":"plist""#, type: "application/x-plist", body: "<plist", code: "decoding-failed"),
            Fault(members: #""as":"xml""#, type: "text/xml", body: "<a><b></a>", code: "decoding-failed"),
            Fault(
                members: #""as":"xml""#, type: "text/xml", body: "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>",
                code: "decoding-failed"),
            Fault(members: #""as":"text""#, type: "text/plain; charset=x-odd", body: "a", code: "decoding-failed"),
            Fault(
                members: #""as":"text""#, status: 400, type: nil, body: "why", code: "unacceptable-status",
                value: #""why""#),
            Fault(
                members: #""as":"data""#, status: 400, type: nil, body: "hi", code: "unacceptable-status",
                value: #""aGk=""#),
            Fault(
                members: #""as":"xml""#, status: 400, type: "text/xml", body: "<a/>", code: "unacceptable-status",
                value: #"{"name":"a","attributes":[],"children":[]}"#),
            Fault(members: #""as":"json","max_body":3"#, body: "[1,2]", code: "response-too-large"),
            Fault(
                members: #""as":"json","accept_status":[[300,399],404]"#, body: "[]", code: "unacceptable-status",
                value: "[]"),
            Fault(members: #""as":"json","accept_status":[]"#, body: "[]", code: "unacceptable-status", value: "[]"),
            Fault(members: #""as":"json","accept_types":["text/x"]"#, body: "[]", code: "unacceptable-content-type"),
            Fault(members: #""as":"data","accept_types":[]"#, body: "[]", code: "unacceptable-content-type"),
            Fault(members: #""as":["json","plist"]"#, type: "text/plain", body: "a", code: "unacceptable-content-type"),
            Fault(members: #""as":["xml","json"]"#, body: "junk", code: "decoding-failed"),
            Fault(
                members: #""as":["xml","json"]"#, status: 400, body: "[1]", code: "unacceptable-status", value: "[1]"),
        ])
    func faults(_ fault: Fault) async throws {
        let answer = try await answer(fault.body, fault.type, fault.members, status: fault.status)
        #expect(answer.code == fault.code, "\(answer)")
        #expect(answer.string("error")?.isEmpty == false)
        #expect(answer["status"] == .integer(fault.status))
        #expect(answer["value"] == (try fault.value.map { try value($0) }))
        if fault.code != "response-too-large" {
            #expect(answer.bodyText == fault.body && answer["body_error"] == nil)
        }
    }

    @Test("the accepted statuses and types can be set")
    func accepted() async throws {
        let status = try await answer(
            "[1]", "application/json", #""as":"json","accept_status":[[200,299],404]"#, status: 404)
        #expect(status["value"] == (try value("[1]")) && status["error"] == nil)
        let type = try await answer("[1]", "text/x; a=b", #""as":"json","accept_types":["text/x"]"#)
        #expect(type["value"] == (try value("[1]")) && type["error"] == nil)
    }

    @Test("null members are removed on request")
    func nulls() async throws {
        let body = #"{"a":null,"b":{"c":null,"d":1}}"#
        #expect(
            try await answer(body, "text/json", #""as":"json","remove_nulls":true"#)["value"]
                == (try value(#"{"b":{"d":1}}"#)))
        #expect(try await answer(body, "text/json", #""as":"json","remove_nulls":false"#)["value"] == (try value(body)))
    }

    @Test(
        "the first serializer of a list that succeeds determines the value",
        arguments: [
            (#"["json","text"]"#, "application/json", "[1]", "[1]"),
            (#"["json","text"]"#, "text/plain", "[1]", #""[1]""#),
            (#"["json","text"]"#, "application/json", "junk", #""junk""#),
            (#"["plist","data"]"#, "text/plain", "a", #""YQ==""#),
            (#"["json"]"#, "application/json", "", "null"), (#"["json","text"]"#, "application/json", "", #""""#),
        ])
    func compound(_ formats: String, _ type: String, _ body: String, _ value: String) async throws {
        let answer = try await answer(body, type, #""as":\#(formats)"#)
        #expect(answer["value"] == (try JSONReader.read(Array("[\(value)]".utf8))).first, "\(answer)")
        #expect(answer["error"] == nil)
    }

    @Test("a body that breaks off is an error of the serializer, with the bytes received so far")
    func broken() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n[1]")
        let answer = try await ProbeDriver().fetch(server.url(), #""as":"json""#)
        #expect(answer.code == "response-truncated" && answer.bodyText == "[1]" && answer["value"] == nil)
        #expect(answer.string("error")?.isEmpty == false && answer.string("body_error")?.isEmpty == false)
        let plain = try await ProbeDriver().fetch("http://127.0.0.1:1/", #""as":"json""#)
        #expect(plain.code == "connection-refused" && plain["status"] == nil)
        await server.shutdown()
    }

    @Test("a large body of a refused status is returned complete")
    func largeRefusal() async throws {
        let body = [UInt8](repeating: 0x20, count: 2 << 20) + Array("[1]".utf8)
        let answer = try await answer(body, "application/json", #""as":"json""#, status: 400)
        #expect(answer["value"] == (try value("[1]")) && answer.bodyBytes == body)
    }
}

extension JSONValue {
    fileprivate var first: JSONValue? {
        if case .array(let elements) = self { elements.first } else { nil }
    }
}
