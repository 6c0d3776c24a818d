import CSystemFaults
import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Failures to connect", .endsServers, .timeLimit(.minutes(1)))
struct ConnectErrorTests {
    @Test(
        "a lack of descriptors has its own error, also after a refusal, and the session recovers",
        .enabled(if: curlew_faults_are_available() != 0, "ThreadSanitizer has these calls"))
    func outOfDescriptors() async throws {
        let refused = try RefusedPort.unused()
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        // After this refused request the session needs only a socket for the next one: its handle exists already.
        #expect(await curlewError { _ = try await session.get(.raw(refused.url())) }?.code == .connectionRefused)

        // The fault only applies to the loop: libdispatch ends the process without a descriptor.
        curlew_arm_fault(CURLEW_FAULT_SOCKET, 0, .max)
        let error = await curlewError { _ = try await session.get(.raw(server.url())) }
        curlew_disarm_faults()
        #expect(error?.code == .resourcesExhausted)
        #expect(error?.message.contains("too many open files") == true, "\(String(describing: error))")

        _ = try await session.get(.raw(server.url())).body.collect(upTo: .kibibytes(1))
    }

    @Test("the second address is tried while the first one is silent")
    func secondAddress() async throws {
        let stalled = try StalledListener()
        let server = try await MockServer.start(.init(address: .ip("127.0.0.8", port: stalled.port))) { _ in
            MockResponse(body: "ok")
        }
        let session = try makeSession {
            $0.timeouts.connect = .seconds(6)
            $0.route.hosts = [.init(host: "h.test", port: stalled.port, addresses: ["127.0.0.1", "127.0.0.8"])]
        }
        #expect(try await session.fetch("http://h.test:\(stalled.port)/") == Array("ok".utf8))
        await server.shutdown()
    }

    @Test("the third address is tried at once after two refusals")
    func thirdAddress() async throws {
        let server = try await MockServer.start(.init(address: .ip("127.0.0.8", port: 0))) { _ in
            MockResponse(body: "ok")
        }
        let session = try makeSession {
            $0.timeouts.connect = .seconds(60)
            $0.route.hosts = [
                .init(host: "h.test", port: server.port, addresses: ["127.0.0.5", "127.0.0.6", "127.0.0.8"])
            ]
        }
        #expect(try await session.fetch("http://h.test:\(server.port)/") == Array("ok".utf8))
        await server.shutdown()
    }

    @Test("a connect timeout names the host of the request, not the internal name for its addresses")
    func timeoutNames() async throws {
        let stalled = try StalledListener()
        let session = try makeSession {
            $0.timeouts.connect = .milliseconds(300)
            $0.route.hosts = [.init(host: "h.test", port: stalled.port, addresses: ["127.0.0.1"])]
        }
        let error = await curlewError { _ = try await session.get(.raw("http://h.test:\(stalled.port)/")) }
        #expect(error?.code == .connectTimeout)
        #expect(error?.message == "no connection to h.test:\(stalled.port) within 300 ms")
    }

    @Test("two silent addresses end in a connect timeout")
    func silentAddresses() async throws {
        let stalled = try StalledListener()
        let session = try makeSession {
            $0.timeouts.connect = .milliseconds(500)
            $0.timeouts.total = .seconds(30)
            $0.route.hosts = [.init(host: "h.test", port: stalled.port, addresses: ["127.0.0.1", "127.0.0.1"])]
        }
        let error = await curlewError { _ = try await session.get(.raw("http://h.test:\(stalled.port)/")) }
        #expect(error?.code == .connectTimeout)
    }

    @Test("a request that is cancelled while connecting leaves no descriptor behind", .noLeaks)
    func cancelled() async throws {
        let stalled = try StalledListener()
        let session = try makeSession { $0.timeouts.connect = .seconds(30) }
        let request = Task { try await session.get(.raw("http://127.0.0.1:\(stalled.port)/")) }
        while await session.session?.connectionCount() == 0 { await Task.yield() }
        request.cancel()
        #expect(await curlewError { _ = try await request.value }?.code == .cancelled)
        await session.shutdown()
    }

    @Test("a request with another read buffer size works after a failed name look-up")
    func otherBuffer() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        #expect(await curlewError { _ = try await session.get("http://name.invalid/") }?.code == .hostNotFound)
        var options = RequestOptions()
        options.readBufferSize = .kibibytes(16)
        #expect(try await session.fetch(server.url(), options: options) == Array("ok".utf8))
    }
}
