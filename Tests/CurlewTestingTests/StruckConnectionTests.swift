import Curlew
import CurlewTestingTraits
import Testing

@testable import CurlewTesting

@Suite("Connections that a fault ends", .noLeaks, .timeLimit(.minutes(1)))
struct StruckConnectionTests {
    @Test(
        "a connection is released with the streams that it has not served",
        arguments: [Fault.Effect.stall, .close, .reset])
    func release(_ effect: Fault.Effect) async throws {
        let certificate = try HeldCertificate.localhost()
        var settings = MockServer.Configuration()
        settings.protocols = [.http2]
        settings.tls = ServerTLS([certificate])
        let server = try await MockServer.start(settings) { _ in MockResponse() }
        try server.inject(Fault(.afterHandshake, effect))
        var configuration = SessionConfiguration()
        configuration.security = .anchors(pem: certificate.certificatePEM)
        configuration.timeouts.idle = .seconds(1)
        let session = try HTTPSession(configuration: configuration, chain: .bare)
        async let accepted = server.listener.connections.state.take { WeakChannel($0.open.values.first?.channel) }
        await #expect(throws: CurlewError.self) { try await session.get(.raw(server.url())) }
        let channel = try await accepted
        try await eventually("the channel is released") { channel.isReleased }
        await session.shutdown()
        await server.shutdown()
    }
}

/// `@unchecked Sendable`: a weak reference may be read from any thread.
private final class WeakChannel: @unchecked Sendable {
    private weak var channel: AnyObject?

    init?(_ channel: AnyObject?) {
        guard let channel else { return nil }
        self.channel = channel
    }

    var isReleased: Bool { channel == nil }
}
