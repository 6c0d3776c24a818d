import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("A proxy with Digest authentication", .endsServers, .timeLimit(.minutes(2)))
struct ProxyDigestTests {
    private let heads = Guarded<[String]>([])

    private static let challenge =
        "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\nContent-Length: 4\r\n\r\nasks"

    /// A proxy that requires Digest, accepts any Digest answer, and echoes the body.
    private func proxy(
        accepting isAccepting: Bool = true, requiring isRequired: Bool = true,
        knowingExpectations knowsThem: Bool = true
    ) async throws -> RawServer {
        try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                heads.withLock { $0.append(head) }
                let hasAnswer = head.contains("Proxy-Authorization: Digest username=\"user\"")
                let isAccepted = (hasAnswer || !isRequired) && isAccepting
                if knowsThem, head.contains("Expect: 100-continue") {
                    guard isAccepted else {
                        try await connection.write("HTTP/1.1 407 No\r\n" + Self.challenge)
                        continue
                    }
                    try await connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                }
                let body = try await Self.body(head, connection)
                if isAccepted {
                    try await connection.write(
                        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                } else {
                    try await connection.write("HTTP/1.1 407 No\r\n" + Self.challenge)
                }
            }
        }
    }

    /// Reads a body with a length, or of one chunk of less than 16 bytes.
    private static func body(_ head: String, _ connection: RawConnection) async throws -> String {
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        if head.contains("Transfer-Encoding: chunked") {
            let size =
                Int(String(decoding: try await connection.readExactly(3).prefix(1), as: UTF8.self), radix: 16) ?? 0
            let body = try await connection.readExactly(size + 7).prefix(size)
            return String(decoding: body, as: UTF8.self)
        }
        let length = line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
        return String(decoding: try await connection.readExactly(length), as: UTF8.self)
    }

    private func session(_ proxy: RawServer) throws -> HTTPSession {
        let digest = try Proxy("http://127.0.0.1:\(proxy.port)").authenticated(
            user: "user", password: "secret", by: .digest)
        return try makeSession { $0.proxy = .proxy(digest) }
    }

    @Test("a proxy's challenge to a request in absolute form is answered, and only the final response is visible")
    func answered() async throws {
        let proxy = try await proxy()
        let session = try session(proxy)
        for _ in 0..<2 {
            let response = try await session.get("http://origin.test/")
            #expect(response.status == .ok)
            #expect(response.fields[.proxyAuthenticate] == nil)
            #expect(try await response.body.collect(upTo: 10).isEmpty)
        }
        let metrics = try await session.get("http://origin.test/").task?.metrics
        #expect(metrics != nil)
    }

    @Test("a repeatable body is sent again with the answer to the challenge")
    func body() async throws {
        let proxy = try await proxy()
        let bodies: [CurlewRequest.Body] = [
            .string("body"),
            .stream(length: 4) {
                AsyncStream<[UInt8]> { stream in
                    stream.yield(Array("body".utf8))
                    stream.finish()
                }
            },
        ]
        for body in bodies {
            let session = try session(proxy)
            let response = try await session.post("http://origin.test/", .body(body))
            #expect(response.status == .ok)
            #expect(try await response.body.collect(upTo: 10) == Array("body".utf8))
        }
    }

    /// Bodies of four bytes: with a length and without, repeatable and not.
    private static var bodies: [CurlewRequest.Body] {
        [.string("body"), .once(length: 4, once()), .once(once()), .stream(length: nil) { once() }]
    }

    private static func once() -> AsyncStream<[UInt8]> {
        AsyncStream { stream in
            stream.yield(Array("body".utf8))
            stream.finish()
        }
    }

    @Test("a body that can be read once is sent with the answer to the challenge")
    func oneShot() async throws {
        let proxy = try await proxy()
        for body in Self.bodies {
            heads.withLock { $0 = [] }
            let response = try await session(proxy).post("http://origin.test/", .body(body))
            #expect(response.status == .ok)
            #expect(try await response.body.collect(upTo: 10) == Array("body".utf8))
            #expect(heads.withLock(\.count) == 2)
        }
    }

    @Test("a proxy that asks for no credentials gets the request once, with its body")
    func unchallenged() async throws {
        for knowsThem in [true, false] {
            let proxy = try await proxy(requiring: false, knowingExpectations: knowsThem)
            for body in Self.bodies {
                heads.withLock { $0 = [] }
                let response = try await session(proxy).put("http://origin.test/", .body(body))
                #expect(response.status == .ok)
                #expect(try await response.body.collect(upTo: 10) == Array("body".utf8))
                #expect(heads.withLock(\.count) == 1)
            }
        }
    }

    @Test("a proxy that asks after the body gets a repeatable body again, and another one is an error")
    func lateChallenge() async throws {
        let proxy = try await proxy(knowingExpectations: false)
        for body in Self.bodies {
            let session = try session(proxy)
            guard body.isReplayable else {
                let error = await curlewError { _ = try await session.post("http://origin.test/", .body(body)) }
                #expect(error?.code == .bodyNotReplayable, "\(String(describing: error))")
                continue
            }
            let response = try await session.post("http://origin.test/", .body(body))
            #expect(response.status == .ok)
            #expect(try await response.body.collect(upTo: 10) == Array("body".utf8))
        }
    }

    @Test("a late challenge that libcurl does not answer is the response, also for a body that can be read once")
    func otherChallenge() async throws {
        let proxy = try await RawServer.start { connection in
            let head = try await connection.readHead()
            _ = try await Self.body(head, connection)
            try await connection.write(
                "HTTP/1.0 407 No\r\nProxy-Authenticate: Basic realm=\"r\"\r\nContent-Length: 4\r\n\r\nasks")
        }
        for body in Self.bodies {
            let response = try await session(proxy).post("http://origin.test/", .body(body))
            #expect(response.status == .proxyAuthenticationRequired)
            #expect(try await response.body.collect(upTo: 10) == Array("asks".utf8))
        }
    }

    @Test("a body without a length is not sent to a proxy with HTTP/1.0 again, which knows no chunks")
    func oldProxy() async throws {
        let proxy = try await RawServer.start { connection in
            heads.withLock { $0.append("") }
            let head = try await connection.readHead()
            heads.withLock { $0.append(head) }
            try await connection.write("HTTP/1.0 407 No\r\nConnection: keep-alive\r\n" + Self.challenge)
            _ = try await connection.drain()
        }
        let session = try session(proxy)
        let error = await curlewError {
            _ = try await session.post("http://origin.test/", .body(.stream(length: nil) { Self.once() }))
        }
        #expect(error?.code == .unsupported, "\(String(describing: error))")
        #expect(heads.withLock { $0.filter { !$0.isEmpty }.count } == 1)
    }

    @Test("a challenge for one user is not answered for another user or for another proxy")
    func users() async throws {
        let (first, second) = (try await proxy(), try await proxy())
        let session = try makeSession()
        for (port, user) in [(first.port, "user"), (first.port, "other"), (second.port, "user"), (first.port, "user")] {
            var options = RequestOptions()
            let proxy = try Proxy("http://127.0.0.1:\(port)").authenticated(user: user, password: "secret", by: .digest)
            options.proxy = .proxy(proxy)
            let response = try await session.get("http://origin.test/", options: options)
            #expect(response.status == (user == "user" ? .ok : .proxyAuthenticationRequired))
            _ = try await response.body.collect(upTo: 10)
        }
        // Each call was challenged again: its first request has no answer, and its second has the user's own.
        let heads = heads.withLock { $0 }
        #expect(heads.count == 8)
        for (index, head) in heads.enumerated() {
            let answer = head.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization:") }
            #expect((answer == nil) == (index % 2 == 0))
            if let answer { #expect(answer.contains("nc=00000001")) }
        }
        await first.shutdown()
    }

    @Test("a repeated challenge is the response, with its body")
    func refused() async throws {
        let proxy = try await proxy(accepting: false)
        let response = try await session(proxy).get("http://origin.test/")
        #expect(response.status == .proxyAuthenticationRequired)
        #expect(try await response.body.collect(upTo: 10) == Array("asks".utf8))
    }
}
