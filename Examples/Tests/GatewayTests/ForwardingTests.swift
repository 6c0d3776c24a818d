import Curlew
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import Gateway

@Suite("A gateway between real servers", .noLeaks, .timeLimit(.minutes(1)))
struct ForwardingTests {
    @Test("a request and its answer pass with their fields, over connections that are reused")
    func passes() async throws {
        let upstream = try await MockServer.start { request in
            MockResponse(
                status: .created,
                fields: [.contentType: "text/plain", .setCookie: "a=1", .connection: "X-Hop", .init("X-Hop")!: "1"],
                body: .bytes(try await request.body.collect()))
        }
        let passage = try await Passage.start(to: upstream.url("/base"))
        for index in 0..<3 {
            let response = try await passage.client.send(
                CurlewRequest(
                    .post, "http://127.0.0.1:\(passage.port)/a/b?c=d%20e",
                    fields: [.cookie: "b=2", .accept: "text/plain"],
                    body: .string("body \(index)")))
            #expect(response.status == .created)
            #expect(response.fields[.setCookie] == "a=1" && response.fields[.via] == "1.1 edge")
            #expect(!response.fields.contains(.init("X-Hop")!))
            #expect(try await response.body.collect(upTo: 100) == Array("body \(index)".utf8))
            let request = try #require(await upstream.takeRequest())
            #expect(request.method == .post && request.target == "/base/a/b?c=d%20e")
            #expect(request.fields[.cookie] == "b=2" && request.fields[.contentLength] == "6")
            #expect(request.fields[.forwardedFor] == "127.0.0.1" && request.fields[.via] == "1.1 edge")
            #expect(request.fields[.forwardedHost] == "127.0.0.1:\(passage.port)")
        }
        #expect(upstream.connectionCounts.accepted == 1)
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("the gateway adds no field that the client did not send")
    func silent() async throws {
        let upstream = try await MockServer.start { _ in MockResponse(body: "ok") }
        let passage = try await Passage.start(to: upstream.url())
        let answer = try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write("GET /x HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
            return try await peer.read()
        }
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\nok"))
        let request = try #require(await upstream.takeRequest())
        #expect(
            Set(request.fields.map(\.name.canonicalName))
                == ["host", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "via"])
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("content codings, redirects, cookies and challenges pass to the client unchanged")
    func untouched() async throws {
        let upstream = try await MockServer.start { request in
            switch request.path {
            case "/moved": MockResponse(status: .found, fields: [.location: "/there", .setCookie: "a=1"])
            case "/secret": MockResponse(status: .unauthorized, fields: [.wwwAuthenticate: "Basic"])
            default: MockResponse(fields: [.contentEncoding: "gzip"], body: "not gzip")
            }
        }
        let passage = try await Passage.start(to: upstream.url())
        #expect(try await passage.client.get("moved").status == .found)
        #expect(try await passage.client.get("secret").fields[.wwwAuthenticate] == "Basic")
        let coded = try await passage.client.get("coded")
        #expect(coded.fields[.contentEncoding] == "gzip")
        #expect(try await coded.body.collect(upTo: 100) == Array("not gzip".utf8))
        for _ in 0..<3 { #expect(try #require(await upstream.takeRequest()).fields[.cookie] == nil) }
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("large bodies pass complete in both directions, with trailers at the end")
    func large() async throws {
        let size = 24 << 20
        let upstream = try await MockServer.start { request in
            var response = MockResponse(body: .stream(request.body))
            response.trailers = [.init("X-Sum")!: "7", .init("Via")!: "no"]
            return response
        }
        let passage = try await Passage.start(to: upstream.url())
        let part = (0..<(1 << 16)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let parts = AsyncStream { continuation in
            for _ in 0..<(size >> 16) { continuation.yield(part) }
            continuation.finish()
        }
        let response = try await passage.client.send(
            CurlewRequest(.put, "http://127.0.0.1:\(passage.port)/", body: .once(parts)))
        var count = 0
        var isSame = true
        for try await chunk in response.body {
            for byte in chunk {
                isSame = isSame && byte == part[count & 0xFFFF]
                count += 1
            }
        }
        #expect(count == size && isSame)
        #expect(response.body.trailers[.init("X-Sum")!] == "7" && !response.body.trailers.contains(.via))
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("an answer to HEAD keeps the Content-Length of the upstream, and the connection stays usable")
    func head() async throws {
        let upstream = try await MockServer.start { request in
            var response = MockResponse(body: "twelve bytes")
            if request.path == "/chunked" { response.framing = .chunked }
            return response
        }
        let passage = try await Passage.start(to: upstream.url())
        let answers = try await WirePeer.connected(to: passage.port) { peer in
            var answers: [String] = []
            for target in ["/length", "/chunked", "/length"] {
                try await peer.write("HEAD \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
                answers.append(try await peer.read(through: "\r\n\r\n").lowercased())
            }
            try await peer.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            answers.append(try await peer.read())
            return answers
        }
        #expect(answers.allSatisfy { $0.lowercased().hasPrefix("http/1.1 200 ok\r\n") })
        #expect(answers[0].contains("content-length: 12\r\n") && answers[2].contains("content-length: 12\r\n"))
        #expect(!answers[1].contains("content-length"))
        #expect(answers[3].hasSuffix("\r\n\r\ntwelve bytes"))
        try await passage.close()
        await upstream.shutdown()
    }

    @Test(
        "an answer without a body is forwarded without one", arguments: [HTTPResponse.Status.noContent, .notModified])
    func empty(_ status: HTTPResponse.Status) async throws {
        let upstream = try await MockServer.start { _ in MockResponse(status: status, fields: [.eTag: #""a""#]) }
        let passage = try await Passage.start(to: upstream.url())
        for _ in 0..<2 {
            let response = try await passage.client.get("")
            #expect(response.status == status && response.fields[.eTag] == #""a""#)
            #expect(try await response.body.collect(upTo: 10) == [])
        }
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("interim responses are forwarded in order and before the answer, if the server can send them")
    func interim() async throws {
        let upstream = try await MockServer.start { _ in
            var response = MockResponse(body: "ok")
            response.interim = [
                MockResponse.Interim(status: .init(code: 103), fields: [.init("Link")!: "</a.css>", .connection: "x"]),
                MockResponse.Interim(status: .init(code: 102)),
            ]
            return response
        }
        let seen = AsyncStream.makeStream(of: String.self)
        let passage = try await Passage.start(
            to: upstream.url(),
            rules: { rules in
                rules.onInterim = { seen.continuation.yield("\($0.status.code) \($0.headerFields.count)") }
            })
        #expect(try await passage.client.get("").status == .ok)
        seen.continuation.finish()
        var codes: [String] = []
        for await code in seen.stream { codes.append(code) }
        #expect(codes == ["103 1", "102 0"])
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("an expectation is forwarded to the upstream, which may refuse before it receives the body")
    func expectation() async throws {
        let upstream = try await MockServer.start { request in
            if request.path == "/refused" {
                var response = MockResponse(status: .contentTooLarge)
                response.expectation = .answersAtOnce
                return response
            }
            return MockResponse(body: .bytes(try await request.body.collect()))
        }
        let passage = try await Passage.start(to: upstream.url())
        let answers = try await WirePeer.connected(to: passage.port) { peer in
            try await peer.write(
                "PUT /taken HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
            let taken = try await peer.read(through: "\r\n\r\nabc")
            // The client never sends the body, but must receive the answer.
            try await peer.write(
                "PUT /refused HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n")
            return (taken, try await peer.read(through: "\r\n\r\n"))
        }
        #expect(answers.0.hasPrefix("HTTP/1.1 200 ") && answers.1.hasPrefix("HTTP/1.1 413 "))
        #expect(try #require(await upstream.takeRequest()).fields[.expect] == "100-continue")
        try await passage.close()
        await upstream.shutdown()
    }

    @Test("the second of two gateways extends the fields of the first, if it trusts the first")
    func chain() async throws {
        let upstream = try await MockServer.start { _ in MockResponse(body: "ok") }
        let inner = try await Passage.start(
            to: upstream.url(),
            rules: { rules in
                rules = try HTTPSession.Forwarding(named: "inner")
                rules.trustedProxies = [try IPNetwork("127.0.0.1")]
                rules.keepsHost = true
            })
        let outer = try await Passage.start(to: "http://127.0.0.1:\(inner.port)/")
        let response = try await outer.client.get("")
        #expect(response.fields[values: .via] == ["1.1 inner", "1.1 edge"])
        let request = try #require(await upstream.takeRequest())
        #expect(request.fields[values: .via] == ["1.1 edge", "1.1 inner"])
        #expect(request.fields[.forwardedFor] == "127.0.0.1, 127.0.0.1")
        #expect(request.fields[.forwardedHost] == "127.0.0.1:\(outer.port)")
        #expect(request.fields[.host] == "127.0.0.1:\(inner.port)")
        try await outer.close()
        try await inner.close()
        await upstream.shutdown()
    }

    @Test("a gateway that leads to itself answers 508 after one round")
    func loop() async throws {
        // The port is known once the gateway runs: a second gateway sends its requests back to the first.
        let port = AsyncStream.makeStream(of: Int.self)
        let back = try await RawServer.start { connection in
            let head = try await connection.readHead()
            for await port in port.stream {
                let via = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("via:") } ?? "Via: 1.1 none"
                let answer = try await WirePeer.connected(to: port) { peer in
                    try await peer.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(via)\r\n\r\n")
                    return try await peer.read()
                }
                try await connection.write(answer)
                break
            }
        }
        let passage = try await Passage.start(to: back.url())
        port.continuation.yield(passage.port)
        #expect(try await passage.client.get("").status.code == 508)
        try await passage.close()
        await back.shutdown()
    }
}

extension HTTPField.Name {
    static let host = Self("Host")!
    static let forwardedFor = Self("X-Forwarded-For")!
    static let forwardedHost = Self("X-Forwarded-Host")!
}
