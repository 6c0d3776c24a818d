import CurlewTesting
import CurlewTestingTraits
import Testing

@testable import CurlewCore

@Suite("Connections that are closed while their server keeps its side open", .noLeaks, .timeLimit(.minutes(1)))
struct ClosingConnectionsTests {
    /// The way in which a server announces the end of a connection that it does not close.
    enum Announcement: CaseIterable { case connectionClose, goAway, goAwayInCleartext }

    @Test("the descriptor of a finished connection is closed", arguments: Announcement.allCases)
    func descriptors(_ announcement: Announcement) async throws {
        let certificate = try HeldCertificate.localhost()
        let isHTTP2 = announcement != .connectionClose
        let tls = ServerTLS([certificate], applicationProtocols: [isHTTP2 ? "h2" : "http/1.1"])
        let gate = Gate()
        let server = try await RawServer.start(tls: announcement == .goAwayInCleartext ? nil : tls) { connection in
            if isHTTP2 {
                let stream = try await connection.acceptHTTP2Request()
                try await connection.write(
                    .response(stream: stream, status: 200, fields: [("content-length", "2")]),
                    .data(stream: stream, Array("ok".utf8), endStream: true), .goAway(lastStream: stream, .noError))
            } else {
                _ = try await connection.readHead()
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            }
            try await gate.wait()
        }
        let session = try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            if announcement == .goAwayInCleartext { $0.versionPolicy = .http2PriorKnowledge }
        }
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        let before = openSockets()
        let count = 8
        for _ in 0..<count { #expect(try await session.fetch(server.url()) == Array("ok".utf8)) }
        #expect(server.accepted == count + 1)
        // The server's ends remain.
        try await eventually("the client's ends are closed") { openSockets() <= before + count }
        gate.open()
    }
}
