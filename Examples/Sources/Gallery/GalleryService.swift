internal import AsyncAlgorithms
public import Curlew
internal import CurlewImages
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// A service with a page that shows thumbnails of remote images as they arrive.
///
/// - `GET /` is the page.
/// - `GET /events?url=…&url=…` streams the progress of the images as server-sent events: `progress`, `part` for a
///   partial image, and, once each, `image` or `failure`.
/// - `GET /thumbnail?url=…` is an image as a JPEG of at most 200 pixels.
/// - `GET /samples/…` are images of the service itself, which the page shows at first.
///
/// Clients that name URLs for a server to fetch must not reach hosts that only the server can reach: the session should
/// have `AddressPolicy.publicOnly`, like that of `gallery-server`.
public struct GalleryService: Service {
    private let downloader: ImageDownloader
    private let options: Image.DecodingOptions
    let port: Int
    let logger: Logger
    let onRunning: @Sendable (Int) async -> Void

    /// The maximum number of images per page.
    static let limit = 100

    /// - Parameters:
    ///   - session: Fetches the images.
    ///   - port: The port on 127.0.0.1; 0 chooses a free one.
    ///   - logger: Receives the service's log.
    ///   - onRunning: Called with the port once connections are accepted.
    public init(
        session: HTTPSession, port: Int, logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        var options = Image.DecodingOptions(fitting: Image.Size(200, 200))
        options.decodesAnimation = false
        self.options = options
        downloader = ImageDownloader(session: session, options: options)
        self.port = port
        self.logger = logger
        self.onRunning = onRunning
    }

    public func run() async throws {
        let sources = GallerySources(downloader, options)
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("/") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: GalleryPage.text)))
        }
        router.get("samples/:name") { _, context in try GallerySamples.response(context.parameters.require("name")) }
        router.get("thumbnail") { request, _ in
            guard let url = request.uri.queryParameters["url"] else {
                throw HTTPError(.badRequest, message: "which image?")
            }
            do {
                let source = sources.source(of: String(url))
                let bytes = try await source.downloader.load(source.url).encoded(as: .jpeg())
                return Response(
                    status: .ok, headers: [.contentType: "image/jpeg"],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
            } catch let error as CurlewError {
                throw HTTPError(
                    error.isTimeout ? .gatewayTimeout : .badGateway, message: GalleryEvents.reason(error.code))
            }
        }
        router.get("events") { request, _ in
            let urls = request.uri.queryParameters.getAll("url").map { String($0) }
            guard urls.count <= Self.limit else {
                throw HTTPError(.badRequest, message: "a page has at most \(Self.limit) images")
            }
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
                body: ResponseBody { writer in
                    let events = AsyncChannel<GalleryEvents>()
                    // An error of the writer ends this function, which cancels the remaining downloads.
                    async let following: Void = GalleryEvents.follow(urls, sources, events)
                    for await event in events { try await writer.write(ByteBuffer(string: event.text)) }
                    await following
                    try await writer.finish(nil)
                })
        }
        // Clients that stop reading are disconnected, and the number of clients is limited.
        let application = Application(
            router: router, server: .http1(configuration: HTTP1Channel.Configuration(idleTimeout: .seconds(60))),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(100)),
            onServerRunning: { [onRunning] channel in
                let port = channel.localAddress?.port ?? 0
                sources.open(port: port)
                await onRunning(port)
            }, logger: logger
        )
        do {
            try await application.run()
        } catch {
            await sources.close()
            throw error
        }
        await sources.close()
    }
}
