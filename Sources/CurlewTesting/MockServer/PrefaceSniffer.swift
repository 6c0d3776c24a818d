#if TestKit
internal import NIOCore

/// Distinguishes HTTP/2 from HTTP/1 on a cleartext connection by the client's first bytes (RFC 9113, section 3.4).
final class PrefaceSniffer: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let preface = Array("PRI * HTTP/2.0".utf8)

    private let layer: EventLoopPromise<HTTPLayer>
    private let install: (_ isHTTP2: Bool) throws -> HTTPLayer
    private var seen = ByteBuffer()
    private var isDecided = false

    init(layer: EventLoopPromise<HTTPLayer>, install: @escaping (_ isHTTP2: Bool) throws -> HTTPLayer) {
        self.layer = layer
        self.install = install
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isDecided else { return context.fireChannelRead(data) }
        var buffer = Self.unwrapInboundIn(data)
        self.seen.writeBuffer(&buffer)
        let start = self.seen.readableBytesView.prefix(Self.preface.count)
        let isPrefix = start.elementsEqual(Self.preface.prefix(start.count))
        if isPrefix && start.count < Self.preface.count { return }
        self.decide(isHTTP2: isPrefix, context: context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.layer.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.layer.fail(ChannelError.eof)
    }

    private func decide(isHTTP2: Bool, context: ChannelHandlerContext) {
        self.isDecided = true
        do {
            self.layer.succeed(try self.install(isHTTP2))
            context.fireChannelRead(Self.wrapInboundOut(self.seen))
            context.fireChannelReadComplete()
            self.seen = ByteBuffer()
        } catch {
            self.layer.fail(error)
            context.close(promise: nil)
        }
    }
}
#endif
