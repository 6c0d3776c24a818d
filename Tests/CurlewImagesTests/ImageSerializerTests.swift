#if Images && TestKit
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewImages

@Suite("Responses as images", .noLeaks, .timeLimit(.minutes(1)))
struct ImageSerializerTests {
    @Test("the serializer accepts AFNetworking's media types and newer ones, and detects the format from the bytes")
    func serializer() async throws {
        let types = ["tiff", "jpeg", "gif", "png", "ico", "x-icon", "bmp", "x-bmp", "x-xbitmap", "x-win-bitmap"]
        let newer = ["webp", "avif", "vnd.microsoft.icon"]
        #expect(ImageResponseSerializer.contentTypes == (types + newer).map { ContentType("image", $0) })
        #expect(ImageResponseSerializer().scale == 1)
        let png = try Fixture.bytes("plain.png")
        for (type, bytes, isTaken) in [
            ("image/png", png, true), ("image/x-win-bitmap", png, true), ("image/avif", png, true),
            ("text/html", png, false),
            ("image/svg+xml", png, false), ("image/png", Array("<html>".utf8), false), ("image/png", [], false),
        ] {
            let server = try await MockServer.start { _ in imageResponse(bytes, type: type) }
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

    @Test("bytes that are not an image are refused at once, even if the image is decoded later")
    func encoded() async throws {
        let png = try Fixture.bytes("plain.png")
        let server = try await MockServer.start { _ in imageResponse(png) }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        var file = try await api.get("a", as: .encodedImage)
        #expect(file.bytes == png && file.format == .png && file.scale == 1)
        file.scale = 2
        let image = try await file.decoded(Image.DecodingOptions(fitting: Image.Size(24, 24)))
        #expect(image.size == Image.Size(24, 16) && image.scale == 2)
        server.enqueue(imageResponse(Array("<html>".utf8)), imageResponse([]), imageResponse(Array(png[..<40])))
        for code in [ErrorCode.decodingFailed, .emptyBody] {
            let error = await #expect(throws: CurlewError.self) { _ = try await api.get("a", as: .encodedImage) }
            #expect(error?.code == code)
        }
        let broken = try await api.get("a", as: .encodedImage)
        let error = await #expect(throws: CurlewError.self) { _ = try await broken.decoded() }
        #expect(error?.code == .decodingFailed)
        await api.shutdown()
        await server.shutdown()
    }

    @Test("images, previews and filters are computed outside the event loop that the task prefers")
    func offLoop() async throws {
        let png = try Fixture.bytes("plain.png")
        let server = try await MockServer.start { _ in imageResponse(png) }
        let api = try HTTPSession(baseURL: server.url(), chain: .bare)
        let loop = try #require(api.session?.eventLoop)
        let filter = ImageFilter(identifier: "where") { image in
            #expect(loop.isIsolatingCurrentContext() == false)
            return image
        }
        let downloader = ImageDownloader(session: api)
        try await withTaskExecutorPreference(loop) {
            var serializer = ImageResponseSerializer()
            serializer.scale = 2
            let image = try await api.get("a", as: serializer)
            #expect(image.scale == 2)
            _ = try await downloader.load("a")
            await downloader.prefetch("a", filter: filter)
            #expect(await downloader.cache?.count == 2)
            _ = try await downloader.load("b", filter: filter)
        }
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
