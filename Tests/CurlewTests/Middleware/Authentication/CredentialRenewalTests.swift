import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Renewal of a credential", .endsServers, .timeLimit(.minutes(2)))
struct AuthenticatorTests {
    struct Refused: Error, Equatable {
        var number = 0
    }

    /// A gate that suspends tasks until it is opened.
    actor Gate {
        private var isOpen: Bool
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(isOpen: Bool) { self.isOpen = isOpen }

        func pass() async {
            if !isOpen { await withCheckedContinuation { waiting.append($0) } }
        }

        func open() {
            isOpen = true
            waiting.forEach { $0.resume() }
            waiting = []
        }
    }

    /// A counter of renewals, which suspends them until they may end.
    actor Issuer {
        private(set) var count = 0
        private let gate: Gate
        private let failing: Set<Int>
        /// An element for each started renewal.
        let renewals: AsyncStream<Void>
        private let begun: AsyncStream<Void>.Continuation

        init(isOpen: Bool = true, failing: Set<Int> = []) {
            gate = Gate(isOpen: isOpen)
            self.failing = failing
            (renewals, begun) = AsyncStream.makeStream()
        }

        func renew() async throws -> String {
            count += 1
            let number = count
            begun.yield()
            await gate.pass()
            if failing.contains(number) { throw Refused(number: number) }
            return "token-\(number)"
        }

        func open() async { await gate.open() }
    }

    @Test("a bearer token is sent in the field Authorization, and renewed")
    func bearer() async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.unauthorized), .response(.ok))
        let session = try HTTPSession(transport: stub, chain: .bare) {
            try CredentialRenewal(
                for: "http://a.test", initial: "old", bearer: { (token: String) in token }, renew: { _ in "new" })
        }
        #expect(try await session.get("http://a.test/").status == .ok)
        #expect(stub.received.map { $0.fields[.authorization] } == ["Bearer old", "Bearer new"])
    }

    private static func fields(_ token: String, _ request: inout CurlewRequest) {
        request.fields[.authorization] = "Bearer \(token)"
    }

    private func session(
        _ server: MockServer, _ issuer: Issuer, initial: String? = nil, clock: any Clock<Duration> = ContinuousClock(),
        lifetime: Duration? = nil, connections: Int = 6
    ) throws -> HTTPSession {
        let link = try CredentialRenewal(
            for: server.url(), initial: initial, clock: clock, lifetime: { _ in lifetime }, apply: Self.fields,
            renew: { _ in try await issuer.renew() })
        var configuration = SessionConfiguration()
        configuration.connections.perHost = connections
        return try HTTPSession(configuration: configuration, chain: .bare) { link }
    }

    /// A server that accepts one token, and answers others with 401.
    private func server(accepting token: String, gate: Gate = Gate(isOpen: true)) async throws -> MockServer {
        try await MockServer.start { request in
            let isRight = request.fields[.authorization] == "Bearer \(token)"
            if !isRight { await gate.pass() }
            return MockResponse(status: isRight ? .ok : .unauthorized, body: "answer")
        }
    }

    @Test("a hundred calls with a 401 cause one renewal, and all succeed")
    func singleFlight() async throws {
        // All hundred requests are sent before the first 401: a later call waits, and is not sent with the old token.
        let refusals = Gate(isOpen: false)
        let server = try await server(accepting: "token-1", gate: refusals)
        let issuer = Issuer(isOpen: false)
        let session = try session(server, issuer, initial: "old", connections: 100)
        try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for index in 0..<100 { group.addTask { try await session.get(.raw(server.url("/\(index)"))).status } }
            try await server.waitForRequests(100)
            await refusals.open()
            for await _ in issuer.renewals { break }
            // These requests start during the renewal: they wait, and are not sent with the old token.
            for index in 100..<110 { group.addTask { try await session.get(.raw(server.url("/\(index)"))).status } }
            await issuer.open()
            for try await status in group { #expect(status == .ok) }
        }
        #expect(await issuer.count == 1)
        #expect(server.requestCount == 210)
    }

    @Test("a failed renewal fails all waiting calls once, and the next call renews again")
    func failure() async throws {
        // All twenty requests are sent before the first 401: a later call would wait for the renewal.
        let refusals = Gate(isOpen: false)
        let server = try await server(accepting: "token-2", gate: refusals)
        let issuer = Issuer(isOpen: false, failing: [1])
        let session = try session(server, issuer, initial: "old", connections: 20)
        try await withThrowingTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do {
                        _ = try await session.get(.raw(server.url()))
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            try await server.waitForRequests(20)
            await refusals.open()
            await issuer.open()
            for try await error in group {
                #expect((error as? CurlewError)?.underlying as? Refused == Refused(number: 1))
            }
        }
        #expect(await issuer.count == 1)
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(await issuer.count == 2)
    }

    @Test("a 401 to a fresh credential is the response")
    func noLoop() async throws {
        let server = try await server(accepting: "nothing")
        let issuer = Issuer()
        let session = try session(server, issuer, initial: "old")
        let response = try await session.get(.raw(server.url()))
        #expect(response.status == .unauthorized)
        #expect(try await response.body.collect(upTo: 100) == Array("answer".utf8))
        #expect(await issuer.count == 1)
        #expect(server.requestCount == 2)
    }

    @Test("a missing credential is fetched before the first request, and one near its expiry is renewed before use")
    func window() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let issuer = Issuer()
        let clock = TestClock()
        let session = try session(server, issuer, clock: clock, lifetime: .seconds(300))
        for (step, expected) in [(0, 1), (239, 1), (1, 2), (239, 2), (1000, 3)] {
            clock.advance(by: .seconds(step))
            _ = try await session.get(.raw(server.url()))
            #expect(await server.takeRequest()?.fields[.authorization] == "Bearer token-\(expected)")
        }
    }

    @Test("cancelling a waiting call ends it at once, and the others get the credential")
    func cancellation() async throws {
        let refusals = Gate(isOpen: false)
        let server = try await server(accepting: "token-1", gate: refusals)
        let issuer = Issuer(isOpen: false)
        let session = try session(server, issuer, initial: "old")
        let first = Task { try await session.get(.raw(server.url("/first"))).status }
        let second = Task { try await session.get(.raw(server.url("/second"))).status }
        try await server.waitForRequests(2)
        await refusals.open()
        for await _ in issuer.renewals { break }
        first.cancel()
        let error = await curlewError { _ = try await first.value }
        #expect(error?.code == .cancelled)
        await issuer.open()
        #expect(try await second.value == .ok)
        #expect(await issuer.count == 1)
    }

    @Test("a renewal without waiting calls is cancelled, and the next call starts a new one")
    func abandoned() async throws {
        let server = try await server(accepting: "token")
        let (started, report) = AsyncStream.makeStream(of: Void.self)
        let (ended, reportEnd) = AsyncStream.makeStream(of: Bool.self)
        let first = OneTime()
        let link = try CredentialRenewal<String>(for: server.url(), apply: Self.fields) { _ in
            guard await first.isFirst() else { return "token" }
            report.yield()
            do {
                try await untilCancelled()
            } catch {
                reportEnd.yield(true)
                throw error
            }
            return "late"
        }
        let session = try HTTPSession(configuration: SessionConfiguration(), chain: .bare) { link }
        let task = Task { try await session.get(.raw(server.url())) }
        for await _ in started { break }
        task.cancel()
        #expect(await curlewError { _ = try await task.value }?.code == .cancelled)
        for await _ in ended { break }
        #expect(try await session.get(.raw(server.url())).status == .ok)
    }

    actor OneTime {
        private var isUsed = false
        func isFirst() -> Bool {
            defer { isUsed = true }
            return !isUsed
        }
    }

    @Test("another origin, and a request with its own Authorization, get no credential")
    func scope() async throws {
        let server = try await server(accepting: "token-1")
        let other = try await self.server(accepting: "token-1")
        let issuer = Issuer()
        let session = try session(server, issuer, initial: "old")
        #expect(try await session.get(.raw(other.url())).status == .unauthorized)
        #expect(await other.takeRequest()?.fields[.authorization] == nil)
        let response = try await session.get(.raw(server.url()), fields: [.authorization: "Bearer mine"])
        #expect(response.status == .unauthorized)
        #expect(await issuer.count == 0)
    }

    @Test("a body is sent again after a renewal; a one-shot body is an error, and the next call renews")
    func bodies() async throws {
        let server = try await server(accepting: "token-1")
        let issuer = Issuer()
        let session = try session(server, issuer, initial: "old")
        let body = AsyncStream<[UInt8]> { stream in
            stream.yield([1])
            stream.finish()
        }
        let error = await curlewError { _ = try await session.post(.raw(server.url()), .body(.once(body))) }
        #expect(error?.code == .bodyNotReplayable)
        #expect(await issuer.count == 0)
        #expect(try await session.post(.raw(server.url()), .body(.string("again"))).status == .ok)
        #expect(await issuer.count == 1)
        try await server.waitForRequests(2)
    }

    @Test("a configured status triggers a renewal like a 401")
    func otherStatus() async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.forbidden), .response(.ok))
        let issuer = Issuer()
        var link = try CredentialRenewal(
            for: "http://a.test", initial: "old", apply: Self.fields, renew: { _ in try await issuer.renew() })
        link.statuses = [.unauthorized, .forbidden]
        let session = try HTTPSession(transport: stub, chain: .bare) { link }
        #expect(try await session.get("http://a.test/").status == .ok)
        #expect(stub.received.map { $0.fields[.authorization] } == ["Bearer old", "Bearer token-1"])
    }

    @Test("a forgotten credential is neither sent again nor passed to the renewal")
    func forgotten() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let issuer = Issuer()
        let handed = AsyncStream.makeStream(of: String?.self)
        let link = try CredentialRenewal(
            for: "http://a.test", initial: "old", apply: Self.fields,
            renew: { old in
                handed.continuation.yield(old)
                return try await issuer.renew()
            })
        let session = try HTTPSession(transport: stub, chain: .bare) { link }
        _ = try await session.get("http://a.test/")
        link.forget()
        _ = try await session.get("http://a.test/")
        handed.continuation.finish()
        var values: [String?] = []
        for await value in handed.stream { values.append(value) }
        #expect(values == [nil])
        #expect(stub.received.map { $0.fields[.authorization] } == ["Bearer old", "Bearer token-1"])
    }

    @Test("a request that was sent before its credential was forgotten is not repeated with the next credential")
    func forgottenUnderWay() async throws {
        let refusals = Gate(isOpen: false)
        let server = try await server(accepting: "token-1", gate: refusals)
        let issuer = Issuer()
        let link = try CredentialRenewal(
            for: server.url(), initial: "old", apply: Self.fields, renew: { _ in try await issuer.renew() })
        let session = try HTTPSession(chain: .bare) { link }
        let first = Task { try await session.get(.raw(server.url())).status }
        try await server.waitForRequests(1)
        link.forget()
        await refusals.open()
        #expect(try await first.value == .unauthorized)
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(server.requestCount == 2)
        await session.shutdown()
    }
}
