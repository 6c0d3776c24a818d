import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The first answer of an HTTP/2 connection", .noLeaks, .timeLimit(.minutes(2)))
struct FirstAnswerTests {
    /// A server that answers `/slow` when the gate opens and other paths at once, and a session for it.
    private func stage(_ usesTLS: Bool, gate: AsyncStream<Void> = .finished) async throws -> (MockServer, HTTPSession) {
        var configuration = MockServer.Configuration()
        let certificate = try HeldCertificate.localhost()
        if usesTLS { configuration.tls = ServerTLS([certificate]) }
        let server = try await MockServer.start(configuration) { request in
            if request.path == "/slow" { for await _ in gate {} }
            return MockResponse(body: .string(request.target))
        }
        let session = try makeSession {
            $0.versionPolicy = usesTLS ? .negotiated : .http2PriorKnowledge
            if usesTLS { $0.security = .anchors(pem: certificate.certificatePEM) }
        }
        return (server, session)
    }

    @Test(
        "a first answer whose stream is reset does not delay later requests",
        arguments: [Fault.Effect.resetStream(.cancel), .resetStream(.internalError), .reset, .close], [false, true])
    func broken(_ effect: Fault.Effect, _ usesTLS: Bool) async throws {
        let (server, session) = try await stage(usesTLS)
        try server.inject(Fault(.atRequestStart, effect), at: .next)
        let error = await curlewError { _ = try await session.send(.post, .raw(server.url()), .body(.bytes([1]))) }
        #expect(error?.response == nil)
        var options = RequestOptions()
        options.totalTimeout = .seconds(20)
        for _ in 0..<3 { #expect(try await session.fetch(server.url("/b"), options: options) == Array("/b".utf8)) }
    }

    @Test("a slow first answer does not delay other requests", arguments: [false, true])
    func slow(_ usesTLS: Bool) async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let (server, session) = try await stage(usesTLS, gate: gate)
        let slow = Task { try await session.fetch(server.url("/slow")) }
        try await server.waitForRequests(1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    let body = try await session.fetch(server.url("/a"))
                    #expect(body == Array("/a".utf8))
                }
            }
            try await group.waitForAll()
        }
        #expect(try await session.fetch(server.url("/b")) == Array("/b".utf8))
        // From 8.12 on libcurl lets no request join a cleartext connection that has not returned an answer.
        let isShared = usesTLS || Engine.versionNumber < 0x080C00
        #expect(isShared ? server.connectionCounts.accepted == 1 : server.connectionCounts.accepted <= 4)
        opener.finish()
        #expect(try await slow.value == Array("/slow".utf8))
        #expect(try await session.fetch(server.url("/c")) == Array("/c".utf8))
    }
}

extension AsyncStream<Void> {
    /// A stream that has ended.
    fileprivate static var finished: AsyncStream<Void> { AsyncStream { nil } }
}
