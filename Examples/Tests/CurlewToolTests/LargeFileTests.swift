import Curlew
import CurlewTesting
import Foundation
import Glibc
import HTTPTypes
import Synchronization
import Testing

/// Five gibibytes in each direction, more than 32 bits can count. These tests take long and need much disk space, so
/// only `make test-large` runs them.
@Suite(
    "Large files", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: ProcessInfo.processInfo.environment["CURLEW_TEST_LARGE"] == "1", "`make test-large` runs them"))
struct LargeFileTests {
    private static let size = 5 << 30
    private static let memoryLimit = 64_000_000

    @Test("a file of 5 GiB is downloaded within 64 MB of memory")
    func download() async throws {
        let folder = try TemporaryFolder()
        let source = try SparseFile(folder.path("source"), size: Self.size)
        let measured = MeasuredTool()
        let server = try await MockServer.start { _ in
            let chunks = source.chunks { measured.measure() }
            return MockResponse(fields: [.eTag: "\"sparse\""], body: .stream(length: Self.size, chunks))
        }
        let end = await measured.run(try ToolProcess(["download", server.url("/large"), "-o", folder.path("copy")]))
        #expect(end.status == 0, "\(end.complaints)")
        #expect(try SparseFile.size(of: folder.path("copy")) == Self.size)
        #expect(try source.marks(in: folder.path("copy")) == source.marks)
        let peak = try #require(measured.peak)
        #expect(peak < Self.memoryLimit)
        print("downloaded 5 GiB with \(peak / 1_000_000) MB resident at most")
        #expect(folder.names == ["copy", "source"])
        await server.shutdown()
    }

    @Test("a file of 5 GiB is uploaded within 64 MB of memory")
    func upload() async throws {
        let folder = try TemporaryFolder()
        let source = try SparseFile(folder.path("source"), size: Self.size)
        let measured = MeasuredTool()
        let server = try await MockServer.start { request in
            var count = 0
            for try await chunk in request.body { count += chunk.count }
            measured.measure()
            let told = request.fields[.contentLength] ?? "none"
            return MockResponse(body: .string("\(count) of \(told)"))
        }
        let end = await measured.run(try ToolProcess(["upload", folder.path("source"), server.url("/sink")]))
        #expect(end.status == 0, "\(end.complaints)")
        #expect(end.output.contains("\(source.size) of \(source.size)"))
        let peak = try #require(measured.peak)
        #expect(peak < Self.memoryLimit)
        print("uploaded 5 GiB with \(peak / 1_000_000) MB resident at most")
        await server.shutdown()
    }
}

/// A run of the tool, and its greatest resident memory at the end of the body.
private final class MeasuredTool: Sendable {
    private let state = Mutex<(tool: ToolProcess?, peak: Int?)>((nil, nil))

    /// The greatest resident memory in bytes; nil before the end of the body.
    var peak: Int? { state.withLock { $0.peak } }

    func run(_ tool: ToolProcess) async -> ToolProcess.End {
        state.withLock { $0.tool = tool }
        return await tool.end()
    }

    func measure() { state.withLock { $0.peak = $0.tool?.residentPeak } }
}

/// A sparse file with marks at its beginning, beyond 4 GiB, and at its end.
struct SparseFile: Sendable {
    let path: String
    let size: Int
    let marks: [String] = ["begins", "passes", "closes"]

    init(_ path: String, size: Int) throws {
        self.path = path
        self.size = size
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw POSIXError(.EIO) }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw POSIXError(.ENOSPC) }
        for (mark, place) in zip(marks, places) { pwrite(descriptor, mark, 6, off_t(place)) }
    }

    private var places: [Int] { [0, 4 << 30, size - 6] }

    static func size(of path: String) throws -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { throw POSIXError(.ENOENT) }
        return Int(status.st_size)
    }

    /// The bytes of another file at the places of the marks.
    func marks(in path: String) throws -> [String] {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { throw POSIXError(.ENOENT) }
        defer { close(descriptor) }
        return places.map { place in
            var bytes = [UInt8](repeating: 0, count: 6)
            pread(descriptor, &bytes, 6, off_t(place))
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The bytes of the file in chunks of 256 KiB.
    /// - Parameter atEnd: Called after the last chunk was taken.
    func chunks(atEnd: @escaping @Sendable () -> Void) -> Chunks { Chunks(path: path, atEnd: atEnd) }

    struct Chunks: AsyncSequence, Sendable {
        let path: String
        let atEnd: @Sendable () -> Void

        struct Iterator: AsyncIteratorProtocol {
            let file: FileHandle?
            let atEnd: @Sendable () -> Void

            mutating func next() async throws -> [UInt8]? {
                guard let data = try file?.read(upToCount: 256 << 10), !data.isEmpty else {
                    atEnd()
                    return nil
                }
                return Array(data)
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(file: FileHandle(forReadingAtPath: path), atEnd: atEnd) }
    }
}
