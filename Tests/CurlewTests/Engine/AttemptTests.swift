import CLibcurl
import Glibc
import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("An attempt without an engine")
struct AttemptTests {
    /// Rejections with their causes, and the next attempt after each.
    enum Rejected: CaseIterable, CustomTestStringConvertible {
        case strayInput, resend, expectation, misdirected, otherConnection, fullConnection, unaskedAnswer

        var testDescription: String { "\(self)" }

        func end() throws -> AttemptStage.Ending {
            let stage = try AttemptStage(
                .put, body: .bytes([1, 2, 3]),
                change: { request in
                    if self != .resend { request.options.expectContinue = .seconds(1) }
                })
            switch self {
            case .strayInput: stage.connect(isReused: true) { $0.isOutOfStep = true }
            case .resend:
                stage.connect(isReused: true)
                stage.connect()
                stage.connect()
            case .expectation:
                stage.connect()
                stage.receive("HTTP/1.1 417 Expectation Failed", "")
            case .misdirected:
                stage.connect(isReused: true)
                stage.receive("HTTP/1.1 421 Misdirected Request", "")
            case .otherConnection: stage.connect(isReused: true) { $0.isChosen = false }
            case .fullConnection: stage.attempt.reject(.fullConnection)
            case .unaskedAnswer:
                stage.connect(isReused: true)
                stage.attempt.reject(.unaskedAnswer)
            }
            return stage.end(CURLE_ABORTED_BY_CALLBACK)
        }
    }

    private func proxied(_ url: String, _ authentication: Proxy.Authentication = .basic) throws -> AttemptStage {
        var proxy = try Proxy(url)
        if authentication != .basic {
            proxy = try proxy.authenticated(user: "user", password: "secret", by: authentication)
        }
        return try AttemptStage(configure: { [proxy] in $0.proxy = .proxy(proxy) })
    }

    @Test(
        "an attempt that the server rejected before any processing is repeated once", arguments: Rejected.allCases)
    func rejected(_ rejected: Rejected) throws {
        let isFull = rejected == .fullConnection
        let isLost = rejected == .otherConnection
        let plan = Attempt.Plan(
            number: isFull || isLost ? 1 : 2, losses: isLost ? 1 : 0, isFresh: !isFull,
            isUnexpecting: rejected == .expectation)
        #expect(try rejected.end() == .again(plan))
    }

    @Test("of the previous attempt, the next one keeps only the plan, the challenges and the user's pause")
    func successor() throws {
        let stage = try AttemptStage(.put, body: .bytes([1, 2, 3]))
        stage.connect(isReused: true)
        stage.send(2, of: [1, 2, 3])
        stage.attempt.pause([.suspended, .body, .sendingRate])
        stage.attempt.reject(.strayInput)
        #expect(stage.attempt.plan.isRepetition == false)
        let next = stage.attempt.successor
        #expect(next.plan == Attempt.Plan(number: 2, isFresh: true))
        #expect(next.plan.isRepetition == true)
        #expect(Attempt.Plan(losses: 1).isRepetition == true)
        #expect(next.pauses == .suspended)
        #expect(next.stage == .preparing)
        #expect(!next.isReused && !next.outgoing.hasSource && next.outgoing.sentBytes == 0)
        #expect(next.isOnCourse == true)
    }

    @Test("an exchange has at most six attempts")
    func limit() throws {
        let stage = try AttemptStage(plan: Attempt.Plan(number: Attempt.limit))
        stage.connect(isReused: true) { $0.isOutOfStep = true }
        #expect(stage.end(CURLE_ABORTED_BY_CALLBACK) == .failure(.connectionLost))
        #expect(Attempt.limit == 6)
    }

    @Test("closed connections of the pool do not count as attempts, up to a limit", arguments: [255, 256])
    func losses(_ losses: Int) throws {
        let stage = try AttemptStage(plan: Attempt.Plan(number: 5, losses: losses))
        stage.connect(isReused: true) { $0.isChosen = false }
        let expected: AttemptStage.Ending =
            losses < 256
            ? .again(Attempt.Plan(number: 5, losses: losses + 1, isFresh: true)) : .failure(.connectionLost)
        #expect(stage.end(CURLE_ABORTED_BY_CALLBACK) == expected)
    }

    @Test("a single-use body is sent again only if no byte of it was read")
    func oneShot() throws {
        let body = CurlewRequest.Body.once(length: 3, AsyncStream<[UInt8]> { $0.finish() })
        try #require(!body.isReplayable)
        let untouched = try AttemptStage(.put, body: body)
        untouched.connect(isReused: true) { $0.isOutOfStep = true }
        #expect(untouched.end(CURLE_ABORTED_BY_CALLBACK) == .again(Attempt.Plan(number: 2, isFresh: true)))
        let begun = try AttemptStage(.put, body: body)
        begun.connect()
        begun.send(1, of: [1, 2, 3])
        begun.attempt.reject(.strayInput)
        #expect(begun.end(CURLE_ABORTED_BY_CALLBACK) == .failure(.connectionLost))
    }

    @Test("a challenge that libcurl answers is not the response, and any other challenge is")
    func challenges() throws {
        let stage = try proxied("http://127.0.0.1:1", .digest)
        for _ in 0..<2 {
            stage.connect()
            stage.receive("HTTP/1.1 407 Proxy Authentication Required", "Content-Length: 0", "")
            #expect(stage.attempt.incoming.head == nil)
        }
        #expect(stage.end() == .success)
        #expect(stage.attempt.incoming.head?.status.code == 407)
    }

    @Test("endless challenges are an error of the proxy")
    func endlessChallenges() throws {
        let stage = try proxied("http://127.0.0.1:1", .digest)
        var count = 0
        while stage.connect(), count < 100 {
            stage.receive("HTTP/1.1 407 Proxy Authentication Required", "Content-Length: 0", "")
            count += 1
        }
        #expect(count == Attempt.challengeLimit + 1)
        #expect(stage.attempt.failure?.code == .proxyFailed)
    }

    @Test("a connection that another policy accepted is an error, without a further attempt")
    func otherPolicy() throws {
        let stage = try AttemptStage()
        #expect(stage.connect { $0.isAccepted = false } == false)
        #expect(stage.end(CURLE_ABORTED_BY_CALLBACK) == .failure(.untrustedCertificate))
    }

    @Test("libcurl's messages are read if it may drop bytes behind a response, and such bytes spoil the connection")
    func excess() throws {
        for (fields, isObserved) in [
            (["Transfer-Encoding: chunked"], true), (["Content-Length: 0"], Engine.dropsExcess),
            (["Content-Length: 1"], false), ([], false),
        ] {
            let stage = try AttemptStage()
            stage.connect()
            stage.receive("HTTP/1.1 200 OK")
            for field in fields { stage.receive(field) }
            stage.receive("")
            guard case .head(_, let effects) = stage.lastAction else {
                Issue.record("no head")
                continue
            }
            #expect(effects.contains(.showsRawBody) == isObserved, "\(fields)")
            #expect(stage.attempt.spoilsConnection == false)
            stage.attempt.noteExcess()
            #expect(stage.attempt.spoilsConnection == true)
        }
    }

    @Test("a connection is closed after an answer that precedes the body, unless the body is sent to its end")
    func earlyAnswer() throws {
        let stage = try AttemptStage(.put, body: .bytes([1, 2, 3]))
        stage.connect()
        stage.send(2, of: [1, 2, 3])
        stage.receive("HTTP/1.1 200 OK", "Content-Length: 0", "")
        guard case .head(_, let effects) = stage.lastAction else {
            Issue.record("no head")
            return
        }
        #expect(effects == (Engine.dropsExcess ? [.closesConnection, .showsRawBody] : .closesConnection))
        #expect(stage.attempt.isInOrderAgain == false)
        stage.send(2, of: [1, 2, 3])
        #expect(stage.attempt.isInOrderAgain == true)
    }

    @Test("a body that ends before its length fails the attempt")
    func shortBody() throws {
        let stage = try AttemptStage(.put, body: .bytes([1, 2, 3]))
        stage.connect()
        stage.send(8, of: [1])
        stage.send(8, of: [1])
        #expect(stage.end(CURLE_ABORTED_BY_CALLBACK) == .failure(.bodyLengthMismatch))
    }

    @Test(
        "a failure has the most specific error code",
        arguments: [
            (CURLE_COULDNT_CONNECT, ECONNREFUSED, ErrorCode.connectionRefused),
            (CURLE_COULDNT_CONNECT, ENFILE, .resourcesExhausted), (CURLE_COULDNT_CONNECT, 0, .connectionFailed),
            (CURLE_COULDNT_RESOLVE_HOST, 0, .hostNotFound), (CURLE_WRITE_ERROR, 0, .invalidResponse),
            (CURLE_WEIRD_SERVER_REPLY, 0, .invalidResponse), (CURLcode(rawValue: 100), 0, .responseHeadTooLarge),
            (CURLE_OPERATION_TIMEDOUT, 0, .connectTimeout), (CURLE_BAD_CONTENT_ENCODING, 0, .invalidResponse),
        ])
    func codes(_ code: CURLcode, _ systemError: Int32, _ expected: ErrorCode) throws {
        let stage = try AttemptStage()
        #expect(stage.end(code) { $0.systemError = systemError } == .failure(expected))
    }

    @Test("a body whose TLS connection ends without close_notify is truncated, after a read or a write error")
    func truncatedTLS() throws {
        for code in [CURLE_RECV_ERROR, CURLE_SEND_ERROR] {
            for (lines, expected) in [([], ErrorCode.connectionLost), (["HTTP/1.1 200 OK", ""], .responseTruncated)] {
                let stage = try AttemptStage()
                stage.connect()
                for line in lines { stage.receive(line) }
                #expect(stage.end(code) { $0.text = "SSL_read: unexpected eof while reading" } == .failure(expected))
            }
        }
    }

    @Test("an error after the full request keeps the answer only if the send failed and the answer is complete")
    func wholeAnswer() throws {
        for (code, status, bytes, expected) in [
            (CURLE_SEND_ERROR, 200, 5, AttemptStage.Ending.success), (CURLE_SEND_ERROR, 204, 0, .success),
            (CURLE_SEND_ERROR, 200, 4, .failure(.connectionLost)),
            (CURLE_RECV_ERROR, 200, 5, .failure(.connectionLost)),
            (CURLE_HTTP2_STREAM, 200, 5, .failure(.http2Failed)),
        ] {
            let stage = try AttemptStage(.post, body: .bytes([1]))
            stage.connect()
            stage.send(1, of: [1])
            stage.receive("HTTP/1.1 \(status) OK")
            if status == 200 { stage.receive("content-length: 5") }
            stage.receive("")
            stage.attempt.countReceived(bytes)
            #expect(stage.end(code) { $0.text = code == CURLE_HTTP2_STREAM ? "reset" : "" } == expected)
        }
        let unknown = try AttemptStage(.post, body: .bytes([1]))
        unknown.connect()
        unknown.send(1, of: [1])
        unknown.receive("HTTP/1.1 200 OK", "")
        unknown.attempt.countReceived(5)
        #expect(unknown.end(CURLE_SEND_ERROR) == .failure(.connectionLost))
    }

    @Test(
        "a proxy's failure has another error code than the origin's",
        arguments: [
            (CURLE_COULDNT_RESOLVE_PROXY, 0, ErrorCode.proxyNotFound), (CURLE_COULDNT_CONNECT, 0, .proxyFailed),
            (CURLE_RECV_ERROR, 407, .proxyAuthenticationRequired), (CURLE_RECV_ERROR, 502, .proxyFailed),
            (CURLE_RECV_ERROR, 0, .proxyFailed), (CURLE_OPERATION_TIMEDOUT, 0, .connectTimeout),
        ])
    func proxies(_ code: CURLcode, _ status: Int, _ expected: ErrorCode) throws {
        let stage = try proxied("http://127.0.0.1:1")
        #expect(stage.end(code) { $0.tunnelStatus = status } == .failure(expected))
        // An error after the request was sent is the origin's.
        let later = try proxied("http://127.0.0.1:1")
        later.connect()
        #expect(later.end(CURLE_RECV_ERROR) == .failure(.connectionLost))
    }
}
