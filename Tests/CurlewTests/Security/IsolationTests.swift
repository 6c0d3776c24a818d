import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("Isolation of connections by policy", .endsServers, .timeLimit(.minutes(2)))
struct PolicyIsolationTests {
    private func pinning(_ pin: HeldCertificate) throws -> SecurityPolicy {
        var policy = try TestChain.root.get().anchor
        policy.pinning = .keys(SecurityPolicy.PinSet([try pin.pin]))
        return policy
    }

    @Test(
        "a connection is reused only under an equal policy",
        arguments: [
            HTTPVersionPolicy.http11, .negotiated,
        ])
    func reuse(_ version: HTTPVersionPolicy) async throws {
        let stage = try await TrustStage(TestChain.sent())
        let good = try TestChain.root.get().anchor
        func fetch(_ policy: SecurityPolicy) async throws -> ErrorCode? {
            var options = RequestOptions()
            options.security = policy
            options.versionPolicy = version
            do {
                _ = try await stage.session.fetch(stage.url, options: options)
                return nil
            } catch let error as CurlewError { return error.code }
        }
        #expect(try await fetch(good) == nil)
        #expect(try await fetch(good) == nil)
        // The policy is an equal value, created again.
        #expect(try await fetch(.anchors([TestChain.root.get().certificate])) == nil)
        #expect(stage.server.connectionCounts.accepted == 1)
        // The open connection could carry the request; the pin does not match.
        #expect(try await fetch(pinning(TestChain.otherRoot.get())) == .pinMismatch)
        #expect(try await fetch(.system) == .unknownIssuer)
        #expect(stage.server.connectionCounts.accepted == 3)
        #expect(try await fetch(pinning(TestChain.leaf.get())) == nil)
        #expect(stage.server.connectionCounts.accepted == 4)
        #expect(try await fetch(good) == nil)
        #expect(stage.server.connectionCounts.accepted == 4)
        await stage.end()
    }

    @Test("concurrent streams use connections of their own policies")
    func streams() async throws {
        let stage = try await TrustStage(TestChain.sent())
        let policies = [try TestChain.root.get().anchor, try pinning(TestChain.otherRoot.get()), .system]
        try await withThrowingTaskGroup(of: (Int, CurlewError?).self) { group in
            for index in 0..<240 {
                group.addTask { (index % 3, try await stage.refusal(policies[index % 3])) }
            }
            for try await (index, error) in group {
                #expect(
                    error?.code == [nil, ErrorCode.pinMismatch, .unknownIssuer][index], "\(String(describing: error))")
            }
        }
    }

    @Test(
        "a session ticket is used only under its policy, and never bypasses an evaluator",
        arguments: [
            ServerTLS.Version.tls12, .tls13,
        ])
    func tickets(_ version: ServerTLS.Version) async throws {
        var tls = ServerTLS(try TestChain.sent())
        tls.maximumVersion = version
        let server = try await MockServer.start(.init(tls: tls, protocols: [.http11])) { _ in
            var response = MockResponse(body: "ok")
            response.fields[.connection] = "close"
            return response
        }
        let session = try makeSession()
        let chain = try TestChain.sent().map(\.certificateDER) + [TestChain.root.get().certificateDER]
        func resumed(_ policy: SecurityPolicy) async throws -> Bool? {
            var options = RequestOptions()
            options.security = policy
            let response = try await session.get(.raw(server.url()), options: options)
            _ = try await response.body.collect(upTo: 100)
            #expect(response.security?.chain.map(\.der) == chain)
            return response.security?.isResumed
        }
        let good = try TestChain.root.get().anchor
        // The reference keeps the policy's object alive between its connections.
        let held = try CompiledPolicy.of(good)
        #expect(try await resumed(good) == false)
        #expect(try await resumed(good) == true)
        let pinned = try pinning(TestChain.leaf.get())
        #expect(try await resumed(pinned) == false)
        var watched = good
        watched.evaluator = SecurityPolicy.Evaluator { _ in .deferToPolicy }
        let heldToo = try CompiledPolicy.of(watched)
        #expect(try await resumed(watched) == false)
        #expect(try await resumed(watched) == false)
        withExtendedLifetime((held, heldToo)) {}
        await server.shutdown()
    }

    @Test("a TLS session is resumed after all idle connections were closed")
    func closedIdleConnections() async throws {
        let tls = ServerTLS(try TestChain.sent())
        let server = try await MockServer.start(.init(tls: tls, protocols: [.http11])) { _ in MockResponse(body: "ok") }
        let policy = try TestChain.root.get().anchor
        let session = try makeSession { $0.security = policy }
        for isResumed in [false, true, true] {
            let response = try await session.get(.raw(server.url()))
            _ = try await response.body.collect(upTo: 100)
            #expect(response.security?.isResumed == isResumed)
            await session.session?.closeIdleConnections()
        }
        await session.shutdown()
        await server.shutdown()
    }

    @Test("a policy is released with its last connection, its session tickets and its handshakes")
    func release() async throws {
        let good = try TestChain.root.get().anchor
        var policies = [good, try pinning(TestChain.otherRoot.get())]
        // This limit makes the policies different from those of other tests.
        for index in policies.indices { policies[index].intermediateLimit = 9 }
        func use() async throws -> [UInt64] {
            let held = try policies.map { try CompiledPolicy.of($0) }
            let stage = try await TrustStage(TestChain.sent())
            for _ in 0..<3 {
                #expect(try await stage.code(policies[0]) == nil)
                #expect(try await stage.code(policies[1]) == .pinMismatch)
            }
            await stage.session.shutdown()
            await stage.end()
            return held.map(\.number)
        }
        let numbers = try await use()
        // The loop may release its references a little later.
        for (policy, number) in zip(policies, numbers) {
            try await eventually("the compiled policy is gone") { try CompiledPolicy.of(policy).number != number }
        }
    }

    @Test("equal policies share one object, and different ones have different numbers")
    func registry() throws {
        let policy = try TestChain.root.get().anchor
        let first = try CompiledPolicy.of(policy)
        #expect(try CompiledPolicy.of(policy) === first)
        var other = policy
        other.minimumTLSVersion = .tls13
        #expect(try CompiledPolicy.of(other).identifier != first.identifier)
        // Every setting is part of the equality.
        var variants = [policy, other]
        func vary(_ change: (inout SecurityPolicy) throws -> Void) rethrows {
            var copy = policy
            try change(&copy)
            variants.append(copy)
        }
        vary { $0.maximumTLSVersion = .tls12 }
        vary { $0.pinning = .keys(SecurityPolicy.PinSet([])) }
        try vary { $0.pinning = .keys(of: [try TestChain.leaf.get().certificate]) }
        try vary { $0.pinning = .certificates([try TestChain.leaf.get().certificate]) }
        try vary { $0.pinning = .keys(SecurityPolicy.PinSet([try TestChain.leaf.get().pin])) }
        vary { $0.allowsInvalidCertificates = true }
        vary { $0.validatesDomainName = false }
        vary { $0.isStrict = true }
        vary { $0.intermediateLimit = 3 }
        vary { $0.validationDate = Date(timeIntervalSince1970: 1) }
        vary { $0.stapling = .off }
        vary { $0.evaluator = SecurityPolicy.Evaluator { _ in .deferToPolicy } }
        vary { $0.evaluator = SecurityPolicy.Evaluator { _ in .deferToPolicy } }
        vary { $0.ciphers = "ECDHE+AESGCM" }
        vary { $0.cipherSuites = "TLS_AES_128_GCM_SHA256" }
        vary { $0.groups = "P-256" }
        vary { $0.serverName = .none }
        vary { $0.hosts = [SecurityPolicy.HostPolicy("a.test", policy)] }
        try vary {
            let held = try TestChain.leaf.get()
            $0.identity = try ClientIdentity(pem: held.certificatePEM, key: held.privateKeyPEM)
        }
        #expect(Set(variants).count == variants.count)
        let compiled = try variants.map { try CompiledPolicy.of($0) }
        #expect(Set(compiled.map(\.identifier)).count == variants.count)
    }
}
