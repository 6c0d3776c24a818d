import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

/// Authentication that libcurl performs itself. A server simulates the steps of NTLM without checking them; Negotiate
/// has no Kerberos here, so only its failure is tested.
@Suite("NTLM and Negotiate", .endsServers, .timeLimit(.minutes(1)))
struct EngineAuthenticationTests {
    /// A Type 2 message: signature, type, an empty target name, flags (NTLM and Unicode), a challenge of eight bytes.
    private static let challenge = "TlRMTVNTUAACAAAAAAAAADgAAAABAgAAASNFZ4mrze8AAAAAAAAAAAAAAAA4AAAA"

    /// A server that requires NTLM, and accepts the third message on the connection of the first.
    private func server(accepting isAccepting: Bool = true) async throws -> RawServer {
        try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                let length = line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
                let body = String(decoding: try await connection.readExactly(length), as: UTF8.self)
                let step =
                    head.contains("Authorization: NTLM TlRMTVNTUAAD")
                    ? 3 : head.contains("Authorization: NTLM TlRMTVNTUAAB") ? 1 : 0
                if step == 3 && isAccepting {
                    try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                } else {
                    let value = step == 1 ? "NTLM \(Self.challenge)" : "NTLM"
                    try await connection.write(
                        "HTTP/1.1 401 No\r\nWWW-Authenticate: \(value)\r\nContent-Length: 4\r\n\r\nasks")
                }
            }
        }
    }

    private func session(_ server: RawServer, _ credential: Credential) throws -> HTTPSession {
        var link = ChallengeAuthentication(try Credential.Scoped(server.url(), credential))
        link.schemes.formUnion([.ntlm, .negotiate])
        let made = link
        var configuration = SessionConfiguration()
        configuration.timeouts.idle = .seconds(10)
        return try HTTPSession(configuration: configuration, chain: .bare) { made }
    }

    @Test(
        "the steps of NTLM are invisible to the caller, and a body is sent with the last step",
        .enabled(if: Engine.hasNTLM))
    func ntlm() async throws {
        let server = try await server()
        let session = try session(server, .password(user: "user", password: "pass"))
        let response = try await session.post(.raw(server.url()), .body(.string("body")))
        #expect(response.status == .ok)
        #expect(try await response.body.collect(upTo: 10) == Array("body".utf8))
        let again = try await session.get(.raw(server.url()))
        #expect(again.status == .ok)
    }

    @Test(
        "a request that an inner link sends to another origin carries no NTLM credential", .enabled(if: Engine.hasNTLM))
    func hops() async throws {
        struct Elsewhere: CurlewMiddleware {
            let url: String
            func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
                -> CurlewResponse
            {
                let response = try await next(request)
                guard response.status == .ok else { return response }
                var request = request
                request.uri = try CurlewURI(url)
                return try await next(request)
            }
        }
        let server = try await server()
        let other = try await MockServer.start { _ in MockResponse(status: .unauthorized) }
        let url = other.url()
        var link = ChallengeAuthentication(
            try Credential.Scoped(server.url(), .password(user: "user", password: "pass")))
        link.schemes = [.ntlm]
        let made = link
        let session = try HTTPSession(configuration: SessionConfiguration(), chain: .bare) {
            made
            Elsewhere(url: url)
        }
        #expect(try await session.get(.raw(server.url())).status == .unauthorized)
        #expect(await other.takeRequest()?.fields[.authorization] == nil)
    }

    @Test("a user rejected by NTLM gets the 401", .enabled(if: Engine.hasNTLM))
    func refused() async throws {
        let server = try await server(accepting: false)
        let response = try await session(server, .password(user: "user", password: "pass")).get(.raw(server.url()))
        #expect(response.status == .unauthorized)
        #expect(try await response.body.collect(upTo: 10) == Array("asks".utf8))
    }

    @Test("a libcurl without NTLM is a clear error", .enabled(if: !Engine.hasNTLM))
    func missing() async throws {
        let server = try await server()
        let session = try session(server, .password(user: "user", password: "pass"))
        let error = await curlewError { _ = try await session.get(.raw(server.url())) }
        #expect(error?.code == .unsupported && error?.message.contains("NTLM") == true)
    }

    @Test("Negotiate without a ticket ends with the 401 or an error")
    func negotiate() async throws {
        let server = try await rawAnswer(
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 4\r\n\r\nasks")
        do {
            let response = try await session(server, .ticket).get(.raw(server.url()))
            #expect(response.status == .unauthorized)
        } catch let error as CurlewError {
            #expect([ErrorCode.unacceptableStatus, .unsupported, .engineFailed].contains(error.code), "\(error)")
        }
    }
}
