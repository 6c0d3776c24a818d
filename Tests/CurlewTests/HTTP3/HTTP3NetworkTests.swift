import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

/// Exchanges through a UDP relay with seeded faults. `make test-http3` runs them.
@Suite(
    "HTTP/3 through a network with faults", .serialized, .enabled(if: HTTP3Server.isAvailable), .noLeaks,
    .timeLimit(.minutes(5)))
struct HTTP3NetworkTests {
    private static let faults: [HTTP3Server.Relay] = [
        .init(drop: 0.01), .init(drop: 0.1), .init(duplicate: 0.3), .init(reorder: 0.3), .init(corrupt: 0.05),
        .init(drop: 0.03, duplicate: 0.1, reorder: 0.1, corrupt: 0.02), .init(foreign: .copies), .init(rebind: 40),
    ]

    private func stage(
        _ relay: HTTP3Server.Relay, _ adjust: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> (HTTP3Server, HTTPSession) {
        let server = try HTTP3Server(options: .init(relay: relay))
        let session = try server.session {
            $0.timeouts.connect = .seconds(30)
            adjust(&$0)
        }
        return (server, session)
    }

    @Test("lost, doubled, reordered, damaged and foreign packets change no response", arguments: faults)
    func responses(_ relay: HTTP3Server.Relay) async throws {
        let (server, session) = try stage(relay)
        let received = try await session.fetch(server.url("/bytes/200000"))
        #expect(received == (0..<200_000).map { UInt8($0 % 251) })
        var request = try CurlewRequest(.post, server.url("/echo"))
        request.body = .bytes(received)
        #expect(try await session.send(request).body.collect(upTo: .mebibytes(1)) == received)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<40 {
                let url = server.url("/stream-\(index)")
                group.addTask {
                    let bytes = try await session.fetch(url)
                    #expect(bytes == Array("hello /stream-\(index)".utf8))
                }
            }
            try await group.waitForAll()
        }
        #expect(try await server.counts(session).connections == 1)
    }

    @Test(
        "a connection that is silent after its handshake fails its requests in bounded time, and takes no later one",
        arguments: [nil, .only] as [HTTP3Server.Relay.Foreign?])
    func silence(_ foreign: HTTP3Server.Relay.Foreign?) async throws {
        let (server, session) = try stage(.init(silences: 1, foreign: foreign)) { $0.timeouts.idle = .seconds(1) }
        let url = server.url("/x")
        let duration = await ContinuousClock().measure {
            await withTaskGroup(of: ErrorCode?.self) { group in
                for _ in 0..<5 {
                    group.addTask { await curlewError { _ = try await session.fetch(url) }?.code }
                }
                for await code in group { #expect(code == .idleTimeout) }
            }
        }
        #expect(duration < .seconds(10))
        #expect(try await session.fetch(server.url("/connection")) == Array("2".utf8))
    }

    @Test("a body whose connection becomes silent is an error in bounded time")
    func silentBody() async throws {
        let (server, session) = try stage(.init()) { $0.timeouts.idle = .seconds(1) }
        #expect(try await session.fetch(server.url("/connection")) == Array("1".utf8))
        let duration = try await ContinuousClock().measure {
            let response = try await session.get(.raw(server.url("/silence")))
            #expect(response.status == .ok)
            let error = await curlewError { _ = try await response.body.collect(upTo: 1000) }
            #expect(error?.code == .idleTimeout, "\(error as Any)")
        }
        #expect(duration < .seconds(10))
        #expect(try await session.fetch(server.url("/connection")) == Array("2".utf8))
    }

    @Test("all requests of a kept connection that becomes silent end with a timeout")
    func silentKept() async throws {
        let (server, session) = try stage(.init()) { $0.timeouts.idle = .seconds(1) }
        let response = try await session.get(.raw(server.url("/silence")))
        var request = try CurlewRequest(.post, server.url("/x"))
        request.body = .string("x")
        let error = await curlewError { _ = try await session.send(request).body.collect(upTo: 100) }
        #expect(error?.code == .idleTimeout, "\(error as Any)")
        #expect(await curlewError { _ = try await response.body.collect(upTo: 1000) } != nil)
        #expect(try await session.fetch(server.url("/connection")) == Array("2".utf8))
    }

    @Test("the end of a session with a silent connection is immediate")
    func shutdown() async throws {
        let (server, session) = try stage(.init())
        let response = try await session.get(.raw(server.url("/silence")))
        let url = server.url("/x")
        let waiting = Task { try await session.fetch(url) }
        let duration = await ContinuousClock().measure { await session.shutdown(deadline: .zero) }
        #expect(duration < .seconds(5))
        #expect(await curlewError { _ = try await waiting.value } != nil)
        #expect(await curlewError { _ = try await response.body.collect(upTo: 1000) } != nil)
    }
}
