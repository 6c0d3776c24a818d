import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import Curlew

@Suite("A body that ends with its TLS connection", .noLeaks, .timeLimit(.minutes(2)))
struct TruncationTests {
    enum End: CaseIterable { case announced, cut, reset }

    private func fetch(_ answer: String, _ end: End) async throws -> Result<[UInt8], CurlewError> {
        let certificate = try HeldCertificate.localhost()
        let server = try await RawServer.start(tls: ServerTLS([certificate])) { connection in
            _ = try await connection.readHead()
            try await connection.write(answer)
            switch end {
            case .announced: await connection.close()
            case .cut: await connection.closeWithoutNotify()
            case .reset: await connection.reset()
            }
        }
        let session = try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            $0.versionPolicy = .http11
        }
        let result: Result<[UInt8], CurlewError>
        do {
            result = .success(try await session.fetch(server.url()))
        } catch let error as CurlewError {
            result = .failure(error)
        }
        await session.shutdown()
        await server.shutdown()
        return result
    }

    private static let withoutLength = [
        "HTTP/1.1 200 OK\r\n\r\nbody", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody", "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nbody",
    ]

    @Test("a body without a length is whole after a close_notify", arguments: withoutLength)
    func announced(_ answer: String) async throws {
        let body = try await fetch(answer, .announced).get()
        #expect(answer.hasSuffix(String(decoding: body, as: UTF8.self)))
    }

    @Test(
        "a body without a length is truncated if its connection ends without a close_notify", arguments: withoutLength,
        [End.cut, .reset])
    func cut(_ answer: String, _ end: End) async throws {
        guard case .failure(let error) = try await fetch(answer, end) else {
            Issue.record("a truncated body passed for whole")
            return
        }
        #expect([.responseTruncated, .connectionLost].contains(error.code))
    }

    @Test(
        "a body whose length is known needs no close_notify",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ])
    func delimited(_ answer: String) async throws {
        #expect(try await fetch(answer, .cut).get() == (answer.contains("body") ? Array("body".utf8) : []))
    }
}
