import Curlew
import CurlewImages
import Synchronization

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
