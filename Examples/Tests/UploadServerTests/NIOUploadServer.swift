import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload
import Synchronization

/// A server on `NIOResumableUpload`, of swift-nio-extras, which stores its uploads.
final class NIOUploadServer: Sendable {
    private let files = Mutex<[String: [UInt8]]>([:])
    private let context = Mutex<HTTPResumableUploadContext?>(nil)
    private let channel = Mutex<(any Channel)?>(nil)

    static func start() async throws -> NIOUploadServer {
        let server = NIOUploadServer()
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                    guard let context = server.context.withLock({ $0 }) else { return }
                    try pipeline.addHandler(
                        HTTPResumableUploadHandler(context: context, handlers: [Keeper(server: server)]))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.channel.withLock { $0 = channel }
        server.context.withLock { $0 = HTTPResumableUploadContext(origin: server.url("")) }
        return server
    }

    func url(_ path: String) -> String {
        "http://127.0.0.1:\(channel.withLock { $0?.localAddress?.port } ?? 0)\(path)"
    }

    /// The complete files by their paths.
    var received: [String: [UInt8]] { files.withLock { $0 } }

    func shutdown() async throws { try await channel.withLock { $0 }?.close() }

    /// Stores the body of an upload, which may consist of several requests.
    private final class Keeper: ChannelDuplexHandler {
        typealias InboundIn = HTTPRequestPart
        typealias OutboundIn = Never
        typealias OutboundOut = HTTPResponsePart

        private let server: NIOUploadServer
        private var path = ""
        private var bytes: [UInt8] = []

        init(server: NIOUploadServer) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let request):
                path = request.path ?? ""
                bytes = []
            case .body(let part): bytes += part.readableBytesView
            case .end:
                server.files.withLock { $0[path] = bytes }
                let head = HTTPResponse(status: .created, headerFields: [.contentLength: "4"])
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.write(wrapOutboundOut(.body(ByteBuffer(string: "kept"))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
