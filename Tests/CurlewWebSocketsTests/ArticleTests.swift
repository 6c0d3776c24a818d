import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Testing

@testable import CurlewWebSockets

@Suite("The articles on WebSockets", .noLeaks, .serialized, .timeLimit(.minutes(1)))
struct ArticleTests {
    private func text(of path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test("the table of bounds has every bound of a WebSocket with its default")
    func bounds() throws {
        let options = CurlewWebSocket.Options()
        let limits = options.limits
        let code: [String: String] = [
            "CurlewWebSocket.Limits.messageSize": "\(limits.messageSize.bytes >> 20) MiB",
            "CurlewWebSocket.Limits.frameSize": "\(limits.frameSize.bytes >> 20) MiB",
            "CurlewWebSocket.Limits.ratio": "\(limits.ratio ?? 0) times",
            "CurlewWebSocket.Limits.ratioFreeSize": "\(limits.ratioFreeSize.bytes >> 20) MiB",
            "CurlewWebSocket.Options.receiveBufferSize": "\(options.receiveBufferSize.bytes >> 10) KiB",
            "CurlewWebSocket.Options.sendBufferSize": "\(options.sendBufferSize.bytes >> 10) KiB",
            "CurlewWebSocket.Options.fragmentSize": "\(options.fragmentSize.bytes >> 10) KiB",
            "CurlewWebSocket.Options.pingInterval": "\(options.pingInterval?.components.seconds ?? 0) s",
            "CurlewWebSocket.Options.pongTimeout": "\(options.pongTimeout.components.seconds) s",
            "CurlewWebSocket.Options.closeTimeout": "\(options.closeTimeout.components.seconds) s",
            "CurlewWebSocket.Options.idleTimeout": options.idleTimeout == nil ? "none" : "?",
        ]
        var unseen = Set(code.keys)
        for row in try text(of: "DocC/Curlew.docc/Bounds.md").split(separator: "\n")
        where row.hasPrefix("| `CurlewWebSocket.") {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let name = cells[0].trimmingCharacters(in: ["`"])
            guard name != "WebSocketSource.policy" else { continue }
            let expected = try #require(code[name], "the test does not know \(name)")
            #expect(cells[1].hasPrefix(expected), "\(name)")
            unseen.remove(name)
        }
        #expect(unseen.isEmpty)
    }

    @Test("the tests in the table of Autobahn's cases exist")
    func autobahn() throws {
        let article = try text(of: "DocC/Curlew.docc/WebSocket.md")
        let folders = ["Autobahn", "Frames", "Closing", "Sockets", "Compression"]
        let names = article.matches(of: /`(\w+Tests)\/(\w+)`/)
        #expect(names.count > 10)
        for name in names {
            let paths = ["", "Unit"].flatMap { kind in
                folders.map { "Tests/CurlewWebSockets\(kind)Tests/\($0)/\(name.1).swift" }
            }
            let source = paths.lazy.compactMap { try? text(of: $0) }.first
            #expect(source?.contains("func \(name.2)(") == true, "\(name.0)")
        }
    }

    @Test("the recipe and the first example of the article run")
    func examples() async throws {
        let server = try await MockWebSocketServer.start { socket in
            _ = try await socket.nextMessage()
            for text in ["one", "two"] { try await socket.send(.text(text)) }
            try await socket.close()
            _ = try await socket.receive()
        }
        let session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
        #expect(try await recipe(session, id: 7) == ["one", "two"])
        #expect(try await chat(session, room: 7).cause == .closedByPeer)
        await session.shutdown()
    }
}
