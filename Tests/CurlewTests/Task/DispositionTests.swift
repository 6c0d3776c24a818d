import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Decisions on a response", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct DispositionTests {
    private func options(
        _ decide: @escaping @Sendable (HTTPResponse, TaskActor?) async throws -> RequestOptions.ResponseDisposition
    ) -> RequestOptions {
        var options = RequestOptions()
        options.onResponse = decide
        return options
    }

    private func server(_ response: MockResponse = MockResponse(body: "hello")) async throws -> MockServer {
        try await MockServer.start { _ in response }
    }

    @Test("an allowed response is returned unchanged")
    func allowed() async throws {
        let server = try await server()
        let session = try makeSession()
        let response = try await session.get(.raw(server.url()), options: options { _, _ in .allow })
        #expect(try await response.body.collect(upTo: 9) == Array("hello".utf8))
        #expect(response.file == nil && response.task?.kind == .data)
    }

    @Test("a cancelled response ends its task and closes its connection")
    func cancelled() async throws {
        let server = try await server(MockResponse(body: .pattern(count: 1 << 26)))
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.get(
                .raw(server.url()),
                options: options { head, task in
                    #expect(head.status == .ok && task != nil)
                    return .cancel
                })
        }
        #expect(error?.code == .cancelled && error?.response?.status == .ok && error?.stage == .receiving)
    }

    @Test("a closure that throws ends the task with its own error")
    func throwing() async throws {
        struct Unwanted: Error {}
        let server = try await server(MockResponse(body: .pattern(count: 1 << 26)))
        let session = try makeSession()
        let error = await linkError {
            _ = try await session.get(.raw(server.url()), options: options { _, _ in throw Unwanted() })
        }
        #expect(error is Unwanted)
    }

    @Test("a response that becomes a download keeps its task, progress and metrics, and has a file as its body")
    func download() async throws {
        let folder = try ScratchFolder()
        let server = try await server(MockResponse(body: .pattern(count: 1 << 20)))
        let session = try makeSession()
        let seen = Guarded<[TaskActor]>([])
        var options = options { _, task in
            #expect(task?.kind == .data)
            return .download(.folder(folder.path))
        }
        options.onTask = { task in seen.withLock { $0.append(task) } }
        let response = try await session.get(.raw(server.url("/a.bin")), options: options)
        let file = try #require(response.file)
        #expect(file.path == folder.file("a.bin") && file.size == 1 << 20)
        let bytes = try folder.bytes("a.bin")
        #expect(BytePattern.matches(bytes, at: 0))
        #expect(try await response.body.collect(upTo: 0) == [])
        let task = try #require(seen.withLock { $0 }.first)
        #expect(response.task === task && task.kind == .download)
        var last: TaskProgress?
        for await progress in task.progress { last = progress }
        #expect(last?.received.wire == 1 << 20)
        #expect(await task.metrics.last?.receivedBodyBytes == 1 << 20)
        // The task has its options, and with them the closure that holds this list.
        seen.withLock { $0 = [] }
    }

    @Test("the decision on a response is made once, after redirects and decoding")
    func chain() async throws {
        let folder = try ScratchFolder()
        let text = Array(repeating: UInt8(ascii: "a"), count: 10_000)
        let coded = try ContentCoding.gzip.encode(text)
        let server = try await MockServer.start { request in
            if request.target == "/" { return MockResponse(status: .found, fields: [.location: "/there.txt"]) }
            return MockResponse(fields: [.contentEncoding: "gzip"], body: .bytes(coded))
        }
        let session = try HTTPSession(transport: try #require(try makeSession().session), chain: .bare) {
            StandardChain()
        }
        let asked = Guarded(0)
        let response = try await session.get(
            .raw(server.url()),
            options: options { _, _ in
                asked.withLock { $0 += 1 }
                return .download(.folder(folder.path), integrity: IntegrityRequirement(length: 10_000))
            })
        #expect(response.file?.path == folder.file("there.txt") && response.file?.history.count == 1)
        #expect(try folder.bytes("there.txt") == text)
        #expect(asked.withLock { $0 } == 1)
    }

    @Test("an unsuccessful response is not saved, and a file that cannot be created is an error")
    func failures() async throws {
        let folder = try ScratchFolder()
        let refusing = try await server(MockResponse(status: .notFound, body: "none"))
        let session = try makeSession()
        let options = options { _, _ in .download(.file(folder.file("a"))) }
        let response = try await session.get(.raw(refusing.url()), options: options)
        #expect(response.status == .notFound && response.file == nil && response.task?.kind == .data)
        #expect(try await response.body.collect(upTo: 9) == Array("none".utf8))
        try folder.write("a", [1])
        let server = try await server(MockResponse(body: .pattern(count: 1 << 26)))
        #expect(
            await curlewError { _ = try await session.get(.raw(server.url()), options: options) }?.code == .fileExists)
        #expect(try folder.bytes("a") == [1])
    }

    @Test("all callers that wait for a task's response get the result of one decision")
    func waiters() async throws {
        let folder = try ScratchFolder()
        let server = try await server()
        let session = try #require(try makeSession().session)
        let asked = Guarded(0)
        let options = options { _, _ in
            asked.withLock { $0 += 1 }
            return .download(.file(folder.file("a")))
        }
        let task = try session.dataTask(CurlewRequest(.get, server.url(), options: options))
        await withThrowingTaskGroup(of: Int64?.self) { group in
            for _ in 0..<4 { group.addTask { try await task.response().file?.size } }
            group.addTask {
                task.resume()
                return 5
            }
            // A caller that comes too late to wait gets an error.
            while let result = await group.nextResult() {
                switch result {
                case .success(let size): #expect(size == 5)
                case .failure(let error): #expect((error as? CurlewError)?.code == .responseAlreadyTaken)
                }
            }
        }
        #expect(asked.withLock { $0 } == 1)
        let other = try await session.send(CurlewRequest(.get, server.url(), options: self.options { _, _ in .allow }))
        #expect(try await other.body.collect(upTo: 9) == Array("hello".utf8))
    }

    @Test("a caller that is cancelled during the decision of another caller does not wait for it")
    func cancelledWaiter() async throws {
        let (beginnings, beginning) = AsyncStream.makeStream(of: Void.self)
        let (pauses, pause) = AsyncStream.makeStream(of: Void.self)
        let decision = SharedDecision { _, _ in
            beginning.finish()
            for await _ in pauses {}
            return .allow
        }
        let response = try stubResponse("{}")
        let first = Task { try await decision.resolve(response) }
        for await _ in beginnings {}
        let second = Task { try await decision.resolve(response) }
        second.cancel()
        #expect(await curlewError { _ = try await second.value }?.code == .cancelled)
        pause.finish()
        #expect(try await first.value.status == .ok)
    }

    @Test("a response without a task can be decided on")
    func stub() async throws {
        let folder = try ScratchFolder()
        let session = try HTTPSession(transport: StubTransport { _ in .response(body: .string("hello")) }, chain: .bare)
        {
            ContentDecoding()
        }
        let response = try await session.get(
            "http://stub.test/a",
            options: options { _, task in
                #expect(task == nil)
                return .download(.folder(folder.path))
            })
        #expect(response.file?.size == 5 && response.file?.path == folder.file("a"))
    }
}
