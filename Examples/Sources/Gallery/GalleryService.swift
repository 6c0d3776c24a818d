internal import AsyncAlgorithms
public import Curlew
internal import CurlewImages
internal import FoundationEssentials
internal import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
public import ServiceLifecycle
internal import Synchronization

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

/// The sessions that fetch images: the user's, and that of the samples once the port is known.
final class GallerySources: Sendable {
    private let remote: ImageDownloader
    private let options: Image.DecodingOptions
    private let samples = Mutex<GallerySamples?>(nil)

    init(_ remote: ImageDownloader, _ options: Image.DecodingOptions) {
        self.remote = remote
        self.options = options
    }

    func open(port: Int) {
        let opened = try? GallerySamples(port: port, options)
        samples.withLock { $0 = opened }
    }

    func close() async { await samples.withLock { $0 }?.session.shutdown(deadline: .seconds(1)) }

    /// The downloader and the URL of an image. Only the references of the page's own samples are fetched from the
    /// service, so that no visitor makes it call itself.
    func source(of reference: String) -> (downloader: ImageDownloader, url: String) {
        guard GallerySamples.references.contains(reference), let samples = samples.withLock({ $0 }),
            let uri = try? samples.session.baseURL?.resolving(reference)
        else { return (remote, reference) }
        return (samples.downloader, uri.description)
    }
}

/// An event about an image of a page.
struct GalleryEvents {
    /// The event in the text format of server-sent events (HTML standard). Its data is one line.
    let text: String

    private init(_ kind: String, _ index: Int, _ rest: String) { text = "event: \(kind)\ndata: \(index) \(rest)\n\n" }

    /// The code of a failure and a sentence about it. The sentence has nothing of the peer.
    static func reason(_ code: ErrorCode) -> String {
        let sentence =
            switch code {
            case .addressForbidden:
                "The address is not on the public Internet. A visitor must not reach machines that only this server can reach."
            case .hostNotFound: "The host is unknown."
            case .connectionRefused, .connectionFailed, .connectionLost: "The server could not be reached."
            case .unacceptableStatus: "The server has no such image."
            case .unacceptableContentType, .decodingFailed: "The server sent no image."
            case .responseTooLarge: "The image is too large."
            case .invalidURL, .unsupportedScheme: "This is no URL of an image."
            case _ where code.isTimeout: "The server took too long."
            case _ where code.isTrustFailure: "The server is not trusted."
            default: "The image could not be shown."
            }
        return "\(code) \(sentence)"
    }

    /// Sends the events of all images as they come, and finishes. An image with unread events waits, and its outdated
    /// progress and partial images are dropped.
    static func follow(_ urls: [String], _ sources: GallerySources, _ events: AsyncChannel<GalleryEvents>) async {
        await withTaskGroup { images in
            for (index, url) in urls.enumerated() {
                let source = sources.source(of: url)
                images.addTask { await follow(source.url, index, source.downloader, events) }
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
                // Progress has at most a hundred steps, however large the image is.
                guard let total = progress.received.total, total > 0 else { continue }
                let percent = Int(progress.received.wire * 100 / total)
                guard percent > shown else { continue }
                shown = percent
                await events.send(GalleryEvents("progress", index, "\(percent)"))
            case .partial(let image):
                // The missing pixels of a partial image are transparent.
                guard let bytes = try? image.encoded(as: .png) else { continue }
                await events.send(GalleryEvents("part", index, Data(bytes).base64EncodedString()))
            case .cached(let image), .loaded(let image):
                do {
                    let bytes = try image.encoded(as: .jpeg())
                    await events.send(GalleryEvents("image", index, Data(bytes).base64EncodedString()))
                } catch {
                    await events.send(GalleryEvents("failure", index, reason(.encodingFailed)))
                }
            case .failed(let error): await events.send(GalleryEvents("failure", index, reason(error.code)))
            }
        }
    }
}
