#if Images && TestKit
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewImages

@Suite("Shared and cancelled requests for images", .noLeaks, .timeLimit(.minutes(1)))
struct ImageRequestTests {
    /// A server that answers with an image once the test allows it.
    private func gatedServer() async throws -> (MockServer, AsyncStream<Void>.Continuation) {
        let png = try Fixture.bytes("plain.png")
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate {}
            return imageResponse(png)
        }
        return (server, open)
    }

    @Test("equal requests share one download, which survives the cancellation of one request")
    func merged() async throws {
        let (server, open) = try await gatedServer()
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        let first = Task { try await downloader.load("a") }
        try await server.waitForConnections { $0.accepted == 1 }
        let second = Task { try await downloader.load("a", filter: .resized(to: Image.Size(8, 8))) }
        let receipt = await downloader.prefetch("a")
        try await eventually("all three wait") { await downloader.requestCount == 3 }
        first.cancel()
        let error = await #expect(throws: CurlewError.self) { _ = try await first.value }
        #expect(error?.code == .cancelled)
        await downloader.cancel(receipt)
        await downloader.cancel(receipt)
        #expect(await downloader.activeCount == 1)
        open.finish()
        #expect(try await second.value.size == Image.Size(8, 8))
        #expect(server.requestCount == 1)
        await api.shutdown()
        await server.shutdown()
    }

    @Test("a thousand cancelled requests leave no state behind, and end the download")
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

    @Test("a request after a cancelled one gets its image, from the cache or by a new download")
    func behindCancelled() async throws {
        let (server, open) = try await gatedServer()
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        for name in ["a", "b"] {
            let first = await downloader.prefetch(name)
            try await server.waitForConnections { $0.accepted == (name == "a" ? 1 : 2) }
            await downloader.cancel(first)
        }
        // The cancelled requests may still be ending.
        let kept = try Image(size: Image.Size(1, 1), pixels: [1, 2, 3, 255])
        await downloader.cache?.add(kept, for: server.url("/a"))
        #expect(try await downloader.load("a").pixels == [1, 2, 3, 255])
        let again = Task { try await downloader.load("b") }
        open.finish()
        #expect(try await again.value.format == .png)
        try await eventually("all have ended") { await downloader.activeCount == 0 }
        await api.shutdown()
        await server.shutdown()
    }

    @Test("two requests with the same id and URL are cancelled independently")
    func sameIdentifier() async throws {
        let (server, open) = try await gatedServer()
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        let first = await downloader.prefetch("a", id: "same")
        let second = await downloader.prefetch("a", id: "same")
        #expect(first != second)
        await downloader.cancel(second)
        await downloader.cancel(second)
        #expect(await downloader.requestCount == 1)
        open.finish()
        try await eventually("the first has its image") { await downloader.cache?.count == 1 }
        try await eventually("it has ended") { await downloader.activeCount == 0 }
        await api.shutdown()
        await server.shutdown()
    }

    @Test("the receipt of a request with phases cancels it, and the error names the URL")
    func cancelledByReceipt() async throws {
        let (server, open) = try await gatedServer()
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let downloader = ImageDownloader(session: api)
        let phases = downloader.image("a", id: "mine")
        #expect(phases.receipt.id == "mine" && phases.receipt.url == "a")
        try await eventually("the request waits") { await downloader.requestCount == 1 }
        await downloader.cancel(phases.receipt)
        var last: ImageDownloader.Phase?
        for await phase in phases { last = phase }
        guard case .failed(let error) = last else {
            Issue.record("the last phase is \(String(describing: last))")
            return
        }
        #expect(error.code == .cancelled && error.message.contains(server.url("/a")))
        open.finish()
        try await eventually("the download has ended") { await downloader.activeCount == 0 }
        await api.shutdown()
        await server.shutdown()
    }

    @Test("a request that is cancelled before its start sends nothing to the server")
    func cancelledEarly() async throws {
        let transport = StubTransport { _ in .response(fields: [.contentType: "image/png"], body: .bytes([])) }
        let api = try HTTPSession(baseURL: "http://example.com", transport: transport, chain: .bare)
        let downloader = ImageDownloader(session: api)
        await downloader.cache?.add(
            try Image(size: Image.Size(1, 1), pixels: [1, 2, 3, 255]), for: "http://example.com/b")
        for name in ["a", "b"] {
            let (request, phases) = downloader.request(name, isShown: true)
            await downloader.cancel(phases.receipt)
            await downloader.begin(request)
            var codes: [ErrorCode?] = []
            for await phase in phases {
                if case .failed(let error) = phase { codes.append(error.code) } else { codes.append(nil) }
            }
            #expect(codes == [.cancelled])
        }
        #expect(transport.received.isEmpty)
        #expect(await downloader.requestCount == 0)
    }
}
#endif
