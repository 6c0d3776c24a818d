import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("The opening handshake of a WebSocket over a socket", .noLeaks, .serialized, .timeLimit(.minutes(2)))
struct WebSocketHandshakeTests {
    @Test("a response with a faulty handshake is an error with the response", arguments: Fault.all)
    func faults(_ fault: Fault) async throws {
        let server = try await RawServer.start { connection in
            _ = try await MockWebSocket.accept(connection) { response in fault.change(&response) }
            try await connection.closed
        }
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError { try await session.webSocket("") { _ in } }
        #expect(error?.code == fault.code)
        if fault.code == .webSocketHandshakeFailed { #expect(error?.status?.code == 101) }
        try await server.waitForConnections { $0.open == 0 }
        await session.shutdown()
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var code = ErrorCode.webSocketHandshakeFailed
        let change: @Sendable (inout HTTPResponse) -> Void

        static let all = [
            Fault(testDescription: "another accept value") { $0.headerFields[.secWebSocketAccept] = "AAAA" },
            Fault(testDescription: "no accept value") { $0.headerFields[.secWebSocketAccept] = nil },
            Fault(testDescription: "no Connection", code: .invalidResponse) { $0.headerFields[.connection] = nil },
            Fault(testDescription: "no Upgrade", code: .invalidResponse) { $0.headerFields[.upgrade] = nil },
            Fault(testDescription: "a subprotocol") { $0.headerFields[.secWebSocketProtocol] = "chat" },
            Fault(testDescription: "an extension") { $0.headerFields[.secWebSocketExtensions] = "permessage-deflate" },
        ]
    }

    @Test("a refusal is an error with the response and the beginning of its body")
    func refusal() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nno way")
        }
        let session = try makeSession(baseURL: server.url())
        let error = await curlewError { try await session.webSocket("rooms/1") { _ in } }
        #expect(error?.code == .webSocketHandshakeFailed)
        #expect(error?.status == .forbidden)
        #expect(error?.bodyPrefix == Array("no way".utf8))
        #expect(error?.uri?.path == "/rooms/1")
        await session.shutdown()
    }

    @Test("a handshake answers a challenge and sends cookies")
    func chain() async throws {
        let server = try await RawServer.start { connection in
            if connection.index == 0 {
                _ = try await connection.readHead()
                return try await connection.write(
                    "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
                )
            }
            let socket = try await MockWebSocket.accept(connection)
            #expect(socket.request.headerFields[.cookie] == "a=b")
            #expect(socket.request.headerFields[.authorization]?.hasPrefix("Basic ") == true)
            try await socket.echo()
        }
        var options = StandardChain.Options()
        options.authentication = ChallengeAuthentication(
            try Credential.Scoped(server.url(), .password(user: "u", password: "p")))
        options.cookies = CookieHandling()
        let session = try makeSession(baseURL: server.url(), chain: options)
        let ending = try await session.webSocket("") { _ in }
        #expect(ending.isClean)
        await session.shutdown()
    }

    @Test("the chain retries a handshake after a lost connection")
    func retry() async throws {
        let server = try await RawServer.start { connection in
            if connection.index == 0 {
                _ = try await connection.readHead()
                return await connection.reset()
            }
            try await MockWebSocket.accept(connection).echo()
        }
        let session = try makeSession(baseURL: server.url(), chain: StandardChain.Options())
        let ending = try await session.webSocket("") { _ in }
        #expect(ending.isClean)
        #expect(server.accepted == 2)
        await session.shutdown()
    }

    @Test("each connection has a new key, including those of a retry and of a challenge")
    func keys() async throws {
        let keys = Guarded<[String]>([])
        let server = try await RawServer.start { connection in
            let head = try await connection.readHead()
            let key = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
            keys.withLock { $0.append(String(key ?? "")) }
            switch connection.index {
            case 0: await connection.reset()
            case 1:
                try await connection.write(
                    "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            default: try await connection.write("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
            }
        }
        var options = StandardChain.Options()
        options.authentication = ChallengeAuthentication(
            try Credential.Scoped(server.url(), .password(user: "u", password: "p")))
        let session = try makeSession(baseURL: server.url(), chain: options)
        let error = await curlewError { try await session.webSocket("") { _ in } }
        #expect(error?.status == .forbidden)
        #expect(keys.withLock { Set($0).count } == 3)
        #expect(keys.withLock { $0.allSatisfy { $0.utf8.count == 43 } })
        await session.shutdown()
    }

    @Test("a cache does not answer a handshake")
    func cache() async throws {
        let server = try await RawServer.start { connection in
            if connection.index == 0 {
                _ = try await connection.readHead()
                return try await connection.write(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            }
            try await MockWebSocket.accept(connection).echo()
        }
        let session = try makeSession(baseURL: server.url(), chain: .caching())
        #expect(try await session.get("prices").body.collect(upTo: 10) == Array("ok".utf8))
        #expect(try await session.get("prices").cacheStatus == .hit)
        let ending = try await session.webSocket("prices") { _ in }
        #expect(ending.isClean)
        await session.shutdown()
    }

    @Test("an invalid handshake is refused before a byte is sent")
    func unsendable() async throws {
        let session = try makeSession(baseURL: "http://127.0.0.1:1/")
        var codes: [ErrorCode?] = []
        codes.append(await curlewError { try await session.webSocket("", protocols: ["a", "a"]) { _ in } }?.code)
        codes.append(await curlewError { try await session.webSocket("", protocols: ["a b"]) { _ in } }?.code)
        codes.append(
            await curlewError {
                try await session.webSocket("", fields: [.secWebSocketKey: "x"]) { _ in }
            }?.code)
        codes.append(
            await curlewError {
                try await session.webSocket("", options: CurlewWebSocket.Options(closeTimeout: .zero)) { _ in }
            }?.code)
        codes.append(
            await curlewError {
                try await session.webSocket("", options: CurlewWebSocket.Options(sendBufferSize: 0)) { _ in }
            }?.code)
        #expect(codes.allSatisfy { $0 == .invalidRequest })
        await session.shutdown()
    }
}
