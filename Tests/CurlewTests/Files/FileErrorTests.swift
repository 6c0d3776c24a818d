import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Errors that concern a file", .noLeaks, .timeLimit(.minutes(1)))
struct FileErrorTests {
    /// Checks that the error has the code and the path, and that its description contains the path once.
    private func verify(_ error: CurlewError?, _ code: ErrorCode, _ path: String) throws {
        let error = try #require(error)
        #expect(error.code == code && error.path == path, "\(error)")
        #expect(error.description.ranges(of: path).count == 1, "\(error)")
    }

    @Test("the error of a download contains the path of the destination")
    func download() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("a.bin")
        try folder.write("a.bin", Array("old".utf8))
        let server = try await MockServer.start()
        for _ in 0..<2 { server.enqueue(MockResponse(body: .string("new"))) }
        let session = try makeSession()
        try verify(
            await curlewError { _ = try await session.download(.raw(server.url("/a")), to: .file(path)) }, .fileExists,
            path)
        let missing = folder.file("none/a.bin")
        try verify(
            await curlewError { _ = try await session.download(.raw(server.url("/a")), to: .file(missing)) },
            .fileFailed,
            missing)
        await server.shutdown()
    }

    @Test("the error of a saved response contains the path of the destination")
    func save() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("a.bin")
        try folder.write("a.bin", Array("old".utf8))
        let server = try await MockServer.start()
        for _ in 0..<2 { server.enqueue(MockResponse(body: .string("new"))) }
        let response = try await makeSession().get(.raw(server.url("/a")))
        try verify(await curlewError { _ = try await response.save(to: .file(path)) }, .fileExists, path)
        await server.shutdown()
    }

    @Test("the error of a missing file to be sent contains its path: as a body, in a form, in a resumable upload")
    func upload() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("none.bin")
        let server = try await MockServer.start()
        let session = try makeSession()
        let url = URIReference.raw(server.url("/a"))
        try verify(await curlewError { _ = try await session.post(url, .file(path)) }, .bodyFailed, path)
        try verify(
            await curlewError { _ = try await session.post(url, .multipart { try $0.append(file: path, name: "f") }) },
            .bodyFailed, path)
        try verify(
            await curlewError { _ = try await session.upload(file: path, to: url, resumable: .automatic) }, .bodyFailed,
            path)
        #expect(server.requestCount == 0)
        await server.shutdown()
    }

    @Test("a path with control characters adds no line to the description")
    func controls() {
        let error = CurlewError(.fileFailed, "no").naming("/a\nb")
        #expect(error.path == "/a\nb" && error.description == "file-failed: no, file /a\u{FFFD}b")
    }
}
