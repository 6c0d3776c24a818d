import Testing

@testable import Probe

@Suite("Invalid lines", .timeLimit(.minutes(1)))
struct BadLineTests {
    @Test(
        "an id is returned byte for byte",
        arguments: [
            "1", "-0", "1.50", "1e3", "12345678901234567890123", #""a""#, #""\u0041\/\n""#, #""\ud83d\ude00""#, #""é""#,
            "null",
            "true", "[]", "[1, 2.50]", #"{"b": 1, "a": [null]}"#,
        ])
    func identifiers(_ id: String) async throws {
        let probe = ProbeDriver()
        await probe.send(#"{"op":"teleport", "id" : \#(id) }"#)
        #expect(try await probe.nextLine() == #"{"id":\#(id),"skip":"op teleport"}"#)
    }

    @Test(
        "a text that is not a JSON object is a bad request without an id",
        arguments: ["", " ", "junk", "5", "[1]", #""x""#, "null", #"{"url":,"id":7}"#, #"{"url":"x","#])
    func unreadable(_ line: String) async throws {
        let answer = try await ProbeDriver().ask(line)
        #expect(answer["id"] == .null)
        #expect(answer.code == "bad-request")
        #expect(answer.string("error")?.isEmpty == false)
    }

    @Test(
        "the answer to a line that cannot be parsed has the id that was read before the error",
        arguments: [
            #"{"id":7,"url":"#, #"{"id":7,"url":"x"} x"#, #"{"id":7,"url":"x","url":"y"}"#, #"{"id":7,"id":8}"#,
            "{\"id\":7,\"url\":\"a\tb\"}",
        ])
    func partly(_ line: String) async throws {
        let answer = try await ProbeDriver().ask(line)
        #expect(answer["id"] == .integer(7))
        #expect(answer.code == "bad-request")
    }

    @Test("a line that is too long is a bad request, with its id if the line begins with it")
    func tooLong() async throws {
        let probe = ProbeDriver()
        await probe.send(.tooLong(beginning: Array(#"{"id":"big","body":"aaaa"#.utf8)))
        #expect(try await probe.nextLine().hasPrefix(#"{"id":"big","error":"the line is longer than 67108864 bytes","#))
        await probe.send(.tooLong(beginning: Array(#"{"body":"aaaa"#.utf8)))
        #expect(try await probe.nextLine().hasPrefix(#"{"id":null,"error""#))
    }

    @Test(
        "half of a surrogate pair is a bad request at every position",
        arguments: [
            (#"{"id":1,"url":"http://127.0.0.1:1/\ud800"}"#, "1"), (#"{"id":1,"\udc00":5}"#, "1"),
            (#"{"id":1,"headers":[["a","\ud800b"]]}"#, "1"), (#"{"id":"\ud800","op":"teleport"}"#, "null"),
        ])
    func halfPairs(_ line: String, _ id: String) async throws {
        let probe = ProbeDriver()
        await probe.send(line)
        let answer = try await probe.nextLine()
        #expect(answer.hasPrefix(#"{"id":\#(id),"error":"not a JSON object: a string holds half of a surrogate pair "#))
        #expect(answer.hasSuffix(#""code":"bad-request"}"#))
    }

    @Test(
        "a member that is missing or of the wrong kind is a bad request",
        arguments: [
            #""url":5"#, #""op":5"#, #""method":null,"url":null"#, #""method":1"#, #""session":1"#, #""headers":{}"#,
            #""headers":["a"]"#, #""headers":[["a"]]"#, #""headers":[["a","b","c"]]"#, #""headers":[["a",1]]"#,
            #""headers":[["a","\u0100"]]"#, #""trailers":5"#, #""body":5"#, #""body":"a""#, #""body":"a-_=""#,
            #""body":"","body_file":"/x""#, #""body_file":[]"#, #""chunked":"yes""#, #""redirect":true"#,
            #""max_redirects":-1"#, #""max_redirects":1.5"#, #""cache":false"#, #""cookies":"no""#, #""decode":0"#,
            #""timeout_ms":"5""#, #""timeout_ms":-1"#, #""timeout_ms":1e300"#, #""idle_timeout_ms":[]"#,
            #""connect_timeout_ms":true"#, #""http_version":2"#, #""resolve":"h:1:2""#, #""resolve":["h:1"]"#,
            #""resolve":["h:x:127.0.0.1"]"#, #""resolve":["h:70000:127.0.0.1"]"#, #""connect_to":["a:1:b"]"#,
            #""connect_to":["a:x:b:1"]"#, #""unix_socket":1"#, #""max_body":-1"#, #""max_body":"1""#, #""retry":3"#,
            #""retry":{"attempts":1,"pause":2}"#, #""retry":{}"#, #""verify":"no""#, #""cacert":1"#, #""tls_min":1.2"#,
            #""cacert":"/tmp","url":"http://127.0.0.1:1/""#, #""strict":0"#, #""op":"abort""#, #""op":"clear""#,
            #""op":"sse""#,
            #""cacert":"/nowhere/a.pem","url":"http://127.0.0.1:1/""#,
            #""parameters":{"a":[{"b":1,"b":1}]}"#, #""base":1"#, #""encoding":1"#, #""style":[]"#,
            #""style":{"arrays":1}"#, #""multipart":{}"#,
            #""style":{"arrays":"comma","arrays":"comma"}"#, #""multipart":[1]"#, #""multipart":[{}]"#,
            #""multipart":[{"name":"a"}]"#, #""multipart":[{"name":1,"value":"b"}]"#, #""multipart":[{"value":"b"}]"#,
            #""multipart":[{"name":"a","value":"b","body":""}]"#, #""multipart":[{"name":"a","body":"!"}]"#,
            #""multipart":[{"name":"a","headers":[],"body":""}]"#,
            #""multipart":[{"headers":[],"type":"b","body":""}]"#,
            #""as":1"#, #""as":[]"#, #""as":[1]"#, #""as":{}"#, #""as":"json","remove_nulls":1"#,
            #""as":"json","accept_status":200"#, #""as":"json","accept_status":[[1]]"#,
            #""as":"json","accept_status":[[2,1]]"#, #""as":"json","accept_status":["2xx"]"#,
            #""as":"json","accept_types":"text/x""#, #""as":"json","accept_types":["text"]"#,
            #""url":"http://127.0.0.1:1/","accept_status":[200]"#, #""url":"http://127.0.0.1:1/","remove_nulls":true"#,
            #""download":"/x""#, #""download":{}"#, #""download":{"to":1}"#, #""download":{"to":"/x","resumes":-1}"#,
            #""download":{"to":"/x","segments":0}"#, #""download":{"to":"/x","digest":"00"}"#,
            #""download":{"to":"/x","digest":"sha-256:00"}"#, #""download":{"to":"/x","token":1}"#,
            #""upload":"/x""#, #""upload":{}"#, #""upload":{"file":1}"#,
            #""url":"http://127.0.0.1:1/","body":"","upload":{"file":"/x"}"#,
        ])
    func wrongKind(_ members: String) async throws {
        let answer = try await ProbeDriver().ask(#"{"id":1,\#(members)}"#)
        #expect(answer.code == "bad-request", "\(answer)")
    }

    @Test("an invalid value is reported before an unsupported field, whichever comes first in the line")
    func precedence() async throws {
        for line in [#"{"id":1,"frobnicate":1,"url":5}"#, #"{"id":1,"url":5,"frobnicate":1}"#] {
            #expect(try await ProbeDriver().ask(line).code == "bad-request")
        }
    }

    @Test("the probe continues after bad lines")
    func goesOn() async throws {
        let probe = ProbeDriver()
        for _ in 0..<3 { await probe.send("junk") }
        await probe.send(#"{"id":4,"op":"teleport"}"#)
        #expect(try await probe.answer(to: 4).skip == "op teleport")
    }
}
