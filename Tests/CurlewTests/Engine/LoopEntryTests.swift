import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

/// A caller's thread starts an exchange on a sleeping loop, and leaves the rest to the loop's thread.
@Suite("Running a sleeping loop on a caller's thread", .keepsToPool, .endsServers, .noLeaks, .timeLimit(.minutes(1)))
struct LoopEntryTests {
    /// Answers with the request's path; `/silent` gets no answer.
    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            if request.target == "/silent" { try await untilCancelled() }
            return MockResponse(body: .string(request.target))
        }
    }

    @Test("a limit nearer than the loop's next timer ends the exchange", arguments: [1, 50])
    func nearerLimit(milliseconds: Int) async throws {
        let server = try await server()
        let session = try makeSession()
        for number in 0..<20 {
            #expect(try await session.fetch(server.url("/\(number)")) == Array("/\(number)".utf8))
        }
        let error = await curlewError {
            let options = RequestOptions(totalTimeout: .milliseconds(milliseconds))
            _ = try await session.fetch(server.url("/silent"), options: options)
        }
        #expect(error?.code == .totalTimeout)
        #expect(try await session.fetch(server.url("/after")) == Array("/after".utf8))
    }

    @Test("each of 64 threads gets the responses to its own requests")
    func threads() async throws {
        let server = try await server()
        let session = try makeSession()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<64 {
                let executor = try CurlewEventLoop(name: "caller-\(thread)")
                group.addTask(executorPreference: executor) { () async throws -> Void in
                    for number in 0..<20 {
                        let path = "/\(thread)/\(number)"
                        #expect(try await session.fetch(server.url(path)) == Array(path.utf8))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(server.requestCount == 64 * 20)
    }

    @Test("exchanges that are cancelled while they start end as cancelled, and the next one is answered")
    func cancelled() async throws {
        let server = try await server()
        let session = try makeSession()
        for number in 0..<100 {
            let path = "/\(number)"
            let task = Task { try await session.fetch(server.url(path)) }
            if number % 2 == 0 { task.cancel() }
            switch await task.result {
            case .success(let bytes): #expect(bytes == Array(path.utf8))
            case .failure(let error): #expect((error as? CurlewError)?.code == .cancelled)
            }
        }
        #expect(try await session.fetch(server.url("/last")) == Array("/last".utf8))
    }

    @Test("a new connection is opened by the loop's thread, and its caller waits for it")
    func newConnection() async throws {
        let session = try makeSession()
        for number in 0..<5 {
            let server = try await server()
            #expect(try await session.fetch(server.url("/\(number)")) == Array("/\(number)".utf8))
            await server.shutdown()
            let error = await curlewError { _ = try await session.fetch(server.url("/gone")) }
            #expect(error?.code == .connectionRefused)
        }
    }

    @Test("a loop without references ends, although callers have run it")
    func ends() async throws {
        let server = try await server()
        weak var core: LoopCore?
        do {
            let loop = try CurlewEventLoop(name: "curlew-entered")
            core = loop.core
            let session = try HTTPSession(eventLoops: [loop], chain: .bare)
            for number in 0..<20 {
                #expect(try await session.fetch(server.url("/\(number)")) == Array("/\(number)".utf8))
            }
        }
        try await eventually("the loop's core is gone") { core == nil }
    }
}
