#if Service && TestKit
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import NIOCore
import Testing

@testable import CurlewCore
@testable import CurlewService

@Suite("A gateway passes upgrades on", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct ForwardedUpgradeTests {
    private static let switching =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Up: 1\r\n\r\n"

    /// A gateway over raw bytes, and its client.
    private struct Stage {
        let upstream: RawServer
        let gateway: RawServer
        let toUpstream: HTTPSession
        let client: HTTPSession
        /// The upstream's connection of the last answer.
        let stream = Guarded<HTTPSession.UpgradedStream?>(nil)

        init(
            tls: Bool = false, upgrades: Set<String> = ["echo"], _ handler: @escaping RawServer.Handler
        ) async throws {
            let certificate = try HeldCertificate.localhost()
            upstream = try await RawServer.start(
                tls: tls ? ServerTLS([certificate], applicationProtocols: ["http/1.1"]) : nil, handler: handler)
            var configuration = SessionConfiguration()
            configuration.security = .anchors(pem: certificate.certificatePEM)
            let session = try HTTPSession(baseURL: upstream.url(), configuration: configuration, chain: .bare)
            toUpstream = session
            var rules = try HTTPSession.Forwarding(named: "edge")
            rules.upgrades = upgrades
            gateway = try await RawServer.start { [rules, stream] connection in
                let head = try Self.request(try await connection.readHead())
                let nothing = AsyncStream<ByteBuffer> { $0.finish() }
                let answer = try await session.forward(head, body: nothing, as: rules)
                var text = "HTTP/1.1 \(answer.status.code) \(answer.status.reasonPhrase)\r\n"
                for field in answer.fields { text += "\(field.name.rawName): \(field.value)\r\n" }
                try await connection.write(text + "\r\n")
                guard answer.upgraded != nil else {
                    return try await answer.send {
                        try await connection.write(Array(buffer: $0))
                    } finish: { _ in
                    }
                }
                stream.withLock { $0 = answer.upgraded }
                let inbound = AsyncThrowingStream<ByteBuffer, any Error> {
                    try await connection.read().map { ByteBuffer(bytes: $0) }
                }
                try await answer.relay(inbound) {
                    try await connection.write(Array(buffer: $0))
                    try await connection.flush()
                } finish: {
                    try await connection.halfClose()
                }
            }
            client = try HTTPSession(baseURL: gateway.url(), configuration: SessionConfiguration(), chain: .bare)
        }

        private static func request(_ head: String) throws -> HTTPRequest {
            let lines = head.split(separator: "\r\n")
            let words = lines[0].split(separator: " ")
            var fields = HTTPFields()
            for line in lines.dropFirst() {
                let colon = try #require(line.firstIndex(of: ":"))
                let name = try #require(HTTPField.Name(String(line[..<colon])))
                fields.append(HTTPField(name: name, value: String(line[line.index(after: colon)...])))
            }
            // Servers with swift-http-types have the host in the authority.
            let authority = fields[.host]
            fields[.host] = nil
            return HTTPRequest(
                method: try #require(HTTPRequest.Method(String(words[0]))), scheme: nil, authority: authority,
                path: String(words[1]), headerFields: fields)
        }

        func shutdown() async {
            stream.withLock { $0 = nil }
            await client.shutdown()
            await gateway.shutdown()
            await toUpstream.shutdown()
            await upstream.shutdown()
        }
    }

    @Sendable private static func echo(_ connection: RawConnection) async throws {
        _ = try await connection.readHead()
        try await connection.write(switching)
        while let bytes = try await connection.read() { try await connection.write(bytes) }
    }

    @Test("a gateway relays bytes in both directions and the end of each side")
    func bothWays() async throws {
        let stage = try await Stage(Self.echo)
        try await stage.client.upgrade("socket?x=1", to: "echo") { stream in
            #expect(stream.response.fields[.init("X-Up")!] == "1")
            #expect(stream.response.fields[.via] == "1.1 edge")
            let sent = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            async let written: Void = {
                try await stream.write(sent)
                try await stream.finish()
            }()
            var received: [UInt8] = []
            for try await bytes in stream { received += bytes }
            try await written
            #expect(received == sent)
        }
        try await stage.upstream.waitForConnections { $0.accepted == 1 && $0.open == 0 }
        await stage.shutdown()
    }

    @Test("the upstream gets the client's upgrade with a gateway's fields and without hop-by-hop fields")
    func head() async throws {
        let heads = Guarded<[String]>([])
        let stage = try await Stage { connection in
            let head = try await connection.readHead()
            heads.withLock { $0.append(head) }
            try await connection.write(Self.switching)
        }
        try await stage.client.upgrade("a?b=c", to: "echo", fields: [.init("X-Mine")!: "1", .te: "trailers"]) { _ in }
        let head = heads.withLock { $0.first ?? "" }
        #expect(head.hasPrefix("GET /a?b=c HTTP/1.1\r\n"))
        #expect(head.contains("\r\nUpgrade: echo\r\n"))
        #expect(head.contains("\r\nConnection: Upgrade\r\n"))
        #expect(head.contains("\r\nX-Mine: 1\r\n"))
        #expect(head.contains("\r\nVia: 1.1 edge\r\n"))
        #expect(head.split(separator: "\r\n").count { $0.hasPrefix("Connection:") } == 1)
        await stage.shutdown()
    }

    @Test(
        "an upgrade that the rules do not admit is not forwarded", arguments: [[], ["h2c"], ["other"]] as [Set<String>])
    func unnamed(_ upgrades: Set<String>) async throws {
        let heads = Guarded<[String]>([])
        let stage = try await Stage(upgrades: upgrades) { connection in
            let head = try await connection.readHead()
            heads.withLock { $0.append(head) }
            try await connection.write("HTTP/1.1 426 No\r\nContent-Length: 2\r\n\r\nno")
        }
        let error = await curlewError { try await stage.client.upgrade("", to: "h2c") { _ in } }
        #expect(error?.code == .upgradeRefused)
        #expect(error?.status?.code == 426)
        #expect(error?.bodyPrefix == Array("no".utf8))
        #expect(heads.withLock { $0.allSatisfy { !$0.lowercased().contains("upgrade") } && $0.count == 1 })
        await stage.shutdown()
    }

    @Test("the answer of an upstream that refuses the upgrade is forwarded")
    func refused() async throws {
        let stage = try await Stage { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
        }
        let error = await curlewError { try await stage.client.upgrade("", to: "echo") { _ in } }
        #expect(error?.status == .forbidden)
        #expect(error?.bodyPrefix == Array("no".utf8))
        await stage.shutdown()
    }

    @Test("a client that does not read slows the upstream down", arguments: [false, true])
    func backPressure(_ isSecure: Bool) async throws {
        let total = 64
        let sent = Guarded(0)
        let stage = try await Stage(tls: isSecure) { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.switching)
            for index in 0..<total {
                try await connection.write([UInt8](repeating: UInt8(index), count: 1 << 20))
                sent.withLock { $0 = index + 1 }
            }
            await connection.close()
        }
        try await stage.client.upgrade("", to: "echo") { stream in
            var iterator = stream.makeAsyncIterator()
            var count = try await iterator.next()?.count ?? 0
            // The unsent bytes do not fit into the buffers of the systems.
            try await eventually("the gateway does not read") {
                await stage.stream.withLock { $0 }?.connection.isReadingPaused == true
            }
            #expect(sent.withLock { $0 } < total)
            while let bytes = try await iterator.next() { count += bytes.count }
            #expect(count == total << 20)
        }
        await stage.shutdown()
    }

    @Test("a client that disconnects ends the upstream's connection", arguments: [false, true], [false, true])
    func clientLeaves(_ isSecure: Bool, _ isReset: Bool) async throws {
        let stage = try await Stage(tls: isSecure) { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.switching)
            while try await connection.read() != nil {}
        }
        try await stage.client.upgrade("", to: "echo") { stream in
            try await stream.write([1])
            if isReset { stream.response.task?.cancel() }
        }
        try await stage.upstream.waitForConnections { $0.accepted == 1 && $0.open == 0 }
        await stage.shutdown()
    }

    @Test("a failure of the upstream's connection ends the client's connection")
    func upstreamBreaks() async throws {
        let stage = try await Stage { connection in
            _ = try await connection.readHead()
            try await connection.write(Self.switching)
            _ = try await connection.readExactly(1)
            await connection.reset()
        }
        let error = await curlewError {
            try await stage.client.upgrade("", to: "echo") { stream in
                try await stream.write([1])
                for try await _ in stream {}
                throw CurlewError(.connectionLost, "ended")
            }
        }
        #expect(error?.code == .connectionLost)
        try await stage.gateway.waitForConnections { $0.accepted == 1 && $0.open == 0 }
        await stage.shutdown()
    }

    /// The error that `body` throws.
    private func curlewError(_ body: () async throws -> Void) async -> CurlewError? {
        do {
            try await body()
            Issue.record("nothing was thrown")
        } catch let error as CurlewError {
            return error
        } catch {
            Issue.record("not a CurlewError: \(error)")
        }
        return nil
    }
}
#endif
