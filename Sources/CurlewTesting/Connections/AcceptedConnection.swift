#if TestKit
internal import CurlewPlatform
internal import NIOConcurrencyHelpers
internal import NIOCore

/// An accepted connection of a listener: its number, its channel, and the ways to end it.
final class AcceptedConnection: Sendable {
    let index: Int
    let channel: any Channel
    /// The sizes of the pieces of request bodies, for servers that parse HTTP.
    let chunks = ChunkLedger()
    private let handshake = NIOLockedValueBox<HandshakeRecord?>(nil)

    init(index: Int, channel: any Channel) {
        self.index = index
        self.channel = channel
    }

    /// The result of the TLS handshake; `nil` on a cleartext connection.
    var tls: HandshakeRecord? {
        get { self.handshake.withLockedValue { $0 } }
        set { self.handshake.withLockedValue { $0 = newValue } }
    }

    /// Closes as a well-behaved server does: over TLS, close_notify comes first.
    func close() {
        self.channel.close(promise: nil)
    }

    /// Sends FIN at once, without TLS's close_notify, and discards unsent bytes.
    func abort() {
        self.atSocket { $0.close(promise: nil) }
    }

    /// Sends RST: the peer's reads and writes fail.
    func reset() {
        guard let provider = self.channel as? any SocketOptionProvider else { return self.abort() }
        provider.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in self.abort() }
    }

    /// Ends this side's direction; the peer may still send. Over TLS the peer finds its stream truncated.
    func halfClose() async throws {
        if self.tls == nil {
            try await self.channel.close(mode: .output).get()
        } else {
            self.closeOutput()
        }
    }

    /// Sends FIN now, without TLS's close_notify.
    func closeOutput() {
        self.atSocket { $0.close(mode: .output, promise: nil) }
    }

    private func atSocket(_ body: @escaping @Sendable (ChannelHandlerContext) -> Void) {
        let channel = self.channel
        channel.eventLoop.execute {
            if let context = try? channel.pipeline.syncOperations.context(name: WirePoint.socket) {
                body(context)
            } else {
                channel.close(promise: nil)
            }
        }
    }
}
#endif
