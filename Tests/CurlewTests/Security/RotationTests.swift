import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("Rotating identities and anchors", .noLeaks, .timeLimit(.minutes(2)))
struct RotationTests {
    // MARK: Connections

    @Test(
        "the next connection presents the new certificate, and a running request continues with the old one",
        arguments: [HTTPVersionPolicy.http11, .negotiated])
    func nextConnection(_ version: HTTPVersionPolicy) async throws {
        let (first, second) = (try RotationScene.client("first"), try RotationScene.client("second"))
        let given = Guarded(try RotationScene.identity(first))
        let rotation = try SecurityPolicy.Rotation(
            initial: .init(identity: RotationScene.identity(first)), clock: TestClock()
        ) { .init(identity: given.withLock { $0 }) }
        var tls = ServerTLS(try TestChain.sent())
        tls.clientCertificates = .required(trusting: [try TestChain.root.get()])
        let gate = Gate()
        let server = try await MockServer.start(.init(tls: tls)) { request in
            if request.target == "/held" { try await gate.wait() }
            return MockResponse(body: "ok")
        }
        var policy = try TestChain.root.get().anchor
        policy.rotation = rotation
        let session = try makeSession { [policy] in
            $0.security = policy
            $0.versionPolicy = version
        }
        func shown() async throws -> [UInt8]? {
            #expect(try await session.fetch(server.url()) == Array("ok".utf8))
            return await server.takeRequest()?.tls?.clientCertificateDER
        }
        #expect(try await shown() == first.certificateDER)
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask { try await session.fetch(server.url("/held")) }
            try await server.waitForRequests(2)
            #expect(await server.takeRequest()?.tls?.clientCertificateDER == first.certificateDER)
            given.withLock { [identity = try RotationScene.identity(second)] in $0 = identity }
            try await rotation.reload()
            for _ in 0..<3 { #expect(try await shown() == second.certificateDER) }
            #expect(server.connectionCounts.accepted == 2)
            gate.open()
            #expect(try await group.next() == Array("ok".utf8))
        }
        // The old connection is idle now, and is not used.
        #expect(try await shown() == second.certificateDER)
        #expect(server.connectionCounts.accepted == 2)
        await session.shutdown()
        await server.shutdown()
    }

    @Test(
        "a TLS session of the old certificate is not resumed under the new one",
        arguments: [ServerTLS.Version.tls12, .tls13])
    func tickets(_ version: ServerTLS.Version) async throws {
        let given = Guarded(try RotationScene.identity(RotationScene.client("first")))
        let rotation = try SecurityPolicy.Rotation(
            initial: .init(identity: given.withLock { $0 }), clock: TestClock()
        ) { .init(identity: given.withLock { $0 }) }
        var tls = ServerTLS(try TestChain.sent())
        tls.maximumVersion = version
        let server = try await MockServer.start(.init(tls: tls, protocols: [.http11])) { _ in
            var response = MockResponse(body: "ok")
            response.fields[.connection] = "close"
            return response
        }
        var policy = try TestChain.root.get().anchor
        policy.rotation = rotation
        let session = try makeSession { [policy] in $0.security = policy }
        func resumed() async throws -> Bool? {
            let response = try await session.get(.raw(server.url()))
            _ = try await response.body.collect(upTo: 100)
            return response.security?.isResumed
        }
        #expect(try await resumed() == false)
        #expect(try await resumed() == true)
        given.withLock { [identity = try RotationScene.identity(RotationScene.client("second"))] in $0 = identity }
        try await rotation.reload()
        #expect(try await resumed() == false)
        #expect(try await resumed() == true)
        await session.shutdown()
        await server.shutdown()
    }

    /// The place of the rotating policy.
    enum Place: CaseIterable { case session, request, host, handshakeAlone }

    @Test("anchors rotate in the policy of a session, of a request and of a host", arguments: Place.allCases)
    func anchors(_ place: Place) async throws {
        let server = try await MockServer.start(.init(tls: ServerTLS(try TestChain.sent()))) { _ in
            MockResponse(body: "ok")
        }
        let given = Guarded([try TestChain.otherRoot.get().certificate])
        let rotation = try SecurityPolicy.Rotation(
            initial: .init(anchors: given.withLock { $0 }), clock: TestClock()
        ) { .init(anchors: given.withLock { $0 }) }
        var policy = SecurityPolicy.anchors([try TestChain.otherRoot.get().certificate])
        policy.rotation = rotation
        if place == .host {
            var around = SecurityPolicy.anchors([try TestChain.otherRoot.get().certificate])
            around.hosts = ["localhost", "127.0.0.1"].map { [policy] in SecurityPolicy.HostPolicy($0, policy) }
            policy = around
        }
        let session = try makeSession { [policy] in if place != .request { $0.security = policy } }
        var options = RequestOptions()
        if place == .request { options.security = policy }
        func code() async throws -> ErrorCode? {
            do {
                if place == .handshakeAlone {
                    _ = try await #require(session.session).connectionSecurity(of: server.url())
                } else {
                    _ = try await session.fetch(server.url(), options: options)
                }
                return nil
            } catch let error as CurlewError { return error.code }
        }
        #expect(try await code() == .unknownIssuer)
        given.withLock { [root = try TestChain.root.get().certificate] in $0 = [root] }
        #expect(try await code() == .unknownIssuer)
        try await rotation.reload()
        #expect(try await code() == nil)
        #expect(try await code() == nil)
        given.withLock { [root = try TestChain.otherRoot.get().certificate] in $0 = [root] }
        try await rotation.reload()
        #expect(try await code() == .unknownIssuer)
        await session.shutdown()
        await server.shutdown()
    }

    // MARK: Providers

    private struct Outage: Error {}

    @Test(
        "a provider that fails or returns unusable material changes nothing, and each failure is reported once"
    )
    func provider() async throws {
        let second = try RotationScene.client("second")
        let first = SecurityPolicy.Rotation.Material(
            identity: try RotationScene.identity(RotationScene.client("first")))
        let clock = TestClock()
        let answer = Guarded(Result<SecurityPolicy.Rotation.Material, any Error>.success(first))
        let rotation = try SecurityPolicy.Rotation(initial: first, every: RotationScene.interval, clock: clock) {
            try answer.withLock { $0 }.get()
        }
        var updates = rotation.updates.makeAsyncIterator()
        func look() async throws {
            try await clock.waitForSleepers(1)
            clock.advance(by: RotationScene.interval)
            try await clock.waitForSleepers(1)
        }
        try await look()
        #expect(rotation.version == 1)
        answer.withLock { $0 = .failure(Outage()) }
        for _ in 0..<3 { try await look() }
        let failed = await updates.next()?.refusal
        #expect(failed?.code == .invalidTLSSetting)
        #expect(failed?.underlying is Outage)
        answer.withLock { $0 = .success(.init(anchors: [])) }
        for _ in 0..<3 { try await look() }
        let unusable = await updates.next()
        #expect(unusable?.refusal?.code == .invalidTLSSetting)
        answer.withLock { [material = SecurityPolicy.Rotation.Material(identity: try RotationScene.identity(second))] in
            $0 = .success(material)
        }
        for _ in 0..<3 { try await look() }
        let usable = await updates.next()
        #expect(usable?.leaf == second.certificateDER)
        #expect(rotation.version == 2)
        answer.withLock { $0 = .failure(CancellationError()) }
        await #expect(throws: CancellationError.self) { try await rotation.reload() }
        #expect(rotation.material.identity == (try RotationScene.identity(second)))
    }

    @Test("a late answer to an earlier query does not replace the answer to a later query")
    func order() async throws {
        let certificates = try ["first", "second", "third"].map { try RotationScene.identity(RotationScene.client($0)) }
        let gate = Gate()
        let asked = Guarded(0)
        let rotation = try SecurityPolicy.Rotation(initial: .init(identity: certificates[0]), clock: TestClock()) {
            let number = asked.withLock { count in
                count += 1
                return count
            }
            if number == 1 { try await gate.wait() }
            return .init(identity: certificates[number])
        }
        let late = Task { try await rotation.reload() }
        try await eventually("the first question has been asked") { asked.withLock { $0 } == 1 }
        try await rotation.reload()
        gate.open()
        try await late.value
        #expect(rotation.material.identity == certificates[2])
        #expect(rotation.version == 2)
    }

    // MARK: Lifecycle

    @Test("a rotation without references ends its task, its provider's wait and its updates")
    func dropped() async throws {
        let clock = TestClock()
        let (begun, signal) = AsyncStream.makeStream(of: Void.self)
        let isCancelled = Guarded(false)
        var rotation: SecurityPolicy.Rotation? = try SecurityPolicy.Rotation(
            initial: .init(), every: RotationScene.interval, clock: clock
        ) {
            signal.yield()
            do { try await Gate().wait() } catch { isCancelled.withLock { $0 = true } }
            throw CancellationError()
        }
        weak let seen = rotation
        let updates = try #require(rotation).updates.makeAsyncIterator()
        try await clock.waitForSleepers(1)
        clock.advance(by: RotationScene.interval)
        for await _ in begun { break }
        rotation = nil
        #expect(seen == nil)
        var iterator = updates
        let end = await iterator.next()
        #expect(end == nil)
        try await eventually("the provider is cancelled") { isCancelled.withLock { $0 } }
        try await eventually("nobody sleeps on the clock") { clock.sleeperCount == 0 }
    }

    @Test("a policy's equality includes its rotation, and a policy with a rotation cannot be encoded")
    func encoding() throws {
        let rotation = try SecurityPolicy.Rotation(initial: .init(), clock: TestClock()) { .init() }
        let other = try SecurityPolicy.Rotation(initial: .init(), clock: TestClock()) { .init() }
        var policy = SecurityPolicy.system
        policy.rotation = rotation
        var copy = policy
        #expect(copy == policy)
        copy.rotation = other
        #expect(copy != policy)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(policy) }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(SecurityPolicy.Rotation.self, from: Data("1".utf8))
        }
        let plain = try JSONDecoder().decode(SecurityPolicy.self, from: JSONEncoder().encode(SecurityPolicy.system))
        #expect(plain == .system)
    }
}
