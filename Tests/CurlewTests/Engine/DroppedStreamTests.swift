import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("A dropped HTTP/2 stream", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct DroppedStreamTests {
    private static let piece = Array("curlews whistle over the marsh, over the marsh they whistle".utf8)

    /// A server with an endless body of small pieces at `/endless`, and a session for it.
    private func stage(_ usesTLS: Bool) async throws -> (MockServer, HTTPSession) {
        var configuration = MockServer.Configuration()
        let certificate = try HeldCertificate.localhost()
        if usesTLS { configuration.tls = ServerTLS([certificate]) }
        let server = try await MockServer.start(configuration) { request in
            guard request.path == "/endless" else { return MockResponse(body: "small") }
            return MockResponse(body: .stream { writer in while true { try await writer.write(Self.piece) } })
        }
        let session = try makeSession {
            $0.versionPolicy = usesTLS ? .negotiated : .http2PriorKnowledge
            if usesTLS { $0.security = .anchors(pem: certificate.certificatePEM) }
        }
        return (server, session)
    }

    /// Requests the endless body and drops it after this number of chunks.
    private func read(_ count: Int, of url: String, _ session: HTTPSession) async throws {
        let response = try await session.get(.raw(url))
        #expect(response.version == .http2)
        var iterator = response.body.makeAsyncIterator()
        for _ in 0..<count { #expect(try await iterator.next()?.isEmpty == false) }
    }

    @Test(
        "a dropped stream of small chunks leaves the session usable for the next request", arguments: [0, 1, 20],
        [false, true])
    func smallPieces(_ chunks: Int, _ usesTLS: Bool) async throws {
        let (server, session) = try await stage(usesTLS)
        for _ in 0..<3 {
            try await read(chunks, of: server.url("/endless"), session)
            #expect(try await session.fetch(server.url("/small")) == Array("small".utf8))
        }
    }

    @Test("a server receives the reset of a dropped stream, though no other request follows", arguments: [false, true])
    func told(_ usesTLS: Bool) async throws {
        let (server, session) = try await stage(usesTLS)
        try await read(1, of: server.url("/endless"), session)
        // The server's writes fail from now on; libcurl from 8.15 on sends the reset and keeps the connection.
        if Engine.keepsResetsBack { try await server.waitForConnections(open: 0) }
        // The request is not repeatable, so it must not use the rest of the connection.
        let response = try await session.send(.post, .raw(server.url("/small")), .body(.bytes([1])))
        #expect(try await response.body.collect(upTo: 100) == Array("small".utf8))
        #expect(try await session.fetch(server.url("/small")) == Array("small".utf8))
    }

    @Test("several streams that are dropped at once do not delay later requests", arguments: [false, true])
    func together(_ usesTLS: Bool) async throws {
        let (server, session) = try await stage(usesTLS)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { try await read(20, of: server.url("/endless"), session) } }
            try await group.waitForAll()
        }
        #expect(try await session.fetch(server.url("/small")) == Array("small".utf8))
    }

    @Test("dropping a stream ends no other stream of its connection, paused or not")
    func siblings() async throws {
        let (server, session) = try await stage(true)
        _ = try await session.fetch(server.url("/small"))
        let held = try await session.get(.raw(server.url("/endless")))
        try await read(1, of: server.url("/endless"), session)
        #expect(try await session.fetch(server.url("/small")) == Array("small".utf8))
        var iterator = held.body.makeAsyncIterator()
        for _ in 0..<100 { #expect(try await iterator.next()?.isEmpty == false) }
        #expect(server.connectionCounts.accepted == 1)
    }
}
