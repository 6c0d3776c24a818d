import CLibcurl
import Glibc
import HTTPTypes
import Testing

@testable import CurlewCore

/// The decisions between QUIC and TCP, without a server.
@Suite("The state of HTTP/3 without a server")
struct HTTP3AttemptTests {
    /// A request in the form that the engine receives.
    private func prepared(
        _ policy: HTTPVersionPolicy, host: String = "h.test",
        _ configure: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> PreparedRequest {
        try AttemptStage.prepared(configure: configure) { Self.change(&$0, policy, host) }
    }

    private static func change(_ request: inout CurlewRequest, _ policy: HTTPVersionPolicy, _ host: String = "h.test") {
        guard let uri = try? CurlewURI("https://\(host)/") else { return }
        request.uri = uri
        request.options.versionPolicy = policy
    }

    private func stage(
        _ policy: HTTPVersionPolicy, body: CurlewRequest.Body = .none, plan: Attempt.Plan = Attempt.Plan()
    ) throws -> AttemptStage {
        try AttemptStage(.put, body: body, plan: plan, change: { Self.change(&$0, policy) })
    }

    @Test("an attempt without a QUIC connection is followed by one over TCP", .enabled(if: Engine.hasHTTP3))
    func withoutQUIC() throws {
        for code in [CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT, CURLE_RECV_ERROR] {
            let stage = try stage(.http3, body: .bytes([1, 2, 3]))
            stage.attempt.reject(.noQUIC)
            #expect(stage.end(code) == .again(Attempt.Plan(number: 2, isOverTCP: true)))
        }
        let alone = try stage(.http3Only)
        alone.attempt.reject(.noQUIC)
        #expect(alone.end(CURLE_RECV_ERROR) == .failure(.connectionFailed))
        let late = try stage(.http3Only)
        late.attempt.reject(.noQUIC)
        #expect(late.end(CURLE_OPERATION_TIMEDOUT) == .failure(.connectTimeout))
        let again = try stage(.http3, plan: Attempt.Plan(number: 2, isOverTCP: true))
        again.attempt.reject(.noQUIC)
        #expect(again.end(CURLE_COULDNT_CONNECT) == .failure(.connectionFailed))
    }

    @Test("a single-use body whose bytes were read is not sent over TCP", .enabled(if: Engine.hasHTTP3))
    func singleUse() throws {
        let body = CurlewRequest.Body.once(length: 3, AsyncStream<[UInt8]> { $0.finish() })
        for isRead in [false, true] {
            let stage = try stage(.http3, body: body)
            if isRead { stage.send(2, of: [1, 2, 3]) }
            stage.attempt.reject(.noQUIC)
            let ending = stage.end(CURLE_COULDNT_CONNECT)
            #expect(
                ending == (isRead ? .failure(.connectionFailed) : .again(Attempt.Plan(number: 2, isOverTCP: true))))
        }
    }

    @Test("a request that must not be sent over HTTP/3 is sent over HTTP/1.1", .enabled(if: Engine.hasHTTP3))
    func versionFallback() throws {
        let text = "HTTP/3 stream 0 reset by server (error 0x110 VERSION_FALLBACK)"
        let preferred = try stage(.http3)
        preferred.connect { $0.wire = .http3 }
        let plan = Attempt.Plan(number: 2, isFresh: true, isHTTP11: true, isOverTCP: true)
        #expect(preferred.end(CURLE_HTTP3) { $0.text = text } == .again(plan))
        let alone = try stage(.http3Only)
        alone.connect { $0.wire = .http3 }
        #expect(alone.end(CURLE_HTTP3) { $0.text = text } == .failure(.connectionLost))
    }

    @Test("a stream that ends with an error loses the connection before the head, and the body after it")
    func reset() throws {
        for (lines, expected) in [([], ErrorCode.connectionLost), (["HTTP/3 200 ", ""], .responseTruncated)] {
            let stage = try AttemptStage()
            stage.connect { $0.wire = .http3 }
            for line in lines { stage.receive(line) }
            #expect(stage.end(CURLE_HTTP3) { $0.text = "HTTP/3 stream 0 reset by server" } == .failure(expected))
        }
    }

    @Test("a response that is complete by its length survives the server's end of the connection")
    func closedWhole() throws {
        let draining = "ngtcp2_conn_writev_stream returned error: ERR_DRAINING"
        for (text, length, bytes, expected) in [
            (draining, "5", 5, AttemptStage.Ending.success), (draining, "0", 0, .success),
            (draining, "5", 4, .failure(.connectionLost)), (draining, nil, 5, .failure(.connectionLost)),
            ("ngtcp2_conn_writev_stream returned error: ERR_CLOSING", "5", 5, .failure(.connectionLost)),
        ] {
            for code in [CURLE_SEND_ERROR, CURLE_RECV_ERROR] {
                let stage = try AttemptStage()
                stage.connect { $0.wire = .http3 }
                stage.receive("HTTP/3 200 ")
                if let length { stage.receive("content-length: \(length)") }
                stage.receive("")
                stage.attempt.countReceived(bytes)
                #expect(stage.end(code) { $0.text = text } == expected)
            }
        }
        let headless = try AttemptStage()
        headless.connect { $0.wire = .http3 }
        #expect(headless.end(CURLE_SEND_ERROR) { $0.text = draining } == .failure(.connectionLost))
    }

    @Test("the message for the end of a QUIC connection names its cause")
    func messages() {
        for (name, words) in [
            ("ERR_DRAINING", "the server closed"), ("ERR_CLOSING", "malformed"), ("ERR_IDLE_CLOSE", "silent"),
        ] {
            var failure = EngineFailure(CURLE_SEND_ERROR)
            failure.text = "ngtcp2_conn_writev_stream returned error: \(name)"
            #expect(failure.endOfQUIC?.contains(words) == true)
        }
        #expect(EngineFailure(CURLE_SEND_ERROR).endOfQUIC == nil)
    }

    @Test("a request is unsent if libcurl has no error text, or one of a closing connection")
    func closing() {
        for text in ["", "ngtcp2_conn_writev_stream returned error: ERR_DRAINING", "ERR_CLOSING"] {
            #expect(EngineFailure.isClosingQUIC(text), "\(text)")
        }
        for text in ["ERR_IDLE_CLOSE", "HTTP/3 stream 4 reset by server (error 0x102 INTERNAL_ERROR)"] {
            #expect(!EngineFailure.isClosingQUIC(text), "\(text)")
        }
    }

    @Test("the use of a connection follows the policy and the state of the request", .enabled(if: Engine.hasHTTP3))
    func uses() throws {
        for (policy, isHTTP11, isOverTCP, use) in [
            (HTTPVersionPolicy.http3, false, false, PoolKey.Use.quic), (.http3, false, true, .negotiated),
            (.http3, true, true, .exclusive), (.http3Only, false, false, .quic),
            (.negotiated, false, false, .negotiated), (.negotiated, true, false, .exclusive),
            (.http11, false, false, .exclusive),
        ] {
            #expect(PoolKey.use(of: try prepared(policy), isHTTP11: isHTTP11, isOverTCP: isOverTCP) == use)
        }
    }

    @Test("a failure of QUIC excludes only its own origin, with the same settings of the connection")
    func failureKeys() throws {
        func key(
            _ host: String = "h.test", _ configure: (inout SessionConfiguration) -> Void = { _ in }
        ) throws -> PoolKey { PoolKey(try prepared(.negotiated, host: host, configure), .quic) }
        var failures = QUICFailures()
        let now = Instant(nanoseconds: 1_000)
        failures.noteFailure(of: try key(), at: now)
        #expect(failures.excludes(try key("H.TEST"), at: now))
        for other in [
            try key("h.test:8443"), try key("other.test"),
            try key { $0.route.hosts = [.init(host: "h.test", port: 443, addresses: ["127.0.0.1"])] },
        ] {
            #expect(!failures.excludes(other, at: now))
            failures.noteSuccess(of: other)
        }
        #expect(failures.excludes(try key(), at: now))
        failures.noteSuccess(of: try key())
        #expect(!failures.excludes(try key(), at: now))
    }

    @Test("a success ends the memory of an origin, so that its next failure has the first pause")
    func success() throws {
        let key = PoolKey(try prepared(.negotiated), .quic)
        var failures = QUICFailures()
        var now = Instant(nanoseconds: 1_000)
        for _ in 0..<3 {
            failures.noteFailure(of: key, at: now)
            now = now.advanced(by: 4 * QUICFailures.firstPause)
            #expect(!failures.excludes(key, at: now))
        }
        failures.noteSuccess(of: key)
        failures.noteFailure(of: key, at: now)
        #expect(failures.excludes(key, at: now.advanced(by: QUICFailures.firstPause - 1)))
        #expect(!failures.excludes(key, at: now.advanced(by: QUICFailures.firstPause)))
    }

    @Test("the number of remembered origins is bounded")
    func bound() throws {
        var failures = QUICFailures()
        let now = Instant(nanoseconds: 1_000)
        let keys = try (0...QUICFailures.limit).map { PoolKey(try prepared(.negotiated, host: "h\($0).test"), .quic) }
        for key in keys.dropLast() { failures.noteFailure(of: key, at: now) }
        #expect(keys.dropLast().allSatisfy { failures.excludes($0, at: now) })
        failures.noteFailure(of: keys[0], at: now.advanced(by: QUICFailures.firstPause))
        #expect(keys.dropLast().allSatisfy { failures.excludes($0, at: now) })
        failures.noteFailure(of: keys[QUICFailures.limit], at: now)
        #expect(keys.count { failures.excludes($0, at: now) } == 1)
    }
}
