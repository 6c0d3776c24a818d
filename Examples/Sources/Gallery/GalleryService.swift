internal import AsyncAlgorithms
public import Curlew
internal import CurlewImages
internal import FoundationEssentials
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
public import ServiceLifecycle

/// A service with a page that shows thumbnails of remote images as they come.
///
/// - `GET /` is the page.
/// - `GET /events?url=…&url=…` streams what becomes of the images as server-sent events: `progress`, `part` for what has come of one, and, once
///   each, `image` or `failure`.
/// - `GET /thumbnail?url=…` is an image as a JPEG of at most 200 pixels.
///
/// Whoever may name URLs for a server to fetch must not reach what only the server reaches: the session should have
/// `AddressPolicy.publicOnly`, as that of `gallery-server` has.
public struct GalleryService: Service {
    let downloader: ImageDownloader
    let port: Int
    let logger: Logger
    let onRunning: @Sendable (Int) async -> Void

    /// The most images of one page.
    static let limit = 100

    /// - Parameters:
    ///   - session: Fetches the images.
    ///   - port: The port on 127.0.0.1; 0 takes a free one.
    ///   - logger: Takes what the service has to say.
    ///   - onRunning: Called with the port once connections are taken.
    public init(
        session: HTTPSession, port: Int, logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        var options = Image.DecodingOptions(fitting: Image.Size(200, 200))
        options.decodesAnimation = false
        downloader = ImageDownloader(session: session, options: options)
        self.port = port
        self.logger = logger
        self.onRunning = onRunning
    }

    public func run() async throws {
        let router = Router()
        router.get("/") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: GalleryPage.text)))
        }
        router.get("thumbnail") { [downloader] request, _ in
            guard let url = request.uri.queryParameters["url"] else {
                throw HTTPError(.badRequest, message: "which image?")
            }
            do {
                let bytes = try await downloader.load(String(url)).encoded(as: .jpeg())
                return Response(
                    status: .ok, headers: [.contentType: "image/jpeg"],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
            } catch let error as CurlewError {
                throw HTTPError(error.isTimeout ? .gatewayTimeout : .badGateway, message: error.code.rawValue)
            }
        }
        router.get("events") { [downloader] request, _ in
            let urls = request.uri.queryParameters.getAll("url").map { String($0) }
            guard urls.count <= Self.limit else {
                throw HTTPError(.badRequest, message: "a page has at most \(Self.limit) images")
            }
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
                body: ResponseBody { writer in
                    let events = AsyncChannel<GalleryEvents>()
                    // An error of the writer ends this function, which cancels what is not there yet.
                    async let following: Void = GalleryEvents.follow(urls, downloader, events)
                    for await event in events { try await writer.write(ByteBuffer(string: event.text)) }
                    await following
                    try await writer.finish(nil)
                })
        }
        // Readers that stop reading are not waited for, and are not many.
        let application = Application(
            router: router, server: .http1(configuration: HTTP1Channel.Configuration(idleTimeout: .seconds(60))),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(100)),
            onServerRunning: { [onRunning] channel in await onRunning(channel.localAddress?.port ?? 0) }, logger: logger
        )
        try await application.run()
    }
}

/// What becomes of the images of a page.
struct GalleryEvents {
    /// The event as it is streamed (HTML, server-sent events). Its data is one line.
    let text: String

    private init(_ kind: String, _ index: Int, _ rest: String) { text = "event: \(kind)\ndata: \(index) \(rest)\n\n" }

    /// Sends the events of all images, as they come, and finishes. An image whose events are not read yet waits, and its progress and parts that
    /// are out of date meanwhile are left out.
    static func follow(_ urls: [String], _ downloader: ImageDownloader, _ events: AsyncChannel<GalleryEvents>) async {
        await withTaskGroup { images in
            for (index, url) in urls.enumerated() {
                images.addTask { await follow(url, index, downloader, events) }
            }
        }
        events.finish()
    }

    private static func follow(
        _ url: String, _ index: Int, _ downloader: ImageDownloader, _ events: AsyncChannel<GalleryEvents>
    ) async {
        var shown = -1
        for await phase in downloader.image(url) {
            switch phase {
            case .progress(let progress):
                // A hundred steps at most, however large the image is.
                guard let total = progress.received.total, total > 0 else { continue }
                let percent = Int(progress.received.wire * 100 / total)
                guard percent > shown else { continue }
                shown = percent
                await events.send(GalleryEvents("progress", index, "\(percent)"))
            case .partial(let image):
                // What is not there yet is transparent.
                guard let bytes = try? image.encoded(as: .png) else { continue }
                await events.send(GalleryEvents("part", index, Data(bytes).base64EncodedString()))
            case .cached(let image), .loaded(let image):
                do {
                    let bytes = try image.encoded(as: .jpeg())
                    await events.send(GalleryEvents("image", index, Data(bytes).base64EncodedString()))
                } catch {
                    await events.send(GalleryEvents("failure", index, ErrorCode.encodingFailed.rawValue))
                }
            case .failed(let error): await events.send(GalleryEvents("failure", index, error.code.rawValue))
            }
        }
    }
}
