import Curlew
import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("Unsupported fields and operations", .timeLimit(.minutes(1)))
struct SkipTests {
    private static let http3Reason =
        HTTPVersionPolicy.isHTTP3Available ? "http_version 3 without TLS" : "HTTP/3 with this libcurl"

    @Test(
        "an unsupported field or value is named, and no request is sent",
        arguments: [
            (#""frobnicate":1"#, "field frobnicate"), (#""Url":"x""#, "field Url"), (#""target":1"#, "field target"),
            (#""cache":"sometimes""#, "cache sometimes"),
            (#""redirect":"sideways""#, "redirect sideways"),
            (#""http_version":"3""#, http3Reason), (#""http_version":"1.0""#, "http_version 1.0"),
            (#""http_version":"2""#, "http_version 2 without TLS"), (#""resolve":["*:80:127.0.0.1"]"#, "resolve *"),
            (#""http_version":"2-prior-knowledge","body":"","trailers":[["a","b"]]"#, "trailers over HTTP/2"),
            (#""auth":{"scheme":"kerberos"}"#, "auth kerberos"),
            (#""address_policy":"private""#, "address_policy private"),
            (#""pinning":"name""#, "pinning name"), (#""ocsp":"maybe""#, "ocsp maybe"),
            (#""tls_min":"1.1""#, "tls_min 1.1"),
            (#""tls_max":"1.1""#, "tls_max 1.1"),
            (#""encoding":"yaml""#, "encoding yaml"), (#""style":{"arrays":"dots"}"#, "style.arrays dots"),
            (#""style":{"booleans":"yes"}"#, "style.booleans yes"),
            (#""style":{"keys":"random"}"#, "style.keys random"),
            (#""style":{"spaces":"none"}"#, "style.spaces none"), (#""style":{"nulls":"zero"}"#, "style.nulls zero"),
            (#""style":{"dates":"iso"}"#, "style.dates"),
            (#""multipart":[{"name":"a","colour":"b"}]"#, "multipart.colour"),
            (
                #""parameters":{"a":{"\u00e9":1,"e\u0301":2}}"#,
                "parameters with two names that are canonically equivalent"
            ),
            (#""as":"yaml""#, "as yaml"), (#""as":["json","yaml"]"#, "as yaml"),
            (#""download":{"to":"/x","speed":1}"#, "download.speed"),
            (#""download":{"to":"/x","digest":"md5:00"}"#, "download.digest md5"),
            (#""download":{"to":"/x"},"method":"POST""#, "download with method POST"),
            (#""download":{"to":"/x"},"body":"""#, "download with a body"),
            (#""download":{"to":"/x"},"as":"json""#, "download with as"),
            (#""download":{"to":"/x"},"accept_status":[200]"#, "download with accept_status"),
            (#""download":{"to":"/x"},"max_body":1"#, "download with max_body"),
            (#""upload":{"file":"/x","resumable":"ftp"}"#, "upload.resumable ftp"),
            (#""upload":{"file":"/x"},"parameters":{}"#, "upload with parameters"),
            (#""upload":{"file":"/x"},"chunked":true"#, "upload with chunked"),
        ])
    func unsupported(_ members: String, _ reason: String) async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let answer = try await ProbeDriver().fetch(server.url(), members)
        #expect(answer == .object([.init("id", .integer(1)), .init("skip", .string(reason))]))
        #expect(server.connectionCounts.accepted == 0)
        await server.shutdown()
    }

    @Test("an unknown operation is skipped", arguments: ["teleport", ""])
    func operations(_ name: String) async throws {
        let answer = try await ProbeDriver().ask(#"{"id":1,"op":"\#(name)","url":"http://127.0.0.1:1/"}"#)
        #expect(answer.skip == "op \(name)")
    }

    @Test("clear of an unknown target is skipped")
    func clear() async throws {
        #expect(try await ProbeDriver().ask(#"{"id":1,"op":"clear","what":"everything"}"#).skip == "clear everything")
    }

    @Test("a field that is null or has its default value does not cause a skip")
    func supported() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let answer = try await ProbeDriver().fetch(
            server.url(),
            #"""
            "op":"fetch","session":null,"method":"GET","headers":[],"body":null,"body_file":null,"chunked":false,
            "trailers":[],"redirect":"follow","max_redirects":20,"cache":"no-store","cookies":false,"decode":true,
            "timeout_ms":null,"connect_timeout_ms":null,"idle_timeout_ms":null,"http_version":null,"resolve":[],
            "connect_to":[],"unix_socket":null,"proxy":null,"auth":null,"retry":{"attempts":1},"max_body":null,
            "address_policy":"any","verify":true,"verify_host":true,"cacert":null,"pinning":"none","pinned":null,
            "pins":null,"client_cert":null,"client_key":null,"crls":null,"max_depth":null,"time":null,"ocsp":"off",
            "strict":false,"tls_min":"1.2","tls_max":"1.3","base":null,"parameters":null,"encoding":null,"style":{},
            "multipart":null,"as":null,"remove_nulls":false,"accept_status":null,"accept_types":null,"download":null,
            "upload":null,"cache_mode":"single-user","proxy_auth":null
            """#.replacing("\n", with: ""))
        #expect(answer["status"] == .integer(200), "\(answer)")
        await server.shutdown()
    }

    @Test("a 3xx without a redirect to follow is the answer", arguments: [300, 302, 304])
    func noRedirect(_ status: Int) async throws {
        let fields: HTTPFields = status == 302 ? [:] : [.location: "/there"]
        let server = try await MockServer.start { _ in
            MockResponse(status: HTTPResponse.Status(code: status), fields: fields)
        }
        #expect(try await ProbeDriver().fetch(server.url())["status"] == .integer(status))
        await server.shutdown()
    }
}
