import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("Each fault from the client's and the server's side", .noLeaks, .timeLimit(.minutes(2)))
struct FaultMatrixTests {
    @Test(
        "each fault is observed by the client and recorded by the server, and both stay usable",
        arguments: FaultCase.possible)
    func possible(_ scene: FaultCase) async throws {
        let (server, session) = try await self.pair(scene.wire)
        try server.inject(scene.fault)
        let result = await self.call(session, server, scene)
        switch result {
        case .success(let body):
            #expect(scene.isSurvived)
            #expect(body == BytePattern.bytes(count: FaultCase.responseLength))
        case .failure(let error):
            #expect(!scene.isSurvived || scene.mayBeLost)
            #expect(scene.codes.contains(error.code), "\(error)")
            #expect(scene.stages.contains(error.stage), "\(error.stage)")
        }
        try await self.expectRecord(server, scene)
        try await self.expectUsable(session, server, scene)
    }

    @Test("an impossible fault is refused with the reason", arguments: FaultCase.impossible)
    func impossible(_ scene: FaultCase) async throws {
        let (server, session) = try await self.pair(scene.wire)
        let error = #expect(throws: TestKitError.self) { try server.inject(scene.fault) }
        #expect(error?.description.hasPrefix("\(scene.fault): ") == true)
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(server.committedFaults == [])
        try server.verify()
    }

    /// The result of a call that meets the fault; an endless call is cancelled.
    private func call(
        _ session: HTTPSession, _ server: MockServer, _ scene: FaultCase
    ) async -> Result<[UInt8], CurlewError> {
        let (heads, heard) = AsyncStream.makeStream(of: Void.self)
        let call = Task { () -> Result<[UInt8], CurlewError> in
            do {
                let response = try await session.post(.raw(server.url()), .body(.bytes(FaultCase.requestBody)))
                heard.yield()
                return .success(try await response.body.collect(upTo: .mebibytes(1)))
            } catch let error as CurlewError {
                return .failure(error)
            } catch {
                return .failure(CurlewError(.invalidRequest, "not an error of Curlew: \(error)"))
            }
        }
        try? await server.waitForFaults(1)
        if scene.isSilent {
            if scene.fault.trigger == .inResponseBody(after: 400) { for await _ in heads { break } }
            call.cancel()
        }
        return await call.value
    }

    /// Expects the server's record of the fault, and the request as far as it arrived.
    private func expectRecord(_ server: MockServer, _ scene: FaultCase) async throws {
        let index = scene.isOfConnection ? nil : 0
        let committed = server.committedFaults
        #expect(committed.map(\.fault) == [scene.fault])
        #expect(committed.first?.connectionIndex == 0)
        #expect(committed.first?.exchangeIndex == index)
        try server.verify()
        guard !scene.isOfConnection else { return #expect(server.requestCount == 0) }
        let request = try #require(await server.takeRequest())
        switch scene.fault.trigger {
        case .atRequestStart where !scene.isSurvived: #expect(request.bodyLength == 0 && !request.isComplete)
        case .inRequestBody(after: 500) where !scene.isSurvived: #expect(request.bodyLength >= 500)
        default: #expect(request.body == FaultCase.requestBody && request.isComplete)
        }
    }

    /// Expects a response to the next call of the same session, over a new connection if the fault has ended the old
    /// one.
    private func expectUsable(_ session: HTTPSession, _ server: MockServer, _ scene: FaultCase) async throws {
        let spoilsStream = scene.fault.effect == .resetStream(.cancel)
        // At the end of a response the client may not have noticed the state of its connection.
        if !spoilsStream { await session.session?.closeIdleConnections() }
        let response = try await session.get(.raw(server.url()))
        #expect(try await response.body.collect(upTo: .mebibytes(1)).count == FaultCase.responseLength)
        // From 8.12 on libcurl lets no request join a cleartext connection that has not returned an answer.
        let waitsForAnswer = scene.wire == .http2 && Engine.versionNumber >= 0x080C00
        let isKept = spoilsStream && !(waitsForAnswer && scene.precedesAnswer)
        #expect(server.connectionCounts.accepted == (isKept ? 1 : 2))
    }

    private static let certificate = Result { try HeldCertificate.localhost() }

    private func pair(_ wire: FaultCase.Wire) async throws -> (MockServer, HTTPSession) {
        let certificate = try Self.certificate.get()
        let configuration = MockServer.Configuration(
            tls: wire.usesTLS ? ServerTLS([certificate]) : nil,
            protocols: wire.isHTTP2 ? [.http2] : [.http11]
        )
        let server = try await MockServer.start(configuration) { request in
            _ = try await request.body.collect()
            return MockResponse(body: .pattern(count: FaultCase.responseLength))
        }
        var client = SessionConfiguration()
        client.security = .anchors(pem: certificate.certificatePEM)
        if wire == .http2 { client.versionPolicy = .http2PriorKnowledge }
        return (server, try HTTPSession(configuration: client, chain: .bare))
    }
}

extension FaultCase {
    /// True if the fault precedes the first byte of the answer.
    fileprivate var precedesAnswer: Bool {
        ![.inResponseBody(after: 400), .atResponseEnd].contains(fault.trigger)
    }
}
