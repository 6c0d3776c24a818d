#if Images && TestKit
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewImages

@Suite("Pictures are downloaded", .noLeaks, .timeLimit(.minutes(1)))
struct DownloaderTests {
    private func picture(_ bytes: [UInt8], type: String = "image/png") -> MockResponse {
        MockResponse(fields: [.contentType: type], body: .bytes(bytes))
    }

    @Test("the serializer takes AFNetworking's types and newer ones, and reads what the bytes are")
    func serializer() async throws {
        let png = try Fixture.bytes("plain.png")
        for (type, bytes, isTaken) in [
            ("image/png", png, true), ("image/x-win-bitmap", png, true), ("image/avif", png, true),
            ("text/html", png, false),
            ("image/svg+xml", png, false), ("image/png", Array("<html>".utf8), false), ("image/png", [], false),
        ] {
            let server = try await MockServer.start { _ in picture(bytes, type: type) }
            let api = try HTTPSession(chain: .bare)
            let result = await Result { try await api.get(.raw(server.url()), as: .image(fitting: Image.Size(24, 24))) }
            switch result {
            case .success(let image):
                #expect(isTaken && image.size == Image.Size(24, 16) && image.format == .png)
            case .failure(let error):
                let code = (error as? CurlewError)?.code
                #expect(
                    !isTaken && [.unacceptableContentType, .decodingFailed, .emptyBody].contains(code),
                    "\(type) \(error)")
            }
            let accept = await server.takeRequest()?.fields[.accept]
            #expect(accept == "image/avif, image/webp, image/*")
            await api.shutdown()
            await server.shutdown()
        }
    }

    @Test("a picture comes once, is kept, and filters are kept beside it")
    func cached() async throws {
        let png = try Fixture.bytes("plain.png")
        let server = try await MockServer.start { _ in picture(png) }
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
        "at most four are under way, in the order that was chosen",
        arguments: [ImageDownloader.Order.firstInFirstOut, .lastInFirstOut])
    func order(_ order: ImageDownloader.Order) async throws {
        let png = try Fixture.bytes("plain.png")
        let gate = AsyncStream.makeStream(of: Void.self)
        let (starts, start) = AsyncStream.makeStream(of: String.self)
        let server = try await MockServer.start { request in
            start.yield(request.path)
            if request.path.hasPrefix("/first") { for await _ in gate.stream { break } }
            return picture(png)
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

    @Test("equal requests are one download, and whoever cancels leaves it to the others")
    func merged() async throws {
        let png = try Fixture.bytes("plain.png")
        let gate = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate.stream {}
            return picture(png)
        }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        let first = Task { try await downloader.load("a") }
        try await server.waitForConnections { $0.accepted == 1 }
        let second = Task { try await downloader.load("a", filter: .resized(to: Image.Size(8, 8))) }
        let receipt = await downloader.prefetch("a")
        first.cancel()
        let error = await #expect(throws: CurlewError.self) { _ = try await first.value }
        #expect(error?.code == .cancelled)
        await downloader.cancel(receipt)
        await downloader.cancel(receipt)
        #expect(await downloader.activeCount == 1)
        gate.continuation.finish()
        #expect(try await second.value.size == Image.Size(8, 8))
        #expect(server.requestCount == 1)
        await api.shutdown()
        await server.shutdown()
    }

    @Test("a thousand requests that are cancelled leave nothing behind, and end the download")
    func cancelled() async throws {
        let server = try await RawServer.start { connection in while try await connection.read() != nil {} }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        var receipts: [ImageDownloader.Receipt] = []
        for index in 0..<1000 { receipts.append(await downloader.prefetch("\(index % 20)")) }
        #expect(await downloader.activeCount == 4)
        #expect(await downloader.waitingCount == 16)
        for receipt in receipts { await downloader.cancel(receipt) }
        try await eventually("nothing is under way") {
            let (active, waiting) = await (downloader.activeCount, downloader.waitingCount)
            return active == 0 && waiting == 0
        }
        await api.shutdown()
        await server.shutdown()
    }

    @Test("a picture that cannot be had, or is none, is an error, and is asked for again the next time")
    func failing() async throws {
        let png = try Fixture.bytes("plain.png")
        let server = try await MockServer.start { _ in MockResponse.notFound }
        server.enqueue(
            MockResponse(status: .internalServerError), picture(Array("no picture".utf8)), picture(png))
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

    @Test("the phases end with the picture, whatever came before")
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

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
#endif
