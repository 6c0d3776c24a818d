import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("A request for an upgrade", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct UpgradeHandshakeTests {
    @Test("the head of the request has the usual fields and those of the upgrade")
    func head() async throws {
        let heads = Guarded<[String]>([])
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            heads.withLock { $0.append(head) }
            try await connection.write(EchoUpgrade.switching)
        }
        var session = try makeSession(baseURL: server.url("/v1/")) { $0.userAgent = "curlew/test" }
        session.defaultFields[.acceptLanguage] = "en"
        try await session.upgrade(
            "attach?stream=1", to: "echo", method: .post, fields: [.init("X-Empty")!: "", .authorization: "Bearer t"]
        ) { _ in }
        #expect(
            heads.withLock { $0 } == [
                """
                POST /v1/attach?stream=1 HTTP/1.1\r
                Host: 127.0.0.1:\(server.port)\r
                User-Agent: curlew/test\r
                Accept: */*\r
                X-Empty: \r
                Authorization: Bearer t\r
                Accept-Language: en\r
                Content-Length: 0\r
                Connection: Upgrade\r
                Upgrade: echo\r
                \r

                """
            ])
        await session.shutdown()
    }

    @Test(
        "a response without 101 is an error with the response and the beginning of its body", arguments: Refusal.all)
    func refused(_ refusal: Refusal) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(refusal.answer)
        }
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError { try await session.upgrade("x", to: "echo") { _ in } }
        #expect(error?.code == refusal.code)
        #expect(error?.status?.code == refusal.status)
        #expect(error.map { String(decoding: $0.bodyPrefix, as: UTF8.self) } == refusal.body)
        await session.shutdown()
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: String
        var code = ErrorCode.upgradeRefused
        var status: Int? = 403
        var body = "no"

        static let all = [
            Refusal(testDescription: "length", answer: "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"),
            Refusal(
                testDescription: "chunked",
                answer: "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nn\r\n1;x=y\r\no\r\n0\r\nX: y\r\n\r\n"
            ),
            Refusal(testDescription: "until the end", answer: "HTTP/1.1 403 No\r\n\r\nno"),
            Refusal(testDescription: "no body", answer: "HTTP/1.1 204 No\r\n\r\n", status: 204, body: ""),
            Refusal(
                testDescription: "interim",
                answer: "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"),
            Refusal(
                testDescription: "truncated", answer: "HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\nno"),
            Refusal(testDescription: "nothing", answer: "", code: .connectionLost, status: nil, body: ""),
            Refusal(
                testDescription: "half a head", answer: "HTTP/1.1 101 Switching\r\nUpg", code: .connectionLost,
                status: nil, body: ""),
            Refusal(
                testDescription: "no HTTP", answer: "SSH-2.0\r\n\r\n", code: .invalidResponse, status: nil, body: ""),
            Refusal(
                testDescription: "another protocol",
                answer: "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n",
                code: .invalidResponse, status: nil, body: ""),
            Refusal(
                testDescription: "no Connection",
                answer: "HTTP/1.1 101 Switching\r\nConnection: keep-alive\r\nUpgrade: echo\r\n\r\n",
                code: .invalidResponse, status: nil, body: ""),
            Refusal(
                testDescription: "HTTP/1.0", answer: "HTTP/1.0 101 Switching\r\nUpgrade: echo\r\n\r\n",
                code: .invalidResponse, status: nil, body: ""),
            Refusal(
                testDescription: "a line without an end",
                answer: "HTTP/1.1 101 " + String(repeating: "x", count: 1 << 20), code: .responseHeadTooLarge,
                status: nil,
                body: ""),
            Refusal(
                testDescription: "redirect",
                answer: "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 2\r\n\r\nno", status: 302),
        ]
    }

    @Test("the standard chain answers a challenge and refuses a redirect")
    func chain() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            if head.contains("GET /moved") {
                return try await connection.write("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
            }
            guard head.contains("Authorization: Digest") else {
                return try await connection.write(
                    "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n"
                        + "Content-Length: 0\r\n\r\n")
            }
            try await connection.write(EchoUpgrade.switching + "in")
        }
        var options = StandardChain.Options()
        options.authentication = ChallengeAuthentication(
            try Credential.Scoped(server.url(), .password(user: "u", password: "p")))
        let session = try makeSession(baseURL: server.url(), chain: options)
        let moved = await curlewError { try await session.upgrade("moved", to: "echo") { _ in } }
        #expect(moved?.code == .redirectRefused)
        let bytes = try await session.upgrade("", to: "echo") { stream in
            var iterator = stream.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(bytes == Array("in".utf8))
        await session.shutdown()
    }

    @Test("an invalid request for an upgrade is refused before a byte is sent")
    func unsendable() async throws {
        let session = try makeSession(baseURL: "http://127.0.0.1:1/")
        for name in ["", "a b", "a/b/c", "x\r\ny"] {
            let error = await curlewError { try await session.upgrade("", to: name) { _ in } }
            #expect(error?.code == .invalidRequest)
        }
        let error = await curlewError {
            try await session.upgrade("", to: "echo", fields: [.connection: "close"]) { _ in }
        }
        #expect(error?.code == .invalidRequest)
        await session.shutdown()
    }

    @Test("a security policy applies to an upgraded connection")
    func policy() async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await RawServer.start(tls: ServerTLS([certificate]), handler: EchoUpgrade.serve)
        let untrusting = try makeSession(baseURL: server.url())
        let untrusted = await curlewError { try await untrusting.upgrade("", to: "echo") { _ in } }
        #expect(untrusted?.isTrustFailure == true)
        let other = try SecurityPolicy.Pin(of: CurlewCertificate(pem: HeldCertificate.localhost().certificatePEM))
        let pinning = try makeSession(baseURL: server.url()) {
            $0.security = .anchors(pem: certificate.certificatePEM, pins: SecurityPolicy.PinSet([other]))
        }
        let unpinned = await curlewError { try await pinning.upgrade("", to: "echo") { _ in } }
        #expect(unpinned?.code == .pinMismatch)
        let forbidding = try makeSession(baseURL: server.url()) { $0.addressPolicy = .publicOnly }
        let forbidden = await curlewError { try await forbidding.upgrade("", to: "echo") { _ in } }
        #expect(forbidden?.code == .addressForbidden)
        for session in [untrusting, pinning, forbidding] { await session.shutdown() }
    }
}
