import CurlewTesting
import FoundationEssentials
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("The validation of a certificate path", .timeLimit(.minutes(1)))
struct PathValidationTests {
    private typealias Options = HeldCertificate.Options

    /// Validates the certificates of a peer, its own first.
    private func validate(
        _ sent: [HeldCertificate], trusting anchors: [HeldCertificate], at moment: Int64 = CertificateTime.now,
        _ adjust: (inout PathValidation.Rules) throws -> Void = { _ in }
    ) throws -> PathValidation.Outcome {
        var rules = PathValidation.Rules()
        try adjust(&rules)
        let store = try TrustStore(anchors.map { try CertificateHandle($0) })
        let leaf = try CertificateHandle(#require(sent.first))
        let stack = try CertificateStack(sent)
        return withExtendedLifetime(stack) {
            PathValidation(store: store, rules: rules, moment: moment).validate(leaf: leaf.raw, sent: stack.raw)
        }
    }

    @Test("a path to an anchor is found, leaf first, with other certificates and in any order")
    func goodPath() throws {
        let (root, intermediate) = (try TestChain.root.get(), try TestChain.intermediate.get())
        let leaf = try TestChain.leaf.get()
        let stranger = try TestChain.otherRoot.get()
        let expected = [leaf, intermediate, root].map(\.certificateDER)
        for rest in [[intermediate], [stranger, intermediate], [intermediate, root, stranger]] {
            let outcome = try validate([leaf] + rest, trusting: [root])
            #expect(outcome.refusal == nil && !outcome.isInternalFailure)
            #expect(outcome.chain.map(\.der) == expected)
        }
    }

    @Test("an intermediate, or the server's own certificate, may be the anchor")
    func partialPath() throws {
        let (leaf, intermediate) = (try TestChain.leaf.get(), try TestChain.intermediate.get())
        #expect(try validate([leaf], trusting: [intermediate]).chain.count == 2)
        #expect(try validate([leaf], trusting: [intermediate]).refusal == nil)
        #expect(try validate([leaf, intermediate], trusting: [leaf]).refusal == nil)
        #expect(try validate([leaf], trusting: [leaf]).chain.count == 1)
    }

    @Test("a path without an anchor has an unknown issuer, and a single certificate is self-signed")
    func noAnchor() throws {
        let stranger = try TestChain.otherRoot.get()
        #expect(try validate(TestChain.sent(), trusting: [stranger]).refusal?.code == .unknownIssuer)
        #expect(try validate([TestChain.leaf.get()], trusting: [TestChain.root.get()]).refusal?.code == .unknownIssuer)
        let alone = try validate([TestChain.selfSigned.get()], trusting: [stranger])
        #expect(alone.refusal?.code == .selfSignedCertificate)
        #expect(alone.chain.count == 1)
    }

    @Test("a certificate is valid in its first and last second, and not a second before or after")
    func validity() throws {
        let root = try TestChain.root.get()
        let leaf = try HeldCertificate(
            Options(validity: .init(start: .seconds(-100), end: .seconds(100))), issuer: root)
        let range = try #require(try CertificateHandle(leaf).validity)
        let cases: [(Int64, ErrorCode?)] = [
            (range.lowerBound - 1, .certificateNotYetValid), (range.lowerBound, nil),
            (range.upperBound, nil), (range.upperBound + 1, .certificateExpired),
        ]
        for (moment, code) in cases {
            #expect(try validate([leaf], trusting: [root], at: moment).refusal?.code == code)
        }
    }

    @Test("a broken signature, a weak hash, a weak key and a client certificate are each detected")
    func leafFaults() throws {
        let root = try TestChain.root.get()
        let faults: [(Options, ErrorCode)] = [
            (Options(signatureHash: .sha1), .weakCertificate), (Options(key: .rsa1024), .weakCertificate),
            (Options(extendedKeyUsage: ["clientAuth"]), .unsuitableCertificate),
        ]
        for (options, code) in faults {
            let leaf = try HeldCertificate(options, issuer: root)
            #expect(try validate([leaf], trusting: [root]).refusal?.code == code)
        }
        let broken = try HeldCertificate.brokenSignature(issuedBy: root)
        #expect(try validate([broken], trusting: [root]).refusal?.code == .untrustedCertificate)
    }

    @Test("the limit of intermediates counts those between the leaf and the anchor")
    func intermediateLimit() throws {
        let root = try TestChain.root.get()
        for (limit, isValid) in [(0, false), (1, true)] {
            let outcome = try validate(TestChain.sent(), trusting: [root]) { $0.intermediateLimit = limit }
            #expect((outcome.refusal == nil) == isValid)
        }
    }

    @Test("only the strict rules require a positive serial number and critical name constraints")
    func strictRules() throws {
        let root = try TestChain.root.get()
        var numberless = Options.authority("Numberless")
        numberless.serialNumber = 0
        var lax = Options.authority("Lax")
        lax.nameConstraints = ["permitted;DNS:localhost"]
        lax.nameConstraintsAreCritical = false
        for options in [numberless, lax] {
            let authority = try HeldCertificate(options, issuer: root)
            let sent = [try HeldCertificate(.server("localhost"), issuer: authority), authority]
            #expect(try validate(sent, trusting: [root]).refusal == nil)
            let strict = try validate(sent, trusting: [root]) { $0.isStrict = true }
            #expect(strict.refusal?.code == .unsuitableCertificate)
        }
    }

    @Test("a revocation list is required, and a missing list refuses the certificate")
    func revocation() throws {
        let (root, leaf) = (try TestChain.root.get(), try HeldCertificate.localhost(issuedBy: TestChain.root.get()))
        let cases: [([HeldCertificate], by: HeldCertificate, ErrorCode?)] = [
            ([], root, nil), ([leaf], root, .certificateRevoked),
            ([], try TestChain.otherRoot.get(), .revocationUnknown),
        ]
        for (revoked, issuer, code) in cases {
            let list = try RevocationMaker.list(by: issuer, revoking: revoked)
            let outcome = try validate([leaf], trusting: [root]) { rules in
                rules.lists = [try RevocationListHandle(der: list)]
            }
            #expect(outcome.refusal?.code == code)
        }
    }
}
