import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Bodies spooled to a file", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct SpoolTests {
    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse()
        }
    }

    @Test("a form is spooled to a file and sent from it repeatedly, with its boundary and a length")
    func form() async throws {
        let server = try await server()
        let api = try makeSession(baseURL: server.url())
        let folder = try ScratchFolder()
        var form = try MultipartFormData.test()
        form.append("1", name: "a")
        try form.append(.once(chunks([[65], [66]])), name: "s")
        let request = try api.request(.post, "x", .multipart(form))
        #expect(request.body.length == nil && !request.body.isReplayable)
        try folder.write("body", Array("old".utf8))
        let spooled = try await request.spoolingBody(to: folder.file("body"))
        #expect(spooled.body.isReplayable)
        let expected = """
            --B\r
            Content-Disposition: form-data; name="a"\r
            \r
            1\r
            --B\r
            Content-Disposition: form-data; name="s"\r
            \r
            AB\r
            --B--\r\n
            """
        for _ in 0..<2 {
            _ = try await api.send(spooled)
            let received = try #require(await server.takeRequest())
            #expect(received.text == expected)
            #expect(received.fields[.contentLength] == "\(expected.utf8.count)")
            #expect(received.fields[.contentType] == "multipart/form-data; boundary=B")
        }
        #expect(try folder.bytes("body") == Array(expected.utf8))
        #expect(folder.names == ["body"])
        var status = stat()
        #expect(stat(folder.file("body"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test("a body of any kind can be spooled, and a file onto itself")
    func kinds() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("body")
        let large = Array(repeating: UInt8(3), count: 600_000)
        for (body, bytes) in [
            (CurlewRequest.Body.bytes(large), large), (.file(path), large), (.file(path, offset: 599_998), [3, 3]),
            (.stream { chunks([[], [1], []]) }, [1]), (.bytes([]), []),
        ] {
            let spooled = try await body.spooled(to: path)
            #expect(spooled.length == Int64(bytes.count))
            #expect(try await spooled.bytes() == bytes)
        }
        #expect(try await CurlewRequest.Body.none.spooled(to: folder.file("none")).isNone)
        #expect(folder.names == ["body"])
    }

    @Test("the throttle applies when the file is sent, not when it is written")
    func throttled() async throws {
        let folder = try ScratchFolder()
        let clock = TestClock()
        var form = try MultipartFormData.test()
        form.append("12345", name: "a")
        form.throttle = MultipartFormData.Throttle(packetSize: 40, delay: .seconds(1), clock: clock)
        let body = try await form.spooled(to: folder.file("body"))
        #expect(clock.now.offset == .zero)
        let reading = Task { try await body.bytes() }
        try await clock.advanceToNextSleeper()
        #expect(try await reading.value.count == Int(try #require(form.length)))
        #expect(body.length == form.length)
    }

    @Test("a body that fails leaves the old file, and no temporary one")
    func failsHalfway() async throws {
        struct Broken: Error {}
        let folder = try ScratchFolder()
        try folder.write("body", [1])
        let bodies: [(CurlewRequest.Body, ErrorCode)] = [
            (.stream { failing(after: [2], Broken()) }, .bodyFailed),
            (.once(length: 9, chunks([[1]])), .bodyLengthMismatch),
            (.file("/nowhere"), .bodyFailed),
        ]
        for (body, code) in bodies {
            let error = await curlewError { _ = try await body.spooled(to: folder.file("body")) }
            #expect(error?.code == code)
            #expect(folder.names == ["body"])
            #expect(try folder.bytes("body") == [1])
        }
    }

    @Test("a cancelled write leaves no file")
    func cancelled() async throws {
        let folder = try ScratchFolder()
        let (stream, feed) = AsyncStream.makeStream(of: [UInt8].self)
        let path = folder.file("body")
        let writing = Task { try await CurlewRequest.Body.once(stream).spooled(to: path) }
        feed.yield([1])
        writing.cancel()
        let error = await curlewError { _ = try await writing.value }
        #expect(error?.code == .cancelled)
        #expect(folder.names.isEmpty)
    }

    @Test("an unwritable path is an error, and only regular files are replaced")
    func places() async throws {
        let folder = try ScratchFolder()
        let pipe = folder.file("pipe")
        mkfifo(pipe, 0o600)
        for path in ["/nowhere/at/all", folder.path, pipe, "", "/dev/null", "/proc/body"] {
            let error = await curlewError { _ = try await CurlewRequest.Body.bytes([1]).spooled(to: path) }
            #expect(error?.code == .bodyFailed, "\(path)")
        }
        #expect(folder.names == ["pipe"])
    }

    @Test("a full disk is an error, and no file is left")
    func full() async throws {
        // The limit is the maximum size of a file; SIGXFSZ would end the process.
        let previous = signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        var small = rlimit(rlim_cur: 16 << 20, rlim_max: limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &small)
        defer {
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            signal(SIGXFSZ, previous)
        }
        let folder = try ScratchFolder()
        let body = CurlewRequest.Body.bytes(Array(repeating: 0, count: 17 << 20))
        let error = await curlewError { _ = try await body.spooled(to: folder.file("body")) }
        #expect(error?.code == .bodyFailed)
        #expect(folder.names.isEmpty)
    }
}
