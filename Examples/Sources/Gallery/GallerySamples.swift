internal import Curlew
internal import CurlewImages
internal import Hummingbird
internal import NIOCore

/// Images of the service itself, so that the page shows something at first sight and without a network.
///
/// Only these references are fetched from the service. Their session may connect to the port of the service
/// and to nothing else, so that no visitor reaches another service of this machine.
struct GallerySamples: Sendable {
    /// The references on the page at first sight: the last one but one fails, and the last one is large and slow.
    static let references = ["meadow.png", "dusk.png", "shore.png", "missing.png", "large.png"].map { "/samples/\($0)" }

    private static let scenes: [String: Scene] = [
        "meadow.png": Scene(480, 360, from: (250, 240, 150), to: (40, 130, 70)),
        "dusk.png": Scene(360, 480, from: (60, 30, 110), to: (250, 140, 90)),
        "shore.png": Scene(480, 480, from: (130, 200, 240), to: (230, 210, 160)),
        "large.png": Scene(1200, 900, from: (20, 40, 80), to: (240, 250, 255), isGrained: true),
    ]

    /// The files, made at the first request.
    private static let files = scenes.compactMapValues { try? $0.image().encoded(as: .png) }

    /// The size of a piece of the large image; a pause follows each.
    private static let pieceSize = 128 << 10

    let session: HTTPSession
    let downloader: ImageDownloader

    /// - Parameters:
    ///   - port: The port of the service.
    ///   - options: The options of the images.
    init(port: Int, _ options: Image.DecodingOptions) throws {
        var configuration = SessionConfiguration()
        configuration.addressPolicy = AddressPolicy.only([try IPNetwork("127.0.0.1/32")]).ports(port)
        session = try HTTPSession(baseURL: "http://127.0.0.1:\(port)/", configuration: configuration)
        downloader = ImageDownloader(session: session, options: options)
    }

    /// The response of the service to a reference below `/samples/`.
    static func response(_ name: String) throws -> Response {
        guard let bytes = files[name] else { throw HTTPError(.notFound, message: "there is no such image") }
        return Response(
            status: .ok, headers: [.contentType: "image/png"],
            body: ResponseBody(contentLength: bytes.count) { writer in
                for start in stride(from: 0, to: bytes.count, by: pieceSize) {
                    // A large image comes in pieces, as from a distant server.
                    if start > 0 { try await Task.sleep(for: .milliseconds(60)) }
                    try await writer.write(ByteBuffer(bytes: bytes[start..<min(bytes.count, start + pieceSize)]))
                }
                try await writer.finish(nil)
            })
    }
}

/// A picture of a sky over a horizon, in two colours.
private struct Scene {
    let width: Int
    let height: Int
    let top: (Int, Int, Int)
    let bottom: (Int, Int, Int)
    /// True for noise, which makes the file large.
    let isGrained: Bool

    init(
        _ width: Int, _ height: Int, from top: (Int, Int, Int), to bottom: (Int, Int, Int), isGrained: Bool = false
    ) {
        self.width = width
        self.height = height
        self.top = top
        self.bottom = bottom
        self.isGrained = isGrained
    }

    func image() throws -> Image {
        var pixels = [UInt8](repeating: 255, count: width * height * 4)
        var noise: UInt32 = 1
        for y in 0..<height {
            for x in 0..<width {
                let place = (y * width + x) * 4
                noise = noise &* 1_664_525 &+ 1_013_904_223
                let grain = isGrained ? Int(noise >> 27) - 16 : 0
                // A disc of the top's colour stands over the horizon.
                let (dx, dy) = (x - width * 2 / 3, y - height / 3)
                let isDisc = dx * dx + dy * dy < width * width / 100
                let share = isDisc ? 0 : y
                pixels[place] = Self.mixed(top.0, bottom.0, share, height, grain)
                pixels[place + 1] = Self.mixed(top.1, bottom.1, share, height, grain)
                pixels[place + 2] = Self.mixed(top.2, bottom.2, share, height, grain)
            }
        }
        return try Image(size: Image.Size(width, height), pixels: pixels)
    }

    private static func mixed(_ one: Int, _ other: Int, _ share: Int, _ whole: Int, _ grain: Int) -> UInt8 {
        UInt8(max(0, min(255, one + (other - one) * share / whole + grain)))
    }
}
