#if Images
import Curlew
import CurlewImages

/// The code of the article Images; a test compares the two.
enum ImageSnippets {
    func thumbnail(_ api: HTTPSession, _ url: String) async throws -> [UInt8] {
        let image = try await api.get(.raw(url), as: .image(fitting: Image.Size(200, 200)))
        return try image.encoded(as: .jpeg(quality: 80))
    }

    func upload(_ bytes: [UInt8]) throws -> Image {
        var options = Image.DecodingOptions()
        options.refusesTruncated = true
        return try Image(decoding: bytes, options: options)
    }

    func gallery(_ api: HTTPSession, _ urls: [String]) async {
        let downloader = ImageDownloader(session: api)
        let filter = ImageFilter.resized(toFill: Image.Size(64, 64)).followed(by: .rounded(radius: 8))
        for url in urls {
            for await phase in downloader.image(url, filter: filter) {
                if let image = phase.image { print(url, image.size) }
            }
        }
    }

    func follow(_ api: HTTPSession) async {
        let monitor = ActivityMonitor()
        await monitor.follow(api)
        for await isActive in await monitor.updates { print(isActive ? "busy" : "idle") }
    }
}
#endif
