import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import Curlew

@Suite("A connection that was switched to another protocol", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct UpgradeTests {
    static let switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

    /// Sends back the received bytes, until the client ends its side.
    @Sendable static func echo(_ connection: RawConnection) async throws {
        _ = try await connection.readHead()
        try await connection.write(switching)
        while let bytes = try await connection.read() { try await connection.write(bytes) }
    }

    @Test("bytes are exchanged in both directions over every route", arguments: Way.all)
    func ways(_ way: Way) async throws {
        let stage = try await WayStage(way, handler: Self.echo)
        let result = try await stage.session.upgrade("socket?x=1", to: "echo") { stream in
            #expect(stream.response.status.code == 101)
            #expect((stream.response.security != nil) == way.isSecure)
            var received: [UInt8] = []
            var iterator = stream.makeAsyncIterator()
            for round in 0..<20 {
                let sent = (0..<(round * 517 + 1)).map { UInt8(truncatingIfNeeded: $0 &+ round) }
                try await stream.write(sent)
                received = []
                while received.count < sent.count, let bytes = try await iterator.next() { received += bytes }
                #expect(received == sent)
            }
            return received.count
        }
        #expect(result == 19 * 517 + 1)
        #expect(stage.server.accepted == 1)
        await stage.session.shutdown()
        try await stage.server.waitForConnections { $0.open == 0 }
    }

    @Test("the head of the request has the usual fields and those of the upgrade")
    func head() async throws {
        let heads = Guarded<[String]>([])
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            heads.withLock { $0.append(head) }
            try await connection.write(Self.switching)
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

    @Test("bytes that arrive with the head are not lost", arguments: [1, 7, 4096])
    func eager(_ size: Int) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            let bytes = Array((Self.switching + "hello and goodbye").utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try await connection.write(Array(bytes[start..<min(bytes.count, start + size)]))
                if size < 100 { try await connection.flush() }
            }
        }
        let session = try makeSession(baseURL: server.url())
        let text = try await session.upgrade("", to: "echo") { stream in
            var text = ""
            for try await bytes in stream { text += String(decoding: bytes, as: UTF8.self) }
            return text
        }
        #expect(text == "hello and goodbye")
        await session.shutdown()
    }

    @Test("a writer waits for a slow peer, and the peer waits for a slow reader")
    func backPressure() async throws {
        let total = 24 << 20
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.switching)
            let chunk = [UInt8](repeating: 7, count: 1 << 20)
            for _ in 0..<24 { try await connection.write(chunk) }
            try await connection.halfClose()
            let count = try await connection.drain()
            #expect(count == total)
        }
        let session = try makeSession(baseURL: server.url())
        try await session.upgrade("", to: "echo") { stream in
            async let written: Void = {
                for _ in 0..<24 { try await stream.write([UInt8](repeating: 1, count: 1 << 20)) }
                try await stream.finish()
            }()
            var count = 0
            for try await bytes in stream {
                count += bytes.count
                #expect(bytes.count <= 1 << 20)
            }
            #expect(count == total)
            try await written
        }
        await session.shutdown()
    }

    @Test("a cancellation ends a write to a peer that never reads")
    func stuckWrite() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.switching)
            for await _ in gate {}
        }
        let session = try makeSession(baseURL: server.url())
        let (started, start) = AsyncStream.makeStream(of: HTTPSession.UpgradedStream.self)
        let task = Task {
            try await session.upgrade("", to: "echo") { stream in
                start.yield(stream)
                try await stream.write([UInt8](repeating: 1, count: 64 << 20))
            }
        }
        for await stream in started {
            try await eventually("the write waits") { await stream.connection.isWriteBlocked }
            break
        }
        task.cancel()
        let error = await curlewError { try await task.value }
        #expect(error?.code == .cancelled)
        open.finish()
        await session.shutdown()
    }

    @Test("no write is possible after a write that was cancelled in its middle", arguments: [Way.plain, .tls])
    func brokenOff(_ way: Way) async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let count = Guarded(0)
        let stage = try await WayStage(way) { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.switching)
            for await _ in gate {}
            var wrong = 0
            while let bytes = try? await connection.read() { wrong += bytes.count { $0 != 1 } }
            count.withLock { $0 = wrong }
        }
        try await stage.session.upgrade("", to: "echo") { stream in
            let task = Task { try await stream.write([UInt8](repeating: 1, count: 64 << 20)) }
            try await eventually("the write waits") { await stream.connection.isWriteBlocked }
            let waiting = Task { try await stream.write([2]) }
            task.cancel()
            let cancelled = await curlewError { try await task.value }
            #expect(cancelled?.code == .cancelled)
            let behind = await curlewError { try await waiting.value }
            #expect(behind?.code == .cancelled)
            let later = await curlewError { try await stream.write([2]) }
            #expect(later?.code == .cancelled)
            let end = await curlewError { try await stream.finish() }
            #expect(end?.code == (way.isSecure ? .unsupported : .cancelled))
        }
        open.finish()
        await stage.session.shutdown()
        try await stage.server.waitForConnections { $0.open == 0 }
        #expect(count.withLock { $0 } == 0)
    }

    @Test("the sending side cannot be ended after the connection has failed")
    func finishAfterFailure() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.switching)
            await connection.reset()
        }
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError {
            try await session.upgrade("", to: "echo") { stream in
                do {
                    for try await _ in stream {}
                } catch {}
                try await stream.finish()
            }
        }
        #expect(error?.code == .connectionLost)
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
            try await connection.write(Self.switching + "in")
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

    @Test("an upgraded connection counts towards the limits of connections until it is closed")
    func limits() async throws {
        let server = try await RawServer.start(handler: Self.echo)
        let session = try makeSession(baseURL: server.url()) {
            $0.connections.total = 2
            $0.timeouts.connectionWait = .milliseconds(300)
        }
        try await session.upgrade("", to: "echo") { first in
            try await first.write([1])
            try await session.upgrade("", to: "echo") { second in
                try await second.write([1])
                #expect(await session.session?.connectionCount() == 2)
                let error = await curlewError { try await session.upgrade("", to: "echo") { _ in } }
                #expect(error?.code == .connectionWaitTimeout)
            }
            try await session.upgrade("", to: "echo") { third in
                try await third.write([1])
            }
        }
        #expect(await session.session?.connectionCount() == 0)
        #expect(server.accepted == 3)
        await session.shutdown()
    }

    @Test("requests succeed over other connections beside an upgraded connection")
    func besideRequests() async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await RawServer.start(tls: ServerTLS([certificate], applicationProtocols: ["http/1.1"])) {
            connection in
            while true {
                let head = try await connection.readHead()
                guard head.contains("Upgrade: echo") else {
                    try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    continue
                }
                try await connection.write(Self.switching + "first")
                while let bytes = try await connection.read() { try await connection.write(bytes) }
                return
            }
        }
        let session = try makeSession(baseURL: server.url()) { $0.security = .anchors(pem: certificate.certificatePEM) }
        try await session.upgrade("", to: "echo") { stream in
            for _ in 0..<3 {
                // libcurl searches for dead connections once a second, and regards a connection with unread bytes as
                // dead.
                try await stream.write(Array("more".utf8))
                try await Task.sleep(for: .milliseconds(1100))
                #expect(try await session.get("").body.collect(upTo: 10) == Array("ok".utf8))
                try await session.upgrade("", to: "echo") { other in
                    var iterator = other.makeAsyncIterator()
                    let bytes = try await iterator.next()
                    #expect(bytes == Array("first".utf8))
                }
            }
            var text = ""
            for try await bytes in stream {
                text += String(decoding: bytes, as: UTF8.self)
                if text == "firstmoremoremore" { break }
            }
            #expect(text == "firstmoremoremore")
        }
        await session.shutdown()
    }

    @Test("the time limits of a request end with the head")
    func timeLimits() async throws {
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            guard !head.contains("GET /silent") else { return try await connection.closed }
            try await connection.write(Self.switching)
            try await Task.sleep(for: .milliseconds(900))
            try await connection.write("late")
        }
        let session = try makeSession(baseURL: server.url()) {
            $0.timeouts.idle = .milliseconds(400)
            $0.timeouts.total = .milliseconds(600)
            $0.timeouts.head = .milliseconds(300)
        }
        let error = await curlewError { try await session.upgrade("silent", to: "echo") { _ in } }
        #expect(error?.code == .headTimeout)
        let bytes = try await session.upgrade("", to: "echo") { stream in
            var iterator = stream.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(bytes == Array("late".utf8))
        await session.shutdown()
    }

    @Test("a shutdown waits for an upgraded connection and ends it at the deadline")
    func shutdown() async throws {
        let server = try await RawServer.start(handler: Self.echo)
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError {
            try await session.upgrade("", to: "echo") { stream in
                try await stream.write([1])
                let shutdown = Task { await session.shutdown(deadline: .milliseconds(200)) }
                for try await _ in stream {}
                await shutdown.value
            }
        }
        #expect(error?.code == .sessionInvalidated)
        try await server.waitForConnections { $0.open == 0 }
    }

    @Test("metrics and listeners include the exchange until the connection is closed")
    func observation() async throws {
        let server = try await RawServer.start(handler: Self.echo)
        let session = try makeSession(baseURL: server.url())
        let actor = try #require(session.session)
        var events = actor.events.makeAsyncIterator()
        try await session.upgrade("", to: "echo") { stream in
            try await stream.write([1, 2, 3])
            var iterator = stream.makeAsyncIterator()
            #expect(try await iterator.next() == [1, 2, 3])
            #expect(await actor.tasks().count == 1)
        }
        var last = await events.next()
        while let event = last, event.kind != .completed { last = await events.next() }
        let metrics = try #require(last?.metrics?.last)
        #expect(last?.error == nil)
        #expect(metrics.sentBodyBytes == 3)
        #expect(metrics.receivedBodyBytes == 3)
        #expect(metrics.sentFieldBytes > 50)
        #expect(metrics.receivedHeadBytes == Self.switching.utf8.count)
        #expect(metrics.firstByte != nil)
        #expect(metrics.remotePort == server.port)
        #expect(await actor.tasks().isEmpty)
        await session.shutdown()
    }

    @Test("an error of the closure closes the connection and is the cause of the thrown error")
    func closureError() async throws {
        struct Failure: Error {}
        let server = try await RawServer.start(handler: Self.echo)
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError {
            try await session.upgrade("", to: "echo") { _ in throw Failure() }
        }
        #expect(error?.code == .foreignFailure)
        #expect(error?.underlying is Failure)
        try await server.waitForConnections { $0.open == 0 }
        await session.shutdown()
    }

    @Test("a reset of the connection ends reading and writing with an error")
    func reset() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.switching)
            _ = try await connection.readExactly(1)
            await connection.reset()
        }
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError {
            try await session.upgrade("", to: "echo") { stream in
                try await stream.write([1])
                for try await _ in stream {}
            }
        }
        #expect(error?.code == .connectionLost)
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
        let server = try await RawServer.start(tls: ServerTLS([certificate]), handler: Self.echo)
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
