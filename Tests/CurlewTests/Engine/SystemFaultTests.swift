import CSystemFaults
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite(
    "Failures of the system", .serialized, .noLeaks, .timeLimit(.minutes(2)),
    .enabled(if: curlew_faults_are_available() != 0, "ThreadSanitizer has these calls"))
struct SystemFaultTests {
    /// Arms a fault for the event loops of the tests' sessions, during `body`.
    private func with(
        _ fault: curlew_fault, skipping skipped: Int32 = 0, count: Int32 = 1, _ body: () async throws -> Void
    ) async throws {
        curlew_arm_fault(fault, skipped, count)
        defer { curlew_disarm_faults() }
        try await body()
        #expect(curlew_fault_hits(fault) == count)
    }

    private func echo() async throws -> MockServer {
        try await MockServer.start { MockResponse(body: .bytes(Array($0.path.utf8))) }
    }

    @Test("a socket that cannot be watched is an error at once, and the session stays usable")
    func unwatched() async throws {
        let server = try await echo()
        let session = try makeSession()
        // The first request makes the loop watch its own descriptor, which must not fail.
        try await session.expectUsable()
        try await with(CURLEW_FAULT_EPOLL_ADD) {
            let error = await curlewError { _ = try await session.fetch(server.url("/")) }
            #expect(error?.code == .resourcesExhausted)
        }
        #expect(try await session.fetch(server.url("/again")) == Array("/again".utf8))
    }

    @Test("a socket is created as non-blocking, because libcurl does not notice a later failure to make it so")
    func blocking() async throws {
        let server = try await echo()
        let session = try makeSession()
        curlew_arm_fault(CURLEW_FAULT_BLOCKING_SOCKET, 0, .max)
        defer { curlew_disarm_faults() }
        #expect(try await session.fetch(server.url("/1")) == Array("/1".utf8))
        #expect(curlew_fault_hits(CURLEW_FAULT_BLOCKING_SOCKET) == 0)
    }

    @Test("an idle connection is closed for a new one when descriptors run out")
    func descriptors() async throws {
        let first = try await echo()
        let second = try await echo()
        let session = try makeSession()
        #expect(try await session.fetch(first.url("/1")) == Array("/1".utf8))
        // Another running transfer keeps the session from being idle.
        let busy = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.closed
        }
        let waiting = Task { try await session.fetch(busy.url()) }
        try await busy.waitForAccepted(1)
        try await with(CURLEW_FAULT_SOCKET) {
            let body = try await session.fetch(second.url("/2"))
            #expect(body == Array("/2".utf8))
        }
        try await first.waitForConnections(open: 0)
        // The limit of descriptors is lifted, so two more connections are opened in addition to the others.
        #expect(try await session.fetch(first.url("/3")) == Array("/3".utf8))
        #expect(second.connectionCounts.open == 1)
        waiting.cancel()
        _ = await waiting.result
        await session.shutdown()
        for server in [first, second] { await server.shutdown() }
    }

    @Test("idle connections of another session on the loop are closed for a new one")
    func otherSession() async throws {
        let first = try await echo()
        let second = try await echo()
        let loop = try CurlewEventLoop(name: "curlew-test")
        let sessions = try (0..<2).map { _ in try HTTPSession(eventLoops: [loop], chain: .bare) }
        #expect(try await sessions[0].fetch(first.url("/1")) == Array("/1".utf8))
        try await with(CURLEW_FAULT_SOCKET) {
            let body = try await sessions[1].fetch(second.url("/2"))
            #expect(body == Array("/2".utf8))
        }
        try await first.waitForConnections(open: 0)
        for session in sessions { await session.shutdown() }
        for server in [first, second] { await server.shutdown() }
    }

    @Test("a lack of descriptors without idle connections is an error at once")
    func noRoom() async throws {
        let server = try await echo()
        let session = try makeSession()
        try await with(CURLEW_FAULT_SOCKET) {
            let error = await curlewError { _ = try await session.fetch(server.url("/")) }
            #expect(error?.code == .resourcesExhausted)
        }
        #expect(try await session.fetch(server.url("/again")) == Array("/again".utf8))
    }

    // libcurl 7.88 forgets the unsent rest of a request's HEADERS until it sends other bytes, or sends it again after
    // the answer has begun. Such a request ends by its idle timeout, or within the answer. A request without an answer
    // is sent once more.
    @Test(
        "an HTTP/2 request survives partial and delayed writes",
        arguments: [CURLEW_FAULT_SHORT_SEND, CURLEW_FAULT_INTERRUPTED_SEND], [false, true])
    func partialSend(_ fault: curlew_fault, _ usesTLS: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        var configuration = MockServer.Configuration()
        if usesTLS { configuration.tls = ServerTLS([certificate]) }
        let server = try await MockServer.start(configuration) { MockResponse(body: .bytes(Array($0.path.utf8))) }
        for skipped in 0..<Int32(8) {
            let session = try makeSession {
                $0.versionPolicy = usesTLS ? .negotiated : .http2PriorKnowledge
                $0.security = .anchors(pem: certificate.certificatePEM)
                $0.timeouts.idle = Engine.stallsUnsentStreams ? .milliseconds(500) : .seconds(20)
            }
            curlew_arm_fault(fault, skipped, 1)
            defer { curlew_disarm_faults() }
            for number in 0..<12 {
                do {
                    #expect(try await session.fetch(server.url("/\(number)")) == Array("/\(number)".utf8))
                } catch let error as CurlewError {
                    let isLibcurls = error.code == .idleTimeout || error.response != nil
                    #expect(isLibcurls && Engine.stallsUnsentStreams, "after \(skipped): \(error)")
                }
            }
            #expect(curlew_fault_hits(fault) == 1)
            await session.shutdown()
        }
    }

    @Test(
        "a response that arrives before its request was sent is rejected",
        arguments: ["GET", "POST"])
    func overtaken(_ method: String) async throws {
        let (ready, signal) = AsyncStream<Void>.makeStream()
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright")
            guard connection.index == 0 else { return }
            for await _ in ready { break }
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
            _ = try await connection.drain()
        }
        let session = try makeSession()
        let method = try #require(HTTPRequest.Method(method))
        #expect(try await session.fetch(server.url()) == Array("right".utf8))
        try await with(CURLEW_FAULT_OVERTAKEN_SEND) {
            let answer = Task { try await session.send(method, .raw(server.url())).body.collect(upTo: 100) }
            // The fault is reached when the request is about to be sent.
            await withCheckedContinuation { struck in
                Thread.detachNewThread {
                    curlew_await_fault(CURLEW_FAULT_OVERTAKEN_SEND)
                    struck.resume()
                }
            }
            signal.yield()
            if method == .get {
                let body = try await answer.value
                #expect(body == Array("right".utf8))
            } else {
                let error = await curlewError { _ = try await answer.value }
                #expect(error?.code == .connectionLost)
            }
        }
        try await session.expectUsable()
    }
}
