import CurlewTesting
import CurlewTestingTraits
import Dispatch
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Large forms", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct LargeFormTests {
    private func counter() async throws -> MockServer {
        var configuration = MockServer.Configuration()
        configuration.recordedBodyLimit = 0
        return try await MockServer.start(configuration) { request in
            var count = 0
            for try await chunk in request.body { count += chunk.count }
            return MockResponse(body: .string("\(count)"))
        }
    }

    /// The peak memory of the process since the last call, in bytes.
    private func peak() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        // Resets the peak to the current memory.
        try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
        return try #require(Int(line.split(whereSeparator: \.isWhitespace)[1])) << 10
    }

    @Test("files of a GiB are sent in limited memory, with progress to the end")
    func gibibyte() async throws {
        let server = try await counter()
        let api = try makeSession(baseURL: server.url())
        let folder = try ScratchFolder()
        let path = try folder.sparse("large", size: 1 << 30)
        var form = MultipartFormData()
        try form.append(file: path, name: "whole")
        try form.append(file: path, name: "range", range: 5..<(64 << 20))
        let length = try #require(form.length)
        #expect(length > 1 << 30)
        let (progress, announce) = AsyncStream.makeStream(of: TaskProgress.self)
        var options = RequestOptions()
        options.onTask = { task in
            Task {
                for await value in task.progress { announce.yield(value) }
                announce.finish()
            }
        }
        _ = try peak()
        let before = try peak()
        let response = try await api.post("x", .multipart(form), options: options)
        #expect(try await response.body.collect(upTo: 100) == Array("\(length)".utf8))
        #expect(try peak() - before < 48 << 20)
        var last: TaskProgress?
        for await value in progress {
            #expect(value.sent.wire >= last?.sent.wire ?? 0)
            last = value
        }
        #expect(last?.sent.wire == length && last?.sent.total == length)
        #expect(last?.isFinished == true)
    }

    @Test("10,000 parts are sent in large chunks, and parsed again")
    func manyParts() async throws {
        let server = try await MockServer.start { request in
            MockResponse(
                fields: [.contentType: request.fields[.contentType] ?? ""],
                body: .bytes(try await request.body.collect()))
        }
        let api = try makeSession(baseURL: server.url())
        let folder = try ScratchFolder()
        let path = try folder.write("f", Array("file".utf8))
        var form = MultipartFormData()
        for index in 0..<10_000 {
            if index % 10 == 0 {
                try form.append(file: path, name: "\(index)")
            } else {
                form.append("value", name: "\(index)")
            }
        }
        var sizes: [Int] = []
        for try await chunk in try await form.body.stream() { sizes.append(chunk.count) }
        #expect(Int64(sizes.reduce(0, +)) == form.length)
        #expect(sizes.count < 50)
        let response = try await api.post("x", .multipart(form))
        var index = 0
        for try await part in try response.multipart() {
            #expect(part.name == "\(index)")
            let text = try await part.body.collect(upTo: 10)
            #expect(text == Array((index % 10 == 0 ? "file" : "value").utf8))
            index += 1
        }
        #expect(index == 10_000)
    }

    @Test("bytes in memory are sent without a full copy")
    func largeBytes() async throws {
        var form = try MultipartFormData.test()
        let bytes = [UInt8](repeating: 1, count: 64 << 20)
        form.append(bytes, name: "a")
        form.append(bytes, name: "b")
        _ = try peak()
        let before = try peak()
        var count: Int64 = 0
        for try await chunk in try await form.body.stream() { count += Int64(chunk.count) }
        #expect(count == form.length)
        #expect(try peak() - before < 16 << 20)
    }

    @Test("an upload does not need the main thread")
    func mainThread() async throws {
        let server = try await counter()
        let api = try makeSession(baseURL: server.url())
        let folder = try ScratchFolder()
        var form = MultipartFormData()
        try form.append(file: try folder.sparse("f", size: 8 << 20), name: "f")
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        await withCheckedContinuation { continuation in
            DispatchQueue.main.async {
                continuation.resume()
                gate.wait()
            }
        }
        let response = try await api.post("x", .multipart(form))
        #expect(try await response.body.collect(upTo: 100) == Array("\(try #require(form.length))".utf8))
    }
}
