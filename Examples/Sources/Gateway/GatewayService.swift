public import Curlew
public import CurlewService
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// A reverse proxy: it forwards every request to one upstream.
///
/// The service runs until its task is cancelled, or until graceful shutdown: then it accepts no more connections, and
/// answers its running requests. Its session is a separate service, which precedes this one in the group.
public struct GatewayService: Service {
    let upstream: HTTPSession
    let rules: HTTPSession.Forwarding
    let port: Int
    let logger: Logger
    let onRunning: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - upstream: The session of the upstream, whose URL is the session's base.
    ///   - rules: The rules of forwarding.
    ///   - port: The port on 127.0.0.1; 0 chooses a free one.
    ///   - logger: Receives the service's log.
    ///   - onRunning: Called with the port once connections are accepted.
    public init(
        upstream: HTTPSession, rules: HTTPSession.Forwarding, port: Int, logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.upstream = upstream
        self.rules = rules
        self.port = port
        self.logger = logger
        self.onRunning = onRunning
    }

    public func run() async throws {
        let clients = ClientConnections()
        let route = CallbackResponder { [upstream, rules] (request: Request, context: GatewayContext) in
            let client = clients[context.channel]
            let answer = try await upstream.forward(
                request.head, body: request.body, from: context.channel.remoteAddress, as: rules,
                options: RequestOptions().setting(\.onTask) { client?.cancelWhenGone($0) })
            let body = answer.buffer.map { ResponseBody(byteBuffer: $0) }
            return Response(
                status: answer.status, headers: answer.fields,
                body: body
                    ?? ResponseBody { writer in
                        try await answer.send {
                            try await writer.write($0)
                        } finish: {
                            try await writer.finish($0)
                        }
                    })
        }
        let application = Application(
            responder: route,
            // A client that is silent in the middle of a request is disconnected.
            server: .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [ClientConnection(clients)], idleTimeout: .seconds(60))),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { [onRunning] channel in await onRunning(channel.localAddress?.port ?? 0) },
            logger: logger)
        try await application.run()
    }
}

/// The context of a request.
struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
