import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("What the library cannot do yet is skipped", .timeLimit(.minutes(1)))
struct SkipTests {
    @Test(
        "a field or a value that is not supported is named, and nothing is sent",
        arguments: [
            (#""frobnicate":1"#, "field frobnicate"), (#""Url":"x""#, "field Url"), (#""target":1"#, "field target"),
            (#""cache":"reload""#, "cache reload"), (#""cache":"no-cache""#, "cache no-cache"),
            (#""cache":"force-cache""#, "cache force-cache"), (#""cache":"only-if-cached""#, "cache only-if-cached"),
            (#""redirect":"sideways""#, "redirect sideways"),
            (#""http_version":"3""#, "http_version 3"), (#""http_version":"1.0""#, "http_version 1.0"),
            (#""http_version":"2""#, "http_version 2 without TLS"), (#""resolve":["*:80:127.0.0.1"]"#, "resolve *"),
            (#""http_version":"2-prior-knowledge","body":"","trailers":[["a","b"]]"#, "trailers over HTTP/2"),
            (#""proxy":"http://127.0.0.1:1/""#, "field proxy"), (#""proxy":"environment""#, "field proxy"),
            (#""auth":{"scheme":"basic","user":"u","password":"p"}"#, "field auth"),
            (#""retry":{"attempts":2}"#, "field retry"), (#""address_policy":"public""#, "address_policy public"),
            (#""verify":false"#, "verify false"), (#""verify_host":false"#, "verify_host false"),
            (#""pinning":"public-key""#, "pinning public-key"), (#""pinning":"certificate""#, "pinning certificate"),
            (#""pinned":"a.pem""#, "field pinned"), (#""pins":["sha256/AAAA"]"#, "field pins"),
            (#""client_cert":"c.pem""#, "field client_cert"), (#""client_key":"k.pem""#, "field client_key"),
            (#""crls":"c.pem""#, "field crls"), (#""max_depth":3"#, "field max_depth"), (#""time":0"#, "field time"),
            (#""ocsp":"if-present""#, "ocsp if-present"), (#""ocsp":"required""#, "ocsp required"),
            (#""strict":true"#, "strict true"), (#""tls_min":"1.1""#, "tls_min 1.1"),
            (#""tls_max":"1.2""#, "tls_max 1.2"),
        ])
    func unsupported(_ members: String, _ reason: String) async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let answer = try await ProbeDriver().fetch(server.url(), members)
        #expect(answer == .object([.init("id", .integer(1)), .init("skip", .string(reason))]))
        #expect(server.connectionCounts.accepted == 0)
        await server.shutdown()
    }

    @Test("an operation that is not there is skipped", arguments: ["cookies", "verify", "teleport", ""])
    func operations(_ name: String) async throws {
        let answer = try await ProbeDriver().ask(#"{"id":1,"op":"\#(name)","url":"http://127.0.0.1:1/"}"#)
        #expect(answer.skip == "op \(name)")
    }

    @Test("clearing cookies and the cache is skipped", arguments: ["cookies", "cache", "everything"])
    func clear(_ subject: String) async throws {
        #expect(try await ProbeDriver().ask(#"{"id":1,"op":"clear","what":"\#(subject)"}"#).skip == "clear \(subject)")
    }

    @Test("what asks for what is done anyway is no reason to skip, nor is null")
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
            "strict":false,"tls_min":"1.2","tls_max":"1.3"
            """#.replacing("\n", with: ""))
        #expect(answer["status"] == .integer(200), "\(answer)")
        await server.shutdown()
    }

    @Test("a redirect is the answer if it is asked for, else it is skipped", arguments: [301, 302, 303, 307, 308])
    func redirects(_ status: Int) async throws {
        let server = try await MockServer.start { _ in
            MockResponse(status: HTTPResponse.Status(code: status), fields: [.location: "/there"], body: "moved")
        }
        let probe = ProbeDriver()
        let answer = try await probe.fetch(server.url(), #""redirect":"manual""#)
        #expect(answer["status"] == .integer(status))
        #expect(answer.bodyText == "moved")
        #expect(try await probe.fetch(server.url()).skip == "redirect follow")
        for word in ["follow", "error"] {
            #expect(try await probe.fetch(server.url(), #""redirect":"\#(word)""#).skip == "redirect \(word)")
        }
        #expect(server.requestCount == 4)
        await server.shutdown()
    }

    @Test("a 3xx that leads nowhere is an answer", arguments: [300, 302, 304])
    func noRedirect(_ status: Int) async throws {
        let fields: HTTPFields = status == 302 ? [:] : [.location: "/there"]
        let server = try await MockServer.start { _ in
            MockResponse(status: HTTPResponse.Status(code: status), fields: fields)
        }
        #expect(try await ProbeDriver().fetch(server.url())["status"] == .integer(status))
        await server.shutdown()
    }

    @Test("a coded body is skipped unless it is to be left alone")
    func coded() async throws {
        let server = try await MockServer.start { request in
            MockResponse(fields: [.contentEncoding: request.path == "/plain" ? "Identity" : "gzip"], body: "coded")
        }
        let probe = ProbeDriver()
        #expect(try await probe.fetch(server.url()).skip == "decode gzip")
        #expect(try await probe.fetch(server.url(), #""decode":true"#).skip == "decode gzip")
        #expect(try await probe.fetch(server.url(), #""decode":false"#).bodyText == "coded")
        #expect(try await probe.fetch(server.url("/plain")).bodyText == "coded")
        await server.shutdown()
    }
}
