internal import Curlew
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTPTypes

/// A connection from a client, with features that Hummingbird's routes lack:
///
/// - A client that disconnects cancels its upstream request. A client that closes its half of the connection while it
///   waits counts as disconnected, as in nginx.
/// - An answer to HEAD without a length gets no chunks: NIO's encoder does not know the method of the request.
final class ClientConnection: ChannelDuplexHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private struct State {
        /// The methods of the unanswered requests, oldest first.
        var methods: [HTTPRequest.Method] = []
        var isGone = false
        /// The upstream exchange of the oldest request.
        var task: TaskActor?
    }

    private let clients: ClientConnections
    private let state = NIOLockedValueBox(State())

    init(_ clients: ClientConnections) { self.clients = clients }

    /// Cancels an exchange if the client disconnects before the answer to its oldest request was sent.
    func cancelWhenGone(_ task: TaskActor) {
        let isGone = state.withLockedValue { state in
            state.task = task
            return state.isGone
        }
        if isGone { task.cancel() }
    }

    private func leave() {
        let task = state.withLockedValue { state in
            state.isGone = true
            return state.task
        }
        task?.cancel()
    }

    func handlerAdded(context: ChannelHandlerContext) { clients[context.channel] = self }

    func handlerRemoved(context: ChannelHandlerContext) { clients[context.channel] = nil }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            state.withLockedValue { $0.methods.append(head.method) }
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent, state.withLockedValue({ !$0.methods.isEmpty }) {
            leave()
            return context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let method = state.withLockedValue { state in
            state.task = nil
            return state.methods.isEmpty ? nil : state.methods.removeFirst()
        }
        guard method == .head else { return context.write(data, promise: promise) }
        // The empty buffer fulfils the promise in order.
        context.write(wrapOutboundOut(.body(ByteBuffer())), promise: promise)
    }
}

/// The client connections by their channels.
final class ClientConnections: Sendable {
    private let connections = NIOLockedValueBox<[ObjectIdentifier: ClientConnection]>([:])

    subscript(channel: any Channel) -> ClientConnection? {
        get { connections.withLockedValue { $0[ObjectIdentifier(channel)] } }
        set { connections.withLockedValue { $0[ObjectIdentifier(channel)] = newValue } }
    }
}
