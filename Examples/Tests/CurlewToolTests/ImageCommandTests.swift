import ArgumentParser
import Curlew
import CurlewImages
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Glibc
import HTTPTypes
import Testing

@testable import CurlewTool

@Suite("curlew image", .noLeaks, .timeLimit(.minutes(1)))
struct ImageCommandTests {
    private func image() throws -> Image {
        var pixels: [UInt8] = []
        for index in 0..<64 { pixels += index % 8 < 4 ? [255, 0, 0, 255] : [0, 0, 255, 255] }
        return try Image(size: Image.Size(8, 8), pixels: pixels)
    }

    @Test("an image is written in another size and format, and no existing file is overwritten")
    func written() async throws {
        let png = try image().encoded(as: .png)
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "image/png"], body: .bytes(png))
        }
        let path = "/tmp/curlew-image-\(getpid())-\(UInt32.random(in: 0...UInt32.max)).webp"
        let command = try ImageCommand.parse([server.url(), "--resize", "4x100", "--output", path])
        try await command.run()
        let file = try #require(fopen(path, "re"))
        var bytes = [UInt8](repeating: 0, count: 10_000)
        let count = fread(&bytes, 1, bytes.count, file)
        fclose(file)
        let written = try Image(decoding: Array(bytes.prefix(count)))
        #expect(written.size == Image.Size(4, 4) && written.format == .webP)
        let again = await #expect(throws: ExitCode.self) { try await command.run() }
        #expect(again?.rawValue != 0)
        unlink(path)
        await server.shutdown()
    }

    @Test("a very tall image has a preview of 500 lines")
    func tall() throws {
        let image = try Image(size: Image.Size(10, 40_000), pixels: [UInt8](repeating: 255, count: 1_600_000))
        let text = try HalfBlocks.text(image, columns: 10)
        #expect(text.split(separator: "\n").count == 500)
    }

    @Test("an image is shown in half blocks, two rows of pixels in a row of text")
    func shown() throws {
        let text = try HalfBlocks.text(image(), columns: 8)
        let lines = text.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(
            lines.allSatisfy {
                $0.hasPrefix("\u{1B}[38;2;255;0;0;48;2;255;0;0m▀") && $0.hasSuffix("0;0;255m▀\u{1B}[0m")
            })
    }

    @Test("a terminal shows a progress line for an image, and removes the line at the end")
    func activity() async throws {
        let png = try image().encoded(as: .png)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate { break }
            return MockResponse(fields: [.contentType: "image/png"], body: .bytes(png))
        }
        let tool = try ToolProcess(["image", server.url()], columns: 100)
        let text = "An image is loading."
        try await eventually("the line is there") { tool.output.hasSuffix(text) }
        open.finish()
        let end = await tool.end()
        #expect(end.status == 0)
        // The sequence that clears the line follows each occurrence of its text.
        let parts = end.output.components(separatedBy: text)
        #expect(parts.dropFirst().allSatisfy { $0.hasPrefix("\r\u{1B}[K") })
        #expect(end.output.contains("png, 8 × 8"))
        await server.shutdown()
    }

    @Test(
        "an invalid command line is refused",
        arguments: [["--resize", "0x5", "a"], ["--resize", "5", "a"], ["-o", "a.gif", "u"], []])
    func refused(_ words: [String]) {
        #expect(throws: (any Error).self) { _ = try ImageCommand.parse(words) }
    }
}
