import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Digest authentication over sockets", .endsServers, .timeLimit(.minutes(2)))
struct DigestExchangeTests {
    private func session(_ server: MockServer, password: String = "pass word") throws -> HTTPSession {
        let credential = try Credential.Scoped(server.url(), .password(user: "user", password: password))
        return try HTTPSession(configuration: SessionConfiguration(), chain: .bare) {
            ChallengeAuthentication(credential)
        }
    }

    private func server(_ guardian: DigestGuard) async throws -> MockServer {
        try await MockServer.start { try await guardian.answer($0) }
    }

    @Test("a single challenge serves many requests with rising counts on one connection")
    func counting() async throws {
        let guardian = DigestGuard()
        let server = try await server(guardian)
        let session = try session(server)
        for index in 0..<5 {
            let response = try await session.post(.raw(server.url("/a?b=\(index)")), .body(.string("body")))
            #expect(response.status == .ok)
            #expect(try await response.body.collect(upTo: 10) == Array("body".utf8))
        }
        #expect(await guardian.challengesSent == 1)
        #expect(await guardian.seenCounts == (1...5).map { "0000000\($0)" })
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("concurrent requests share nonce and counter, and no count is used twice")
    func concurrent() async throws {
        let guardian = DigestGuard(algorithm: .md5)
        let server = try await server(guardian)
        let session = try session(server)
        try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for index in 0..<40 { group.addTask { try await session.get(.raw(server.url("/\(index)"))).status } }
            for try await status in group { #expect(status == .ok) }
        }
        #expect(await Set(guardian.seenCounts).count == 40)
    }

    @Test(
        "an expired nonce is replaced without a failure, with or without the stale flag", arguments: [true, false])
    func stale(isSaid: Bool) async throws {
        let guardian = DigestGuard(isSaid ? .expires(after: 2) : .expiresSilently(after: 2))
        let server = try await server(guardian)
        let session = try session(server)
        for _ in 0..<6 { #expect(try await session.get(.raw(server.url())).status == .ok) }
        #expect(await guardian.challengesSent == 3)
    }

    @Test("the nextnonce of an answer is used next")
    func nextNonce() async throws {
        let guardian = DigestGuard(.announces)
        let server = try await server(guardian)
        let session = try session(server)
        for _ in 0..<4 { #expect(try await session.get(.raw(server.url())).status == .ok) }
        #expect(await guardian.challengesSent == 1)
        #expect(await guardian.seenCounts == Array(repeating: "00000001", count: 4))
    }

    @Test("two machines of one origin get rising counts of their own nonces")
    func severalNonces() async throws {
        let (one, other) = (DigestGuard(name: "one"), DigestGuard(name: "other"))
        let server = try await MockServer.start { request in
            try await (request.target == "/one" ? one : other).answer(request)
        }
        let session = try session(server)
        for _ in 0..<3 {
            #expect(try await session.get(.raw(server.url("/one"))).status == .ok)
            #expect(try await session.get(.raw(server.url("/other"))).status == .ok)
        }
        for machine in [one, other] {
            let counts = await machine.seenCounts
            #expect(counts.count == 3 && counts == counts.sorted() && Set(counts).count == 3)
        }
    }

    @Test("an answer has the bytes of a realm, a nonce and an opaque text that are not UTF-8")
    func otherEncoding() async throws {
        @Sendable func bytes(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8($0.value) } }
        func hash(_ text: String) throws -> String {
            let digest = try MessageDigest(.md5)
            try digest.update(bytes(text))
            return try digest.finish()
        }
        let parts = ["realm=\"caf\u{E9}\"", "nonce=\"n\u{FC}\"", "opaque=\"\u{F6}\""]
        let response = try hash("\(hash("user:caf\u{E9}:pass word")):n\u{FC}:\(hash("GET:/"))")
        let server = try await RawServer.start { connection in
            while true {
                var head: [UInt8] = []
                while !head.contains(bytes("\r\n\r\n")) {
                    guard let more = try await connection.read() else { return }
                    head += more
                }
                let isRight = (parts + ["response=\"\(response)\""]).allSatisfy { head.contains(bytes($0)) }
                let challenge = "WWW-Authenticate: Digest \(parts.joined(separator: ", "))\r\n"
                let answer = isRight ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 401 Unauthorized\r\n\(challenge)"
                try await connection.write(bytes("\(answer)Content-Length: 0\r\n\r\n"))
            }
        }
        let credential = try Credential.Scoped(
            server.url(), realm: "caf\u{E9}", .password(user: "user", password: "pass word"))
        let session = try HTTPSession(configuration: SessionConfiguration(), chain: .bare) {
            ChallengeAuthentication(credential)
        }
        #expect(try await session.get(.raw(server.url())).status == .ok)
    }

    @Test("a server that declares every nonce stale ends in the 401")
    func neverContent() async throws {
        let guardian = DigestGuard(.isNeverContent)
        let server = try await server(guardian)
        let response = try await session(server).get(.raw(server.url()))
        #expect(response.status == .unauthorized)
        #expect(try await response.body.collect(upTo: 100) == Array("who is there?".utf8))
        #expect(await guardian.challengesSent <= 6)
    }

    @Test("a wrong password is refused once, and the 401 is the response")
    func wrongPassword() async throws {
        let guardian = DigestGuard()
        let server = try await server(guardian)
        let session = try session(server, password: "guess")
        for _ in 0..<2 { #expect(try await session.get(.raw(server.url())).status == .unauthorized) }
        #expect(await guardian.challengesSent == 4)
    }

    @Test("integrity protection covers bodies of every kind that can be read twice")
    func integrity() async throws {
        let guardian = DigestGuard(quality: "auth-int")
        let server = try await server(guardian)
        let session = try session(server)
        let stream = CurlewRequest.Body.stream {
            AsyncStream<[UInt8]> { stream in
                stream.yield(Array("stre".utf8))
                stream.yield(Array("am".utf8))
                stream.finish()
            }
        }
        for (body, text) in [(CurlewRequest.Body.none, ""), (.string("bytes"), "bytes"), (stream, "stream")] {
            let response = try await session.put(.raw(server.url()), .body(body))
            #expect(response.status == .ok)
            #expect(try await response.body.collect(upTo: 10) == Array(text.utf8))
        }
        let error = await curlewError {
            _ = try await session.put(.raw(server.url()), .body(.once(AsyncStream { $0.finish() })))
        }
        #expect(error?.code == .bodyNotReplayable)
    }

    @Test("user and password of the URI answer a Digest challenge too")
    func userInformation() async throws {
        let guardian = DigestGuard()
        let server = try await server(guardian)
        let session = try HTTPSession(configuration: SessionConfiguration(), chain: .bare) { ChallengeAuthentication() }
        #expect(try await session.get("http://user:pass%20word@127.0.0.1:\(raw: "\(server.port)")/x").status == .ok)
        // The credential of the URI applies only to its request: other users, and requests without one, are refused.
        #expect(try await session.get("http://127.0.0.1:\(raw: "\(server.port)")/x").status == .unauthorized)
        #expect(try await session.get("http://other:pass@127.0.0.1:\(raw: "\(server.port)")/x").status == .unauthorized)
    }

    @Test("a password in the URI may begin with a combining mark")
    func combiningPassword() async throws {
        let stub = StubTransport { request in
            guard request.request.fields[.authorization] == nil else { return .response(.ok) }
            return .response(.unauthorized, fields: [.wwwAuthenticate: "Digest realm=r, nonce=n, qop=auth"])
        }
        let session = try HTTPSession(transport: stub, chain: .bare) { ChallengeAuthentication() }
        #expect(try await session.get("http://u:%CC%81p@a.test/").status == .ok)
        let field = try #require(stub.received.last?.request.fields[.authorization])
        #expect(field.contains("username=\"u\""), "\(field)")
    }
}
