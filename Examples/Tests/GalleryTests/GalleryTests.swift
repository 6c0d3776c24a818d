import Curlew
import CurlewImages
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import Dispatch
import Foundation
import Glibc
import HTTPTypes
import Logging
import ServiceLifecycle
import Testing

@testable import Gallery

@Suite("A gallery of remote images", .noLeaks, .timeLimit(.minutes(1)))
struct GalleryTests {
    /// The service with a client.
    private func withGallery(
        policy: AddressPolicy = .any, _ body: (HTTPSession) async throws -> Void
    ) async throws {
        let (ports, tell) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var configuration = SessionConfiguration()
        configuration.addressPolicy = policy
        let session = try HTTPSession(configuration: configuration)
        let service = GalleryService(session: session, port: 0, logger: logger, onRunning: { tell.yield($0) })
        let group = ServiceGroup(services: [SessionService(session, logger: logger), service], logger: logger)
        let running = Task {
            defer { tell.finish() }
            try await group.run()
        }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next(isolation: #isolation))
        let client = try HTTPSession(baseURL: "http://127.0.0.1:\(port)/", chain: .bare)
        try await body(client)
        await client.shutdown()
        await group.triggerGracefulShutdown()
        try await running.value
    }

    private func image(_ width: Int, _ height: Int) throws -> [UInt8] {
        let pixels = (0..<(width * height)).flatMap { _ -> [UInt8] in [200, 30, 30, 255] }
        return try Image(size: Image.Size(width, height), pixels: pixels).encoded(as: .png)
    }

    private func server(_ png: [UInt8]) async throws -> MockServer {
        try await MockServer.start { request in
            request.path.hasPrefix("/missing")
                ? .notFound : MockResponse(fields: [.contentType: "image/png"], body: .bytes(png))
        }
    }

    @Test("the page is served and asks for events")
    func page() async throws {
        try await withGallery { client in
            let page = try await client.get("", as: .text)
            #expect(page.contains("new EventSource(\"/events?\""))
        }
    }

    @Test("a thumbnail is a JPEG of at most 200 pixels")
    func thumbnail() async throws {
        let images = try await server(try image(500, 250))
        try await withGallery { client in
            let image = try await client.get(
                "thumbnail", parameters: ["url": images.url("/a.png")], as: .image)
            #expect(image.size == Image.Size(200, 100) && image.format == .jpeg)
            #expect(try await client.get("thumbnail").status == .badRequest)
            #expect(
                try await client.get("thumbnail", parameters: ["url": images.url("/missing")]).status == .badGateway)
        }
        await images.shutdown()
    }

    @Test("images are streamed as they arrive, each with its result")
    func events() async throws {
        let images = try await server(try image(300, 300))
        try await withGallery { client in
            let urls = ["/a.png", "/missing.png", "/a.png"].map { images.url($0) }
            let query = urls.map { "url=\($0)" }.joined(separator: "&")
            let response = try await client.get(.raw("events?\(query)"))
            var ends: [String: String] = [:]
            var kind = ""
            for try await line in response.body.lines() {
                if line.hasPrefix("event: ") { kind = String(line.dropFirst(7)) }
                guard line.hasPrefix("data: "), kind != "progress" else { continue }
                let words = line.dropFirst(6).split(separator: " ").map(String.init)
                ends[words[0]] = "\(kind) \(words[1].prefix(20))"
                guard kind == "image" else { continue }
                let image = try Image(decoding: Array(try #require(Data(base64Encoded: words[1]))))
                #expect(image.size == Image.Size(200, 200))
            }
            #expect(ends.count == 3 && ends["1"] == "failure unacceptable-status")
            #expect(ends["0"]?.hasPrefix("image") == true && ends["2"]?.hasPrefix("image") == true)
        }
        await images.shutdown()
    }

    @Test("the service's own images are streamed at first, with a failing one and a large one in parts")
    func samples() async throws {
        // The session of the visitor's URLs reaches no address of this machine.
        try await withGallery(policy: .publicOnly) { client in
            let query = GallerySamples.references.map { "url=\($0)" }.joined(separator: "&")
            let response = try await client.get(.raw("events?\(query)"))
            var ends: [String: String] = [:]
            var parts: Set<String> = []
            var kind = ""
            for try await line in response.body.lines() {
                if line.hasPrefix("event: ") { kind = String(line.dropFirst(7)) }
                guard line.hasPrefix("data: ") else { continue }
                let words = line.dropFirst(6).split(separator: " ").map(String.init)
                if kind == "progress" { parts.insert(words[0]) } else if kind != "part" { ends[words[0]] = kind }
            }
            #expect(ends == ["0": "image", "1": "image", "2": "image", "3": "failure", "4": "image"])
            #expect(parts.contains("4"))
        }
    }

    @Test("another path of this machine is refused, and the session of the samples reaches only its own port")
    func confined() async throws {
        let images = try await server(try image(10, 10))
        try await withGallery(policy: .publicOnly) { client in
            for url in [
                "/samples/../thumbnail", "/samples/missing.png", "/samples/other.png", "/page",
                images.url("/samples/meadow.png"),
            ] {
                let response = try await client.get("thumbnail", parameters: ["url": url])
                #expect(response.status == .badGateway, "\(url)")
            }
        }
        #expect(images.connectionCounts.accepted == 0)
        await images.shutdown()
    }

    @Test("HEAD is answered, and the page suits phones, keyboards and both colour schemes")
    func head() async throws {
        try await withGallery { client in
            #expect(try await client.head("").status == .ok)
            let page = try await client.get("", as: .text)
            for part in [
                "width=device-width", "color-scheme", "<label for=\"urls\">", "aria-live", "/samples/large.png",
            ] {
                #expect(page.contains(part))
            }
        }
    }

    @Test("a page with too many images is refused, not truncated")
    func tooMany() async throws {
        try await withGallery { client in
            let query = (0...100).map { "url=http://127.0.0.1:1/\($0).png" }.joined(separator: "&")
            let response = try await client.get(.raw("events?\(query)"))
            #expect(response.status == .badRequest)
        }
    }

    @Test("the received part of an image is shown before the rest arrives")
    func part() async throws {
        var numbers = SystemRandomNumberGenerator()
        let pixels = (0..<(300 * 300)).flatMap { _ -> [UInt8] in [numbers.next(), numbers.next(), 99, 255] }
        let file = try Image(size: Image.Size(300, 300), pixels: pixels).encoded(as: .webP(quality: 100))
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let images = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "image/webp"],
                body: .stream(length: file.count) { writer in
                    try await writer.write(Array(file[..<(file.count * 6 / 10)]))
                    for await _ in gate { break }
                    try await writer.write(Array(file[(file.count * 6 / 10)...]))
                })
        }
        try await withGallery { client in
            let response = try await client.get("events", parameters: ["url": images.url("/a.webp")])
            var kinds: [String] = []
            for try await line in response.body.lines() where line.hasPrefix("event: ") {
                kinds.append(String(line.dropFirst(7)))
                if kinds.last == "part" { open.finish() }
            }
            #expect(kinds.contains("part") && kinds.last == "image")
        }
        await images.shutdown()
    }

    @Test("addresses of the server's own network are refused")
    func forbidden() async throws {
        let images = try await server(try image(10, 10))
        try await withGallery(policy: .publicOnly) { client in
            let response = try await client.get("thumbnail", parameters: ["url": images.url("/a.png")])
            #expect(response.status == .badGateway)
            let text = try await String(decoding: response.body.collect(upTo: 1000), as: UTF8.self)
            #expect(text.contains("address-forbidden The address is not on the public Internet."))
        }
        #expect(images.connectionCounts.accepted == 0)
        await images.shutdown()
    }

    @Test(
        "a browser shows the images", .enabled(if: ProcessInfo.processInfo.environment["CURLEW_CHROMIUM"] != nil),
        arguments: [390, 1000])
    func browser(width: Int) async throws {
        let images = try await server(try image(400, 400))
        let shot = FileManager.default.temporaryDirectory.appending(path: "curlew-gallery-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: shot, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: shot) }
        try await withGallery { client in
            let page = try #require(client.baseURL).description
            let status = try await Self.run([
                "/usr/bin/chromium", "--headless", "--no-sandbox", "--disable-gpu",
                "--user-data-dir=\(shot.path)/profile",
                "--window-size=\(width),1200", "--virtual-time-budget=20000", "--screenshot=\(shot.path)/page.png",
                "\(page)#\(images.url("/a.png"))%20\(images.url("/missing.png"))%20\(images.url("/b.png"))",
            ])
            #expect(status == 0)
            let bytes = Array(try Data(contentsOf: shot.appending(path: "page.png")))
            let image = try Image(decoding: bytes)
            #expect(image.size == Image.Size(width, 1200))
            // The two images have 200 × 200 pixels of the expected colour.
            let red = stride(from: 0, to: image.pixels.count, by: 4).count { place in
                abs(Int(image.pixels[place]) - 200) < 12 && abs(Int(image.pixels[place + 1]) - 30) < 12
                    && abs(Int(image.pixels[place + 2]) - 30) < 12
            }
            #expect(abs(red - 2 * 200 * 200) < 2000, "\(red) pixels")
        }
        await images.shutdown()
    }

    /// Runs a program to its end. Foundation's Process is not used, because it leaves a thread with a run loop behind.
    private static func run(_ words: [String]) async throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in Int32(1)...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        }
        var pointers = words.map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, words[0], &actions, nil, &pointers, environ)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EINVAL) }
        return await withCheckedContinuation { [process] continuation in
            DispatchQueue.global().async {
                var status: Int32 = 0
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                continuation.resume(returning: status)
            }
        }
    }
}
