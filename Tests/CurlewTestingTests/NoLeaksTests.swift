import Curlew
import CurlewTesting
import Glibc
import HTTPTypes
import Testing

@testable import CurlewTestingTraits

@Suite("NoLeaks", .endsServers, .serialized, .timeLimit(.minutes(1)))
struct NoLeaksTests {
    private let check = LeakCheck(patience: .milliseconds(20))

    @Test("a test that cleans up passes")
    func clean() async throws {
        let left = try await LeakCheck(patience: NoLeaksTrait.patience).leaks {
            let server = try await MockServer.start { _ in MockResponse(body: "x") }
            let session = try HTTPSession(eventLoops: [CurlewEventLoop(name: "curlew-clean")], chain: .bare)
            #expect(try await session.get(.raw(server.url())).status == .ok)
            await Task { await Task.yield() }.value
            await session.shutdown()
            await server.shutdown()
        }
        #expect(left == [])
    }

    @Test("an open descriptor is reported")
    func descriptor() async throws {
        let held = Held<RefusedPort>()
        let left = try await self.check.leaks { await held.set(try RefusedPort.unused()) }
        #expect(left.count == 1)
        #expect(left.first?.hasPrefix("descriptor ") == true, "\(left)")
        await held.set(nil)
    }

    @Test("an open connection is reported with its peer")
    func connection() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try await connection.closed
        }
        let session = try HTTPSession(chain: .bare)
        let left = try await self.check.leaks { _ = try await session.get(.raw(server.url())) }
        // The server's end of the connection, in the same process, is a separate one.
        #expect(left.contains { $0.hasPrefix("connection ") && $0.hasSuffix("port \(server.port))") }, "\(left)")
    }

    @Test("a running thread is reported")
    func thread() async throws {
        let held = Held<CurlewEventLoop>()
        let left = try await self.check.leaks { await held.set(try CurlewEventLoop(name: "curlew-kept")) }
        #expect(left.contains("thread curlew-kept"), "\(left)")
        await held.set(nil)
    }

    @Test("many unnamed threads are reported")
    func unnamedThreads() async throws {
        let count = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 5
        let held = Held<[IdleThread]>()
        let left = try await self.check.leaks { await held.set(try (0..<count).map { _ in try IdleThread() }) }
        #expect(left.contains { $0.hasSuffix(" threads") }, "\(left)")
        await held.set(nil)
    }

    @Test("a running Swift task is reported, however it was started")
    func task() async throws {
        let clock = TestClock()
        let left = try await self.check.leaks {
            Task { Task { try await clock.sleep(for: .seconds(1)) } }
            try await clock.waitForSleepers()
        }
        #expect(left == ["a task that the test started"])
        clock.advance(by: .seconds(1))
    }

    @Test("a running task of a session is reported with its request")
    func sessionTask() async throws {
        let stall = try StalledListener()
        let session = try HTTPSession(chain: .bare)
        let held = Held<TaskActor>()
        let left = try await self.check.leaks {
            let task = try #require(session.session).dataTask(CurlewRequest(.get, stall.url("/kept")))
            task.resume()
            _ = await task.state
            await held.set(task)
        }
        #expect(left.contains { $0.hasSuffix("(GET \(stall.url("/kept")))") }, "\(left)")
        await held.value?.cancel()
    }

    @Test("the trait fails a test that leaks")
    func trait() async throws {
        let clock = TestClock()
        let test = try #require(Test.current)
        try await withKnownIssue {
            try await NoLeaksTrait(patience: .zero).provideScope(for: test, testCase: Test.Case.current) {
                Task { try await clock.sleep(for: .seconds(1)) }
                try await clock.waitForSleepers()
            }
        } matching: { issue in
            issue.comments.contains { $0.rawValue == "left behind: a task that the test started" }
        }
        clock.advance(by: .seconds(1))
    }
}

/// Holds the leaked value of a test until it is released.
private actor Held<Value: Sendable> {
    var value: Value?

    func set(_ value: Value?) { self.value = value }
}

/// An idle thread that ends with the value.
private final class IdleThread: Sendable {
    private let pipe: (read: Int32, write: Int32)
    private let thread: pthread_t

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(Glibc.pipe(&ends) == 0)
        self.pipe = (ends[0], ends[1])
        var thread = pthread_t()
        let end = UnsafeMutableRawPointer(bitPattern: Int(ends[0]) + 1)
        let result = pthread_create(
            &thread, nil,
            { end in
                var byte: UInt8 = 0
                _ = Glibc.read(Int32(Int(bitPattern: end) - 1), &byte, 1)
                return nil
            }, end)
        try #require(result == 0)
        self.thread = thread
    }

    deinit {
        close(self.pipe.write)
        pthread_join(self.thread, nil)
        close(self.pipe.read)
    }
}
