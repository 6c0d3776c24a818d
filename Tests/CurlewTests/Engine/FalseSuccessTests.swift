import CLibcurl
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("Broken responses that libcurl reports as successes")
struct FalseSuccessTests {
    /// The rows of the article.
    private func article() throws -> [String] {
        let text = try Repository.text(of: "DocC/Curlew.docc/Architecture.md")
        let lines = text.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex(of: "| libcurl | Curlew |"))
        return lines[(start + 2)...].prefix { $0.hasPrefix("| ") }.map { String($0.dropFirst(2)) }
    }

    @Test("every row of the article has a case, and every case a row")
    func wholeTable() throws {
        let article = try self.article()
        #expect(article.count > 20)
        for line in article {
            let cases = FalseSuccess.rows.filter { line.hasPrefix($0.beginning) }
            #expect(cases.count == 1, "\(line)")
        }
        #expect(FalseSuccess.rows.count == article.count)
    }

    @Test("a response that libcurl reports as a success is judged as the article states", arguments: FalseSuccess.rows)
    func judged(_ row: FalseSuccess.Row) throws {
        switch row.proof {
        case .attempt(let check): try check()
        case .test(let name, let file):
            let texts = ["CurlewTests", "CurlewUnitTests"].compactMap {
                try? Repository.text(of: "Tests/\($0)/\(file).swift")
            }
            #expect(texts.contains { $0.contains("\"\(name)\"") }, "\(file) has no test of this name")
        }
    }
}

/// The table in the section "The work of libcurl and of Curlew" of the article Architecture. Each row has a case here:
/// a check on a simulated attempt if that suffices, otherwise the name of the test that proves it over a socket.
enum FalseSuccess {
    struct Row: Sendable, CustomTestStringConvertible {
        /// The beginning of the row.
        let beginning: String
        let proof: Proof

        var testDescription: String { beginning }
    }

    enum Proof: Sendable {
        case attempt(@Sendable () throws -> Void)
        /// A test with this name, in this file under `Tests/CurlewTests` or `Tests/CurlewUnitTests`.
        case test(String, in: String)
    }

    /// Checks the result of an exchange whose answer has these lines, after which libcurl reports success.
    private static func expect(_ ending: AttemptStage.Ending, after lines: [String]) throws {
        let stage = try AttemptStage()
        stage.connect()
        for line in lines { stage.receive(line) }
        #expect(stage.end(stage.attempt.isOnCourse ? nil : CURLE_WRITE_ERROR) == ending, "\(lines.prefix(5))")
    }

    private static func options(of user: String) throws -> ConnectionOptions {
        let proxy = try Proxy("http://127.0.0.1:1").authenticated(user: user, password: "secret")
        let request = try AttemptStage.prepared(configure: { $0.proxy = .proxy(proxy) })
        return request.options
    }

    static let rows: [Row] = connections + framing + requests + answers + others

    private static let connections: [Row] = [
        Row(
            beginning: "An HTTP/2 connection whose server permits no stream",
            proof: .test(
                "a request does not wait for an idle connection that permits no stream", in: "Engine/RepetitionTests")),
        Row(
            beginning: "The Host field over a kept connection to a proxy",
            proof: .test(
                "the Host field over a pooled proxy connection is that of the request",
                in: "Engine/Proxies/ProxyHostTests")),
        Row(
            beginning: "A request's own `Connection: close`",
            proof: .test("the connection of a request with Connection: close is not reused", in: "Engine/ReuseTests")),
        Row(
            beginning: "A connection that ends inside the head is success",
            proof: .attempt {
                try expect(.failure(.connectionLost), after: ["HTTP/1.1 200 OK", "Content-Length: 0"])
                try expect(.failure(.connectionLost), after: [])
                try expect(.success, after: ["HTTP/1.1 200 OK", "Content-Length: 0", ""])
            }),
        Row(
            beginning: "An answer that waits on an idle connection",
            proof: .attempt {
                let stage = try AttemptStage(.post, body: .string("x"))
                #expect(stage.connect(isReused: true) { $0.isOutOfStep = true } == false)
                #expect(stage.end(CURLE_ABORTED_BY_CALLBACK) == .again(Attempt.Plan(number: 2, isFresh: true)))
            }),
        Row(
            beginning: "An answer that overtakes its request",
            proof: .attempt {
                let stage = try AttemptStage()
                stage.connect(isReused: true)
                #expect(stage.attempt.isOpenToUnaskedAnswers == true)
                stage.attempt.watchForUnaskedAnswer(true)
                #expect(stage.attempt.takeUnaskedCheck() == true)
                #expect(stage.attempt.takeUnaskedCheck() == false)
                stage.attempt.reject(.unaskedAnswer)
                #expect(stage.end(CURLE_WRITE_ERROR) == .again(Attempt.Plan(number: 2, isFresh: true)))
                let fresh = try AttemptStage()
                fresh.connect()
                #expect(fresh.attempt.isOpenToUnaskedAnswers == false)
            }),
        Row(
            beginning: "A tunnel that a proxy opened for one user",
            proof: .attempt {
                let (one, same, other) = (try options(of: "one"), try options(of: "one"), try options(of: "other"))
                #expect(one.connectsLike(same) && !one.connectsLike(other))
            }),
        Row(
            beginning: "When there is no descriptor for a socket",
            proof: .test(
                "an idle connection is closed for a new one when descriptors run out",
                in: "Engine/SystemFaultTests")),
        Row(
            beginning: "With prior knowledge, the second request",
            proof: .test(
                "HTTP/2 with prior knowledge works without TLS, for concurrent and consecutive requests",
                in: "Engine/HTTP2Tests")),
        Row(
            beginning: "An HTTP/2 connection that has died without a word",
            proof: .test(
                "a silent connection gets no new request while others still wait on it",
                in: "Engine/SilentConnectionTests")),
        Row(
            beginning: "A server that answers, says that it closes",
            proof: .test(
                "a response of a server that then closes is delivered, although the body is incomplete",
                in: "Task/UploadTests")),
        Row(
            beginning: "Trailers that arrive while the transfer is paused",
            proof: .test("trailers that arrive before the body was read are kept apart", in: "Engine/BodyFaultTests")),
        Row(
            beginning: "TCP keep-alive sends as many probes",
            proof: .test(
                "the system probes silent connections at the session's interval", in: "Engine/ConnectionLimitTests")),
        Row(
            beginning: "libcurl 7.88 to 8.14 send the RST_STREAM",
            proof: .test(
                "a server receives the reset of a dropped stream, though no other request follows",
                in: "Engine/DroppedStreamTests")),
        Row(
            beginning: "With a proxy that was set it still takes `no_proxy`",
            proof: .test(
                "the environment's no_proxy is applied by Curlew, not by libcurl", in: "Engine/Proxies/ProxyTests")),
    ]

    private static let framing: [Row] = [
        Row(
            beginning: "`Transfer-Encoding` with a space before the colon",
            proof: .attempt {
                for fields in [
                    ["Transfer-Encoding : chunked"], ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
                    ["Transfer-Encoding: gzip, chunked"], ["Transfer-Encoding:", " chunked"], ["Transfer-Encoding: x"],
                ] {
                    try expect(.failure(.invalidResponse), after: ["HTTP/1.1 200 OK"] + fields + [""])
                }
                guard Engine.showsRawBody else { return }
                let stage = try AttemptStage()
                stage.connect()
                stage.receive("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "")
                stage.receiveRaw("5zz\r\nhello\r\n0\r\n\r\n")
                #expect(stage.end(CURLE_WRITE_ERROR) == .failure(.invalidResponse))
            }),
        Row(
            beginning: "Two lengths that differ",
            proof: .attempt {
                for fields in [
                    ["Content-Length: 1", "Content-Length: 2"], ["Content-Length: 1, 2"], ["Content-Length: +1"],
                    ["Content-Length: 0x1"], ["Content-Length: 99999999999999999999"], ["Content-Length: -1"],
                ] {
                    try expect(.failure(.invalidResponse), after: ["HTTP/1.1 200 OK"] + fields + [""])
                }
                let stage = try AttemptStage()
                stage.connect()
                stage.receive("HTTP/1.1 200 OK", "Content-Length: 1", "Transfer-Encoding: chunked", "")
                guard case .head(_, let effects) = stage.lastAction else {
                    Issue.record("both together are no head")
                    return
                }
                #expect(effects.contains(.closesConnection))
                #expect(stage.attempt.incoming.framing.contentLength == nil)
            }),
        Row(
            beginning: "Over HTTP/2, a connection that ends",
            proof: .attempt {
                let stage = try AttemptStage(.post, body: .string("more than was sent"))
                stage.connect { $0.wire = .http2 }
                stage.receive("HTTP/2 200", "Content-Length: 2", "")
                stage.attempt.countReceived(2)
                #expect(stage.end(CURLE_HTTP2_STREAM) == .success)
                let short = try AttemptStage(.post, body: .string("more than was sent"))
                short.connect { $0.wire = .http2 }
                short.receive("HTTP/2 200", "Content-Length: 2", "")
                short.attempt.countReceived(1)
                #expect(short.end(CURLE_HTTP2_STREAM) { $0.text = "reset" } == .failure(.http2Failed))
            }),
        Row(
            beginning: "Before 8.1.0 a handle keeps a pointer",
            proof: .attempt {
                try expect(.failure(.invalidResponse), after: ["HTTP/1.1 200 OK", " folded: x", ""])
            }),
        Row(
            beginning: "10,000 fields over HTTP/2",
            proof: .attempt {
                let fields = (0..<10_000).map { "A\($0): x" }
                try expect(.failure(.responseHeadTooLarge), after: ["HTTP/1.1 200 OK"] + fields + [""])
            }),
        Row(
            beginning: "Odd status lines, a bare CR",
            proof: .attempt {
                for lines in [
                    ["HTTP/1.2 200 OK"], ["HTTP/1.1 99 OK"], ["HTTP/1.1 2OO OK"], ["ICY 200 OK"],
                    ["HTTP/1.1 200 OK", ": x"], ["HTTP/1.1 200 OK", "A: b\rc"],
                    ["HTTP/1.1 101 Switching Protocols", ""], ["HTTP/2 200", ""],
                ] {
                    try expect(.failure(.invalidResponse), after: lines)
                }
            }),
        Row(
            beginning: "Content codings cut short",
            proof: .test("a truncated encoded body is an error at every length", in: "Coding/ContentDecoderTests")),
    ]

    private static let requests: [Row] = [
        Row(
            beginning: "Bytes that may not stand in methods",
            proof: .attempt {
                for (name, value) in [
                    (HTTPField.Name.transferEncoding, "chunked"), (.contentLength, "4"), (.upgrade, "h2c"),
                ] {
                    let error = #expect(throws: CurlewError.self) {
                        try AttemptStage.prepared(.post, body: .string("x"), change: { $0.fields[name] = value })
                    }
                    #expect(error?.code == .invalidRequest)
                }
            }),
        Row(
            beginning: "A request that dies on a kept connection",
            proof: .attempt {
                for (method, mayGo) in [(HTTPRequest.Method.get, true), (.post, false), (.patch, false)] {
                    let again = AttemptStage.Ending.again(Attempt.Plan(number: 2, isFresh: true))
                    let stage = try AttemptStage(method)
                    #expect(stage.connect(isReused: true) == true)
                    #expect(stage.connect() == false)
                    #expect(
                        stage.end(CURLE_ABORTED_BY_CALLBACK) == (mayGo ? again : .failure(.connectionLost)), "\(method)"
                    )
                    let refused = try AttemptStage(method)
                    refused.connect(isReused: true)
                    refused.attempt.reject(.refusedStream)
                    #expect(refused.end(CURLE_ABORTED_BY_CALLBACK) == again)
                }
                let begun = try AttemptStage()
                begun.connect(isReused: true)
                begun.receive("HTTP/1.1 200 OK")
                #expect(begun.connect() == false)
                #expect(begun.end(CURLE_ABORTED_BY_CALLBACK) == .failure(.connectionLost))
            }),
        Row(
            beginning: "An `Expect` answered by 417",
            proof: .attempt {
                let stage = try AttemptStage(
                    .put, body: .string("x"), change: { $0.options.expectContinue = .seconds(1) })
                stage.connect()
                stage.receive("HTTP/1.1 417 Expectation Failed", "")
                let plan = Attempt.Plan(number: 2, isFresh: true, isUnexpecting: true)
                #expect(stage.end(CURLE_WRITE_ERROR) == .again(plan))
                let again = try AttemptStage(
                    .put, body: .string("x"), plan: plan, change: { $0.options.expectContinue = .seconds(1) })
                again.connect()
                again.receive("HTTP/1.1 417 Expectation Failed", "")
                #expect(again.end() == .success)
            }),
        Row(
            beginning: "From 8.7 on: an upload that libcurl wants to send again",
            proof: .attempt {
                let stage = try AttemptStage(.post, body: .string("x"))
                stage.connect(isReused: true)
                stage.send(1, of: [1])
                stage.attempt.rewind()
                #expect(stage.connect() == false)
                #expect(stage.end(CURLE_ABORTED_BY_CALLBACK) == .failure(.connectionLost))
                let replayable = try AttemptStage(.put, body: .string("x"))
                replayable.connect(isReused: true)
                replayable.send(1, of: [1])
                replayable.attempt.rewind()
                #expect(replayable.connect() == false)
                let plan = Attempt.Plan(number: 2, isFresh: true)
                #expect(replayable.end(CURLE_ABORTED_BY_CALLBACK) == .again(plan))
            }),
        Row(
            beginning: "Any scheme.",
            proof: .attempt {
                for url in ["file:///etc/passwd", "gopher://host/"] {
                    let error = #expect(throws: CurlewError.self) { try CurlewRequest(.get, url) }
                    #expect(error?.code == .unsupportedScheme)
                }
            }),
        Row(
            beginning: "A Proxy-Authorization among the fields",
            proof: .attempt {
                let prepared = try AttemptStage.prepared(change: { $0.fields[.proxyAuthorization] = "Basic x" })
                #expect(prepared.fields == nil)
                #expect(prepared.proxyFields != nil)
            }),
        Row(
            beginning: "A handle that has sent trailers",
            proof: .test("trailers on a handle do not affect the next chunked body", in: "Task/UploadTests")
        ),
        Row(
            beginning: "While HTTP/2's flow control holds an upload back",
            proof: .test("an upload that the server does not read ends in an idle timeout", in: "Engine/TimeoutTests")),
    ]

    private static let answers: [Row] = [
        Row(
            beginning: "The heads of challenges that libcurl answers",
            proof: .attempt {
                let proxy = try Proxy("http://127.0.0.1:1").authenticated(user: "user", password: "secret", by: .digest)
                let stage = try AttemptStage(configure: { $0.proxy = .proxy(proxy) })
                stage.connect()
                stage.receive("HTTP/1.1 407 Proxy Authentication Required", "Content-Length: 0", "")
                #expect(stage.attempt.incoming.head == nil)
                #expect(stage.connect() == true)
                stage.receive("HTTP/1.1 200 OK", "Content-Length: 0", "")
                #expect(stage.attempt.incoming.head?.status == .ok)
            }),
        Row(
            beginning: "A request with a body to a proxy with Digest",
            proof: .test(
                "a proxy that asks for no credentials gets the request once, with its body",
                in: "Engine/Proxies/ProxyDigestTests")),
        Row(
            beginning: "A request over a connection that was kept after HTTP/1.0",
            proof: .test(
                "a connection with HTTP/1.0 is not reused, because its next request would have this version",
                in: "Engine/ReuseTests")),
    ]

    private static let others: [Row] = [
        Row(
            beginning: "The watch on slow transfers",
            proof: .test("slowly arriving bytes keep a transfer alive, in head and body", in: "Engine/TimeoutTests")),
        Row(
            beginning: "Certificates: the common name serves",
            proof: .test("a certificate's name matches a host as RFC 9525 defines it", in: "Security/HostNameTests")),
        Row(
            beginning: "Redirects keep and lose",
            proof: .test(
                "known and marked secrets are sent only to their origin",
                in: "Middleware/Redirects/RedirectOriginTests")),
        Row(
            beginning: "Cookies without a name",
            proof: .test(
                "prefixes apply in any letter case, and to values without a name",
                in: "Cookies/CookieRuleTests")),
    ]
}
