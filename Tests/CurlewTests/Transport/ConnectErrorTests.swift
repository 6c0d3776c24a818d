import Curlew
import CurlewTesting
import Glibc
import HTTPTypes
import Testing

@Suite("Why a connection could not be made", .timeLimit(.minutes(1)))
struct ConnectErrorTests {
    @Test("out of descriptors is told as such, also after a refusal, and passes with its cause")
    func outOfDescriptors() async throws {
        let refused = try RefusedPort.unused()
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        // Leaves a handle behind that has met a refusal, and everything made that the session needs but a socket.
        #expect(await curlewError { _ = try await session.get(refused.url()) }?.code == .connectionRefused)

        let error = await withoutFreeDescriptors { await curlewError { _ = try await session.get(server.url()) } }
        #expect(error?.code == .resourcesExhausted)
        #expect(error?.message.contains("too many open files") == true, "\(String(describing: error))")

        _ = try await session.get(server.url()).body.collect(upTo: .kibibytes(1))
        await session.shutdown()
    }

    @Test("after a name that was not found, a request with another read buffer works")
    func otherBuffer() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        #expect(await curlewError { _ = try await session.get("http://name.invalid/") }?.code == .hostNotFound)
        var options = RequestOptions()
        options.readBufferSize = .kibibytes(16)
        #expect(try await session.fetch(server.url(), options: options) == Array("ok".utf8))
        await server.shutdown()
    }

    /// Runs with no descriptor left to be opened. Tests run one at a time.
    private func withoutFreeDescriptors<Result>(_ body: () async -> Result) async -> Result {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let next = dup(0)
        close(next)
        var tight = limit
        tight.rlim_cur = rlim_t(next)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &tight)
        let result = await body()
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return result
    }
}
