import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Testing

@Suite("Custom evaluators", .endsServers, .timeLimit(.minutes(2)))
struct EvaluatorTests {
    private struct Whim: Error {}

    @Test("an evaluator receives host, chain and verdict, and may accept, refuse or defer")
    func decisions() async throws {
        let stage = try await TrustStage([TestChain.selfSigned.get()])
        let own = try TestChain.selfSigned.get().certificate
        let (seen, sight) = AsyncStream.makeStream(of: SecurityPolicy.ServerTrust.self)
        var policy = SecurityPolicy.system
        policy.evaluator = SecurityPolicy.Evaluator { trust in
            sight.yield(trust)
            return .accept
        }
        let response = try await stage.fetch(policy)
        #expect(response.security?.chain == [own])
        var trusts = seen.makeAsyncIterator()
        let trust = try #require(await trusts.next())
        #expect(trust.host == "127.0.0.1" && trust.chain == [own])
        if case .refused(let code, _) = trust.verdict {
            #expect(code == .selfSignedCertificate)
        } else {
            Issue.record("the policy alone would have accepted it")
        }
        policy.evaluator = SecurityPolicy.Evaluator { _ in .deferToPolicy }
        #expect(try await stage.code(policy) == .selfSignedCertificate)
    }

    @Test("an evaluator's refusal is the request's error, whatever the policy decides")
    func refusal() async throws {
        let stage = try await TrustStage(TestChain.sent())
        var policy = try TestChain.root.get().anchor
        policy.evaluator = SecurityPolicy.Evaluator { _ in .refuse(Whim()) }
        let error = try #require(try await stage.refusal(policy))
        #expect(error.code == .untrustedCertificate && error.underlying is Whim)
        #expect(error.serverTrust?.chain.count == 3)
        policy.evaluator = SecurityPolicy.Evaluator { _ in .refuse(CurlewError(.pinMismatch, "not today")) }
        let own = try #require(try await stage.refusal(policy))
        #expect(own.code == .pinMismatch && own.message.contains("not today"))
        #expect(own.uri?.host == "127.0.0.1")
        policy.evaluator = SecurityPolicy.Evaluator { trust in
            trust.verdict == .accepted(matchedPin: nil) ? .deferToPolicy : .refuse(Whim())
        }
        #expect(try await stage.code(policy) == nil)
    }

    @Test("an evaluator is called for every connection, and a policy with one equals only its copies")
    func everyConnection() async throws {
        let stage = try await TrustStage(TestChain.sent())
        let (asked, asking) = AsyncStream.makeStream(of: Void.self)
        var policy = try TestChain.root.get().anchor
        policy.evaluator = SecurityPolicy.Evaluator { _ in
            asking.yield()
            return .deferToPolicy
        }
        for _ in 0..<3 {
            _ = try await stage.fetch(policy)
            await stage.session.session?.closeIdleConnections()
        }
        asking.finish()
        var count = 0
        for await _ in asked { count += 1 }
        #expect(count == 3)
        var other = policy
        #expect(other == policy)
        other.evaluator = SecurityPolicy.Evaluator { _ in .deferToPolicy }
        #expect(other != policy)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(policy) }
    }
}
