import Curlew
import CurlewService
import Gallery
import Glibc
import Logging
import ServiceLifecycle
import UnixSignals

/// `gallery [PORT]`: a page that shows thumbnails of remote images, on port 8080 of this machine by default. The
/// program prints its own URL once it accepts connections. An interrupt or SIGTERM ends it gracefully.
@main
struct Main {
    static func main() async throws {
        guard let port = UInt16(CommandLine.arguments.dropFirst().first ?? "8080") else {
            print("usage: gallery [PORT]")
            return
        }
        let logger = Logger(label: "gallery")
        var configuration = SessionConfiguration()
        // Visitors of the page choose the URLs, so addresses of this machine's own network are refused.
        configuration.addressPolicy = .publicOnly
        let session = try HTTPSession(configuration: configuration, chain: .caching())
        let gallery = GalleryService(session: session, port: Int(port), logger: logger) { port in
            print("http://127.0.0.1:\(port)/")
            fflush(nil)
        }
        let group = ServiceGroup(
            services: [SessionService(session, deadline: .seconds(5), logger: logger), gallery],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }
}
