import CurlewTesting
import FoundationEssentials
import Testing

@testable import CurlewCore

@Suite("The verdict on a peer", .timeLimit(.minutes(1)))
struct PeerVerifierTests {
    /// The pins of a policy, by pinning mode.
    private enum Pinned: CaseIterable, CustomTestStringConvertible {
        case nothing, leafCertificate, rootCertificate, otherCertificate, leafKey, otherKey, expiredKey

        var testDescription: String { "\(self)" }

        func policy() throws -> SecurityPolicy {
            var policy = try TestChain.root.get().anchor
            switch self {
            case .nothing: break
            case .leafCertificate: policy.pinning = .certificates([try TestChain.leaf.get().certificate])
            case .rootCertificate: policy.pinning = .certificates([try TestChain.root.get().certificate])
            case .otherCertificate: policy.pinning = .certificates([try TestChain.otherRoot.get().certificate])
            case .leafKey: policy.pinning = .keys(SecurityPolicy.PinSet([try TestChain.leaf.get().pin]))
            case .otherKey: policy.pinning = .keys(SecurityPolicy.PinSet([try TestChain.otherRoot.get().pin]))
            case .expiredKey:
                policy.pinning = .keys(
                    SecurityPolicy.PinSet([try TestChain.otherRoot.get().pin], expires: Date(timeIntervalSince1970: 1)))
            }
            return policy
        }
    }

    private func judge(
        _ sent: [HeldCertificate], _ policy: SecurityPolicy, host: String = "localhost"
    ) throws -> PeerVerifier.Judgment {
        let stack = try CertificateStack(sent)
        let leaf = try CertificateHandle(#require(sent.first))
        let name = try #require(HostName(host: host))
        let rules = try TrustRules(policy)
        return withExtendedLifetime(stack) {
            PeerVerifier(rules: rules, host: name, moment: CertificateTime.now, leaf: leaf, sent: stack.raw).judge()
        }
    }

    @Test("a verified peer must also match a pin, and the verdict names the pin", arguments: Pinned.allCases)
    private func verifiedPeer(_ pinned: Pinned) throws {
        let judgment = try judge(TestChain.sent(), pinned.policy())
        let expected: ErrorCode? = [.otherCertificate, .otherKey].contains(pinned) ? .pinMismatch : nil
        #expect(judgment.refusal?.code == expected)
        let pin: SecurityPolicy.Pin? =
            switch pinned {
            case .leafCertificate, .leafKey: try TestChain.leaf.get().pin
            case .rootCertificate: try TestChain.root.get().pin
            default: nil
            }
        #expect(judgment.pin == pin)
    }

    @Test("an unverified peer is refused, unless the policy allows it and a pin matches")
    func unverifiedPeer() throws {
        let stranger = try HeldCertificate.localhost(issuedBy: TestChain.otherRoot.get())
        var policy = try TestChain.root.get().anchor
        policy.pinning = .keys(SecurityPolicy.PinSet([try stranger.pin]))
        #expect(try judge([stranger], policy).refusal?.code == .unknownIssuer)
        policy.allowsInvalidCertificates = true
        let accepted = try judge([stranger], policy)
        #expect(accepted.refusal == nil)
        #expect(accepted.pin == (try stranger.pin))
        policy.pinning = .keys(SecurityPolicy.PinSet([try TestChain.leaf.get().pin]))
        #expect(try judge([stranger], policy).refusal?.code == .pinMismatch)
    }

    @Test("a pinned key counts only in a signed chain, not in an unrelated certificate")
    func unsignedCompany() throws {
        let stranger = try HeldCertificate.localhost(issuedBy: TestChain.otherRoot.get())
        var policy = try TestChain.root.get().anchor
        policy.allowsInvalidCertificates = true
        policy.pinning = .keys(SecurityPolicy.PinSet([try TestChain.intermediate.get().pin]))
        #expect(try judge([stranger, TestChain.intermediate.get()], policy).refusal?.code == .pinMismatch)
    }

    @Test("without pins a name is checked only on a verified certificate")
    func nameWithoutPins() throws {
        var policy = try TestChain.root.get().anchor
        policy.allowsInvalidCertificates = true
        #expect(try judge(TestChain.sent(), policy).refusal?.code == .untrustedCertificate)
        policy.validatesDomainName = false
        #expect(try judge([TestChain.selfSigned.get()], policy).refusal == nil)
    }

    @Test("the certificate must be for the host, by its alternative names only")
    func hostName() throws {
        var policy = try TestChain.root.get().anchor
        let intermediate = try TestChain.intermediate.get()
        #expect(try judge(TestChain.sent(), policy, host: "127.0.0.1").refusal == nil)
        #expect(try judge(TestChain.sent(), policy, host: "[::1]").refusal == nil)
        #expect(try judge(TestChain.sent(), policy, host: "example.com").refusal?.code == .hostNameMismatch)
        let nameless = try HeldCertificate(.init(commonName: "localhost"), issuer: intermediate)
        #expect(try judge([nameless, intermediate], policy).refusal?.code == .hostNameMismatch)
        policy.validatesDomainName = false
        #expect(try judge([nameless, intermediate], policy).refusal == nil)
    }

    @Test("expired pins are ignored, but not if verification is off as well")
    func expiredPins() throws {
        var policy = try Pinned.expiredKey.policy()
        #expect(try judge(TestChain.sent(), policy).refusal == nil)
        policy.allowsInvalidCertificates = true
        policy.validatesDomainName = false
        #expect(try judge(TestChain.sent(), policy).refusal?.code == .pinMismatch)
    }
}
