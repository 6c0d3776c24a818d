#if TestKit
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Adds TLS to a new connection's pipeline, and builds the layers above it when the handshake is complete.
struct TLSAcceptor {
    let connection: AcceptedConnection
    let context: NIOSSLContext

    func install<Installed: Sendable>(
        _ installed: EventLoopPromise<Installed>,
        _ install: @escaping @Sendable (AcceptedConnection) throws -> Installed
    ) throws {
        let pipeline = self.connection.channel.pipeline.syncOperations
        let connection = self.connection
        let context = self.context
        connection.tls = HandshakeRecord()
        let sniff = SNIHandler { result in
            connection.channel.eventLoop.makeCompletedFuture {
                if case .hostname(let name) = result { connection.tls?.serverName = name }
                let pipeline = connection.channel.pipeline.syncOperations
                // The TLS handler is added right after the sniffer, which then leaves the pipeline and replays the
                // bytes it has read.
                let sniffer = try pipeline.handler(type: ByteToMessageHandler<SNIHandler>.self)
                try pipeline.addHandler(NIOSSLServerHandler(context: context), position: .after(sniffer))
            }
        }
        try pipeline.addHandler(ByteToMessageHandler(sniff))
        try pipeline.addHandler(HandshakeHandler(connection: connection, installed: installed, install: install))
        try pipeline.addHandler(WirePoint(), name: WirePoint.plain)
    }
}

/// Waits for the end of the handshake, records its result, and finishes the pipeline in the same turn of the loop. No
/// byte can then arrive before a handler exists for it.
private final class HandshakeHandler<Installed: Sendable>: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: AcceptedConnection
    private let installed: EventLoopPromise<Installed>
    private let install: @Sendable (AcceptedConnection) throws -> Installed

    init(
        connection: AcceptedConnection,
        installed: EventLoopPromise<Installed>,
        install: @escaping @Sendable (AcceptedConnection) throws -> Installed
    ) {
        self.connection = connection
        self.installed = installed
        self.install = install
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.handshakeCompleted(let negotiated)) = event as? TLSUserEvent {
            self.note(negotiated, context: context)
            do {
                self.installed.succeed(try self.install(self.connection))
            } catch {
                self.installed.fail(error)
                context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.installed.fail(error)
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.installed.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.installed.fail(ChannelError.eof)
    }

    private func note(_ negotiated: String?, context: ChannelHandlerContext) {
        let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)
        var record = self.connection.tls ?? HandshakeRecord()
        record.applicationProtocol = negotiated
        record.version =
            switch handler?.tlsVersion {
            case .tlsv13: "TLSv1.3"
            case .tlsv12: "TLSv1.2"
            default: nil
            }
        record.clientCertificateDER = try? handler?.peerCertificate?.toDERBytes()
        self.connection.tls = record
    }
}
#endif
