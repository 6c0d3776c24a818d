#if TestKit
internal import NIOCore

/// The event loop's side of a ``ChannelPort``.
final class PortHandler<Inbound: Sendable, Outbound: Sendable>: ChannelDuplexHandler {
    typealias InboundIn = Inbound
    typealias OutboundIn = Outbound
    typealias OutboundOut = Outbound

    private let state: Watched<ChannelPort<Inbound, Outbound>.State>

    init(state: Watched<ChannelPort<Inbound, Outbound>.State>) {
        self.state = state
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = Self.unwrapInboundIn(data)
        self.state.update { $0.elements.append(part) }
    }

    func read(context: ChannelHandlerContext) {
        let isHeld = self.state.update { state in
            state.readIsHeld = state.elements.count >= PortLimits.highWater
            return state.readIsHeld
        }
        if !isHeld { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent {
            self.state.update { $0.end = $0.end ?? .success(()) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.state.update { $0.end = $0.end ?? .failure(error) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.close()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.close()
    }

    private func close() {
        self.state.update { state in
            state.end = state.end ?? .success(())
            state.isClosed = true
        }
    }
}
#endif
