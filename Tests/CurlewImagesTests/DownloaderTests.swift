#if Images && TestKit
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import SeededNumbers
import Testing

@testable import CurlewImages

@Suite("Downloads of images", .noLeaks, .timeLimit(.minutes(1)))
struct DownloaderTests {
    @Test("a downloader has the limits of AFNetworking's: four downloads at a time, oldest first, and its cache")
    func defaults() async throws {
        let (starts, start) = AsyncStream.makeStream(of: String.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let png = try Fixture.bytes("plain.png")
        let server = try await MockServer.start { request in
            start.yield(request.path)
            for await _ in gate { break }
            return imageResponse(png)
        }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        #expect(downloader.cache?.capacity == .mebibytes(100) && downloader.cache?.preferredUsage == .mebibytes(60))
        for name in ["1", "2", "3", "4", "5", "6"] { await downloader.prefetch(name) }
        #expect(await downloader.activeCount == 4)
        #expect(await downloader.waitingCount == 2)
        var paths = starts.makeAsyncIterator()
        var first: Set<String?> = []
        for _ in 0..<4 { first.insert(await paths.next()) }
        #expect(first == ["/1", "/2", "/3", "/4"])
        // The fifth download starts when one of the four ends.
        open.yield()
        #expect(await paths.next() == "/5")
        open.finish()
        #expect(await paths.next() == "/6")
        try await eventually("all have ended") { await downloader.activeCount == 0 }
        await api.shutdown()
        await server.shutdown()
    }

    @Test("an image is downloaded once and cached, and filtered images are cached beside it")
    func cached() async throws {
        let png = try Fixture.bytes("plain.png")
        let server = try await MockServer.start { _ in imageResponse(png) }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        #expect(try await downloader.load("a").size == Image.Size(48, 32))
        let filter = ImageFilter.resized(to: Image.Size(8, 8))
        #expect(try await downloader.load("a", filter: filter).size == Image.Size(8, 8))
        for await phase in downloader.image("a") {
            guard case .cached = phase else {
                Issue.record("\(phase)")
                continue
            }
        }
        #expect(server.requestCount == 1)
        let kept = try #require(downloader.cache)
        #expect(await kept.count == 2)
        #expect(await kept.image(for: server.url("/a"), filter: filter.identifier) != nil)
        await api.shutdown()
        await server.shutdown()
    }

    @Test(
        "at most four downloads run, in the chosen order",
        arguments: [ImageDownloader.Order.firstInFirstOut, .lastInFirstOut])
    func order(_ order: ImageDownloader.Order) async throws {
        let png = try Fixture.bytes("plain.png")
        let gate = AsyncStream.makeStream(of: Void.self)
        let (starts, start) = AsyncStream.makeStream(of: String.self)
        let server = try await MockServer.start { request in
            start.yield(request.path)
            if request.path.hasPrefix("/first") { for await _ in gate.stream { break } }
            return imageResponse(png)
        }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api, order: order, maximumActive: 1)
        await downloader.prefetch("first")
        var paths = starts.makeAsyncIterator()
        #expect(await paths.next() == "/first")
        for name in ["b", "c", "d"] { await downloader.prefetch(name) }
        #expect(await downloader.activeCount == 1)
        #expect(await downloader.waitingCount == 3)
        gate.continuation.finish()
        var found: [String?] = []
        for _ in 0..<3 { found.append(await paths.next()) }
        #expect(found == (order == .firstInFirstOut ? ["/b", "/c", "/d"] : ["/d", "/c", "/b"]))
        try await eventually("all have ended") { await downloader.activeCount == 0 }
        await api.shutdown()
        await server.shutdown()
    }

    @Test("ten thousand URLs pass through a cache of 1 MB, which keeps its limit")
    func manyURLs() async throws {
        let png = try Fixture.bytes("plain.png")
        let transport = StubTransport { _ in .response(fields: [.contentType: "image/png"], body: .bytes(png)) }
        let api = try HTTPSession(baseURL: "http://example.com", transport: transport, chain: .bare)
        let downloader = ImageDownloader(
            session: api, cache: AutoPurgingImageCache(capacity: 1_000_000, preferredUsage: 600_000))
        let cache = try #require(downloader.cache)
        await withTaskGroup { group in
            for worker in 0..<16 {
                group.addTask {
                    for index in 0..<625 {
                        let image = try? await downloader.load("\(worker)/\(index)")
                        #expect(image?.size == Image.Size(48, 32))
                        #expect(await cache.usage <= 1_000_000)
                    }
                }
            }
        }
        let (usage, count) = await (cache.usage.bytes, cache.count)
        // The names have 23 to 26 letters.
        #expect(usage > count * (48 * 32 * 4 + 256 + 22))
        #expect(usage < count * (48 * 32 * 4 + 256 + 27))
        #expect(await cache.count > 90)
        #expect(await downloader.activeCount == 0)
    }

    @Test("a failed or invalid image is an error, and the next request downloads it again")
    func failing() async throws {
        let png = try Fixture.bytes("plain.png")
        let server = try await MockServer.start { _ in MockResponse.notFound }
        server.enqueue(
            MockResponse(status: .internalServerError), imageResponse(Array("no image".utf8)), imageResponse(png))
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        for code in [ErrorCode.unacceptableStatus, .decodingFailed] {
            let error = await #expect(throws: CurlewError.self) { _ = try await downloader.load("a") }
            #expect(error?.code == code)
        }
        #expect(try await downloader.load("a").format == .png)
        let error = await #expect(throws: CurlewError.self) { _ = try await downloader.load("http://[") }
        #expect(error?.code == .invalidURL)
        await api.shutdown()
        await server.shutdown()
    }

    @Test("a link's own error, or the cancellation of the task from outside, ends a download once")
    func foreignErrors() async throws {
        struct Denied: Error {}
        for error in [Denied(), CancellationError()] as [any Error] {
            let transport = StubTransport { _ in throw error }
            let api = try HTTPSession(baseURL: "http://example.com", transport: transport, chain: .bare)
            let downloader = ImageDownloader(session: api)
            let failure = await #expect(throws: CurlewError.self) { _ = try await downloader.load("a") }
            #expect(failure != nil)
            #expect(transport.received.count == 1)
        }
    }

    @Test("downloaders that decode differently can share a cache")
    func sharedCache() async throws {
        let png = try Fixture.bytes("plain.png")
        let transport = StubTransport { _ in .response(fields: [.contentType: "image/png"], body: .bytes(png)) }
        let api = try HTTPSession(baseURL: "http://example.com", transport: transport, chain: .bare)
        let cache = AutoPurgingImageCache()
        let whole = ImageDownloader(session: api, cache: cache)
        let small = ImageDownloader(session: api, cache: cache, options: .init(fitting: Image.Size(12, 12)))
        for _ in 0..<2 {
            #expect(try await small.load("a").size == Image.Size(12, 8))
            #expect(try await whole.load("a").size == Image.Size(48, 32))
        }
        #expect(transport.received.count == 2)
    }

    @Test("a failed filter is reported, and a repetition downloads nothing")
    func failingFilter() async throws {
        struct Torn: Error {}
        let png = try Fixture.bytes("plain.png")
        let transport = StubTransport { _ in .response(fields: [.contentType: "image/png"], body: .bytes(png)) }
        let api = try HTTPSession(baseURL: "http://example.com", transport: transport, chain: .bare)
        let downloader = ImageDownloader(session: api)
        for _ in 0..<2 {
            let error = await #expect(throws: CurlewError.self) {
                _ = try await downloader.load("a", filter: ImageFilter(identifier: "torn") { _ in throw Torn() })
            }
            #expect(error?.code == .decodingFailed)
            #expect(error?.underlying is Torn)
        }
        #expect(transport.received.count == 1)
    }

    @Test("a changed image under the same URL is loaded once the old one is removed, filtered images included")
    func changed() async throws {
        let (small, large) = (try Fixture.bytes("plain.png"), try Fixture.bytes("plain.gif"))
        let server = try await MockServer.start { _ in MockResponse.notFound }
        server.enqueue(imageResponse(small), imageResponse(large, type: "image/png"))
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        let cache = try #require(downloader.cache)
        let filter = ImageFilter.resized(toFit: Image.Size(8, 8))
        #expect(try await downloader.load("a").format == .png)
        #expect(try await downloader.load("a", filter: filter).size.width == 8)
        #expect(try await downloader.load("a").format == .png)
        #expect(server.requestCount == 1)
        #expect(await cache.remove(server.url("/a")))
        #expect(await cache.image(for: server.url("/a"), filter: filter.identifier) == nil)
        #expect(try await downloader.load("a", filter: filter).size.width == 8)
        #expect(try await downloader.load("a").format == .gif)
        #expect(server.requestCount == 2)
        await api.shutdown()
        await server.shutdown()
    }

    @Test(
        "an image is shown progressively while it arrives, if its codec supports that",
        arguments: [ImageFormat.jpeg, .webP, .png])
    func partial(_ format: ImageFormat) async throws {
        let file = try largeFile(format)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "image/\(format)"],
                body: .stream(length: file.count) { writer in
                    try await writer.write(Array(file[..<(file.count * 6 / 10)]))
                    for await _ in gate { break }
                    try await writer.write(Array(file[(file.count * 6 / 10)...]))
                })
        }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        var shown: [Image] = []
        var last: ImageDownloader.Phase?
        // A download without progress only receives the end.
        var beside: Task<Image, any Error>?
        for await phase in downloader.image("a", filter: .resized(to: Image.Size(24, 16))) {
            last = phase
            // A download that starts after the first partial image does not receive it.
            if beside == nil { beside = Task { try await downloader.load("a") } }
            switch phase {
            case .progress(let progress):
                // A format without partial images does not need to wait for one.
                if format == .png, progress.received.wire * 2 > file.count { open.finish() }
            case .partial(let image):
                shown.append(image)
                open.finish()
            default: break
            }
        }
        let whole = try #require(last?.image)
        #expect(try await beside?.value.format == format)
        #expect(shown.isEmpty == (format == .png))
        for image in shown {
            #expect(image.size == whole.size)
            // The upper half of the image has arrived, so its colours are nearly right.
            let (near, far) = (image.color(6, 2), whole.color(6, 2))
            #expect(zip(near, far).allSatisfy { abs(Int($0) - Int($1)) < 40 }, "\(near) \(far)")
        }
        await api.shutdown()
        await server.shutdown()
    }

    /// A file of more than 64 KiB with the quarters.
    private func largeFile(_ format: ImageFormat) throws -> [UInt8] {
        if format == .jpeg {
            // Comments after the second scan enlarge the file: its received part already shows the complete image.
            var file = try Fixture.bytes("progressive.jpg")
            let scans = file.indices.dropLast().filter { file[$0] == 0xFF && file[$0 + 1] == 0xDA }
            let next = try #require(
                file.indices.dropLast().first {
                    $0 > scans[1] && file[$0] == 0xFF && ![0, 0xFF].contains(file[$0 + 1])
                })
            let comment: [UInt8] = [0xFF, 0xFE, 0xFF, 0xFF] + [UInt8](repeating: 0x20, count: 0xFFFD)
            file.insert(contentsOf: comment + comment, at: next)
            return file
        }
        let plain = try ImageFilter.resized(to: Image.Size(480, 320)).apply(
            to: Image(decoding: Fixture.bytes("plain.png")))
        var pixels = plain.pixels
        var numbers = SeededNumbers(seed: 1)
        for index in pixels.indices where index % 4 != 3 {
            pixels[index] = UInt8(clamping: Int(pixels[index]) + Int.random(in: -20...20, using: &numbers))
        }
        return try Image(size: plain.size, pixels: pixels).encoded(as: format == .png ? .png : .webP(quality: 100))
    }

    @Test("a second download of an image is answered by the cache link of the session's chain")
    func cacheLink() async throws {
        let png = try Fixture.bytes("plain.png")
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "image/png", .cacheControl: "max-age=60"], body: .bytes(png))
        }
        let api = try HTTPSession(baseURL: server.url(), chain: .caching())
        for _ in 0..<2 {
            #expect(try await ImageDownloader(session: api, cache: nil).load("a").size == Image.Size(48, 32))
        }
        #expect(server.requestCount == 1)
        await api.shutdown()
        await server.shutdown()
    }

    @Test("an impossible Content-Length is an error and does not crash the process")
    func hugeLength() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.read()
            try await connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 9000000000000000000\r\n\r\nno image")
        }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await ImageDownloader(session: api, cache: nil).load("a")
        }
        #expect(error?.code == .responseTooLarge)
        await api.shutdown()
        await server.shutdown()
    }

    @Test("the phases end with the image, after any number of partial images")
    func phases() async throws {
        let png = try Fixture.bytes("raw.tif")
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "image/tiff"],
                body: .stream(length: png.count) { writer in
                    for byte in png.indices where byte % 500 == 0 {
                        try await writer.write(Array(png[byte..<min(png.count, byte + 500)]))
                    }
                })
        }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api, cache: nil)
        var last: ImageDownloader.Phase?
        for await phase in downloader.image("a") {
            #expect(last?.image == nil)
            last = phase
        }
        try #require(last?.image).expectQuarters()
        await api.shutdown()
        await server.shutdown()
    }
}
#endif
