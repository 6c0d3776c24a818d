import CSystemFaults
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("Why a connection could not be made", .endsServers, .timeLimit(.minutes(1)))
struct ConnectErrorTests {
    @Test(
        "a lack of descriptors has its own error, also after a refusal, and the session recovers from it",
        .enabled(if: curlew_faults_are_available() != 0, "ThreadSanitizer has these calls"))
    func outOfDescriptors() async throws {
        let refused = try RefusedPort.unused()
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        // Leaves a handle behind that has met a refusal, and everything made that the session needs but a socket.
        #expect(await curlewError { _ = try await session.get(.raw(refused.url())) }?.code == .connectionRefused)

        // Of the loop alone: without any descriptor libdispatch ends the process.
        curlew_arm_fault(CURLEW_FAULT_SOCKET, 0, .max)
        let error = await curlewError { _ = try await session.get(.raw(server.url())) }
        curlew_disarm_faults()
        #expect(error?.code == .resourcesExhausted)
        #expect(error?.message.contains("too many open files") == true, "\(String(describing: error))")

        _ = try await session.get(.raw(server.url())).body.collect(upTo: .kibibytes(1))
    }

    @Test("a request with another read buffer size works after a name was not found")
    func otherBuffer() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        #expect(await curlewError { _ = try await session.get("http://name.invalid/") }?.code == .hostNotFound)
        var options = RequestOptions()
        options.readBufferSize = .kibibytes(16)
        #expect(try await session.fetch(server.url(), options: options) == Array("ok".utf8))
    }
}
