import AsyncAlgorithms
import Curlew
import CurlewImages
import FoundationEssentials

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
