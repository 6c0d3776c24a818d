import Curlew
import CurlewTesting
import CurlewWebSockets
import Foundation
import SeededNumbers
import Testing

/// WebSockets over sockets to independent servers: websockets and wsproto for Python, also through nginx.
///
/// `make test-websockets` installs the servers and sets `CURLEW_WEBSOCKET_PYTHON`.
@Suite("WebSockets of independent servers", .serialized, .timeLimit(.minutes(5)))
struct LiveServerTests {
    private static let python = ProcessInfo.processInfo.environment["CURLEW_WEBSOCKET_PYTHON"]

    private struct Server: Decodable {
        let name: String
        let port: Int
        let tls: Bool
        var path: String?
    }

    /// The process of `live_servers.py`.
    private final class Servers {
        let all: [Server]
        let certificate: HeldCertificate
        private let process = Process()
        private let input = Pipe()
        private let file: URL

        init(python: String) throws {
            certificate = try HeldCertificate.localhost()
            file = URL(filePath: "/tmp/curlew-websockets-\(UInt32.random(in: 0 ... .max)).pem")
            try Data((certificate.privateKeyPEM + certificate.certificatePEM).utf8).write(to: file)
            let output = Pipe()
            process.executableURL = URL(filePath: python)
            process.arguments = [
                URL(filePath: #filePath).deletingLastPathComponent().appending(path: "live_servers.py").path(),
                file.path(),
            ]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            var line = Data()
            while line.last != 0x0A {
                let more = output.fileHandleForReading.availableData
                guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
                line += more
            }
            all = try JSONDecoder().decode([Server].self, from: line)
        }

        deinit {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
            try? FileManager.default.removeItem(at: file)
        }

        func session(to server: Server) throws -> HTTPSession {
            let scheme = server.tls ? "https" : "http"
            return try makeSession(
                baseURL: server.path == nil ? "\(scheme)://127.0.0.1:\(server.port)/" : "http://nginx.test/"
            ) {
                $0.security = .anchors(pem: certificate.certificatePEM)
                if let path = server.path { $0.route.unixSocket = path }
            }
        }
    }

    private static let offers: [CurlewWebSocket.Compression?] = [
        nil, CurlewWebSocket.Compression(),
        CurlewWebSocket.Compression(
            clientKeepsContext: false, serverKeepsContext: false, clientWindow: .bits11, serverWindow: .bits10),
    ]

    @Test("independent servers echo messages of every size in any fragments", .enabled(if: python != nil))
    func echo() async throws {
        let servers = try Servers(python: try #require(Self.python))
        var numbers = SeededNumbers(seed: 6455)
        var exchanges = 0
        for server in servers.all {
            let session = try servers.session(to: server)
            for offer in Self.offers {
                let options = CurlewWebSocket.Options(
                    limits: CurlewWebSocket.Limits(ratio: nil), compression: offer,
                    fragmentSize: ByteSize([1000, 65536][exchanges % 2]))
                let ending = try await session.webSocket("", protocols: ["chat"], options: options) { socket in
                    #expect(socket.subprotocol == "chat", "\(server.name)")
                    var messages = socket.messages.makeAsyncIterator()
                    for fragments in [1, 3, 50] {
                        try await socket.send(.text("fragments \(fragments)"))
                        for size in [0, 1, 125, 126, 65_535, 65_536, 200_000] {
                            let bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: numbers.next() & 0x1F) + 0x41 }
                            let text = CurlewWebSocket.Message.text(String(decoding: bytes, as: UTF8.self))
                            for message in [text, .binary(bytes)] {
                                try await socket.send(message)
                                let answer = try await messages.next()
                                #expect(answer == message, "\(server.name), \(size) bytes in \(fragments) fragments")
                                exchanges += 1
                            }
                        }
                    }
                }
                #expect(ending.isClean, "\(server.name)")
                #expect(ending.code == .normalClosure)
            }
            await session.shutdown()
        }
        #expect(exchanges >= 200)
    }

    @Test("pings and closing handshakes work with independent servers", .enabled(if: python != nil))
    func closing() async throws {
        let servers = try Servers(python: try #require(Self.python))
        for server in servers.all {
            let session = try servers.session(to: server)
            for code in [1000, 1001, 1008, 1011, 3000, 4999] as [UInt16] {
                let ending = try await session.webSocket("", protocols: ["chat"]) { socket in
                    #expect(try await socket.ping() > .zero)
                    try await socket.send(.text("close \(code) Grüße"))
                    for try await _ in socket.messages {}
                }
                #expect(ending.cause == .closedByPeer, "\(server.name)")
                #expect(ending.received?.code.rawValue == code)
                #expect(ending.received?.reason == "Grüße")
                #expect(ending.isClean)
            }
            let own = try await session.webSocket("", protocols: ["chat"]) { socket in
                try await socket.close(CurlewWebSocket.CloseCode(rawValue: 4000), reason: "bye")
                for try await _ in socket.messages {}
            }
            #expect(own.isClean, "\(server.name)")
            #expect(own.code.rawValue == 4000)
            await session.shutdown()
        }
    }
}
