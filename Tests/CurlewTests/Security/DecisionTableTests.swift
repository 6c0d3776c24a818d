import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

@Suite("AFNetworking's decision table", .endsServers, .timeLimit(.minutes(2)))
struct DecisionTableTests {
    /// The pinning modes of AFNetworking.
    enum Mode: Sendable {
        case none, publicKey, certificate
    }

    /// A policy over the test root, like AFNetworking's over the system's roots.
    private func policy(
        _ mode: Mode, _ pins: [HeldCertificate], allowsInvalid: Bool = false,
        validatesName: Bool = true,
        trusting root: HeldCertificate? = nil
    ) throws -> SecurityPolicy {
        var policy = try (root ?? TestChain.root.get()).anchor
        let certificates = try pins.map { try $0.certificate }
        switch mode {
        case .none: policy.pinning = .none
        case .publicKey: policy.pinning = .keys(of: certificates)
        case .certificate: policy.pinning = .certificates(certificates)
        }
        policy.allowsInvalidCertificates = allowsInvalid
        policy.validatesDomainName = validatesName
        return policy
    }

    private func unknown() throws -> HeldCertificate { try TestChain.otherRoot.get() }

    @Test("1: unpinned invalid certificates with a name check are refused, even if the chain is valid")
    func lineOne() async throws {
        let stage = try await TrustStage(TestChain.sent())
        #expect(try await stage.code(policy(.none, [], allowsInvalid: true)) == .untrustedCertificate)
        #expect(try await stage.code(policy(.publicKey, [], allowsInvalid: true)) == .pinMismatch)
        #expect(try await stage.code(policy(.certificate, [], allowsInvalid: true)) == .pinMismatch)
    }

    @Test("2: either the name is checked, or only the chain")
    func lineTwo() async throws {
        let wrong = try HeldCertificate.wrongName(issuedBy: TestChain.intermediate.get())
        let stage = try await TrustStage([wrong, TestChain.intermediate.get()])
        #expect(try await stage.code(policy(.none, [])) == .hostNameMismatch)
        #expect(try await stage.code(policy(.none, [], validatesName: false)) == nil)
        #expect(
            try await stage.code(policy(.none, [], validatesName: false, trusting: unknown())) == .unknownIssuer)
    }

    @Test("3: without pinning every certificate is accepted if invalid ones are allowed, else only valid ones")
    func lineThree() async throws {
        let good = try await TrustStage(TestChain.sent())
        #expect(try await good.code(policy(.none, [])) == nil)
        #expect(try await good.code(policy(.none, [], trusting: unknown())) == .unknownIssuer)
        #expect(
            try await good.code(policy(.none, [], allowsInvalid: true, validatesName: false, trusting: unknown()))
                == nil)
        await good.end()
        let expired = try await TrustStage([HeldCertificate.expired(issuedBy: TestChain.root.get())])
        #expect(try await expired.code(policy(.none, [])) == .certificateExpired)
        #expect(try await expired.code(policy(.none, [], allowsInvalid: true, validatesName: false)) == nil)
    }

    @Test(
        "4: with pinning the chain must be valid before a pin is compared",
        arguments: [
            Mode.publicKey, .certificate,
        ])
    func lineFour(_ mode: Mode) async throws {
        let stage = try await TrustStage(TestChain.sent())
        let pins = [try TestChain.leaf.get(), try TestChain.root.get()]
        #expect(try await stage.code(policy(mode, pins)) == nil)
        #expect(try await stage.code(policy(mode, pins, trusting: unknown())) == .unknownIssuer)
        await stage.end()
        let expired = try HeldCertificate.expired(issuedBy: TestChain.root.get())
        let over = try await TrustStage([expired])
        #expect(try await over.code(policy(mode, [expired])) == .certificateExpired)
        await over.end()
    }

    @Test("5: pinned certificates are the only anchors, and one of them must be in the chain")
    func lineFive() async throws {
        let stage = try await TrustStage(TestChain.sent())
        let (root, intermediate, leaf) = try (
            TestChain.root.get(), TestChain.intermediate.get(), TestChain.leaf.get()
        )
        for pin in [root, intermediate, leaf] {
            let response = try await stage.fetch(policy(.certificate, [pin]))
            #expect(try response.security?.matchedPin == pin.pin)
        }
        #expect(try await stage.code(policy(.certificate, [unknown()])) == .pinMismatch)
        #expect(try await stage.code(policy(.certificate, [])) == .pinMismatch)
        // Pins are compared with the chain from its root on, so the root's pin matches first.
        let both = try await stage.fetch(policy(.certificate, [leaf, root]))
        #expect(try both.security?.matchedPin == root.pin)
    }

    @Test("5: allowing invalid certificates removes the need for an anchor, but not the checks of name and dates")
    func lineFiveInvalid() async throws {
        let own = try TestChain.selfSigned.get()
        let stage = try await TrustStage([own])
        #expect(try await stage.code(policy(.certificate, [own], allowsInvalid: true)) == nil)
        #expect(try await stage.code(policy(.certificate, [own])) == .selfSignedCertificate)
        #expect(try await stage.code(policy(.certificate, [unknown()], allowsInvalid: true)) == .pinMismatch)
        await stage.end()
        let expired = try HeldCertificate.expired()
        let over = try await TrustStage([expired])
        #expect(try await over.code(policy(.certificate, [expired], allowsInvalid: true)) == .certificateExpired)
        await over.end()
        let wrong = try HeldCertificate.wrongName()
        let other = try await TrustStage([wrong])
        #expect(try await other.code(policy(.certificate, [wrong], allowsInvalid: true)) == .hostNameMismatch)
        #expect(try await other.code(policy(.certificate, [wrong], allowsInvalid: true, validatesName: false)) == nil)
    }

    @Test("6: a single pinned key of the chain suffices, wherever it is")
    func lineSix() async throws {
        let stage = try await TrustStage(TestChain.sent())
        for pin in [try TestChain.root.get(), try TestChain.intermediate.get(), try TestChain.leaf.get()] {
            let response = try await stage.fetch(policy(.publicKey, [unknown(), pin]))
            #expect(try response.security?.matchedPin == pin.pin)
        }
        #expect(try await stage.code(policy(.publicKey, [unknown()])) == .pinMismatch)
        #expect(try await stage.code(policy(.publicKey, [])) == .pinMismatch)
    }

    @Test("6: with invalid certificates allowed a pinned key is the only requirement, as the article warns")
    func lineSixInvalid() async throws {
        let bad = try HeldCertificate(.init(alternativeNames: [.dns("elsewhere.test")], validity: .expired))
        let stage = try await TrustStage([bad])
        #expect(try await stage.code(policy(.publicKey, [bad], allowsInvalid: true)) == nil)
        #expect(try await stage.code(policy(.publicKey, [unknown()], allowsInvalid: true)) == .pinMismatch)
    }

    @Test("6: a pinned certificate that an impostor appends to its chain is ignored")
    func borrowed() async throws {
        let pinned = try TestChain.root.get()
        // The impostor's certificate has the name of the pinned authority, but another key.
        let impostor = try HeldCertificate(.authority(pinned.commonName))
        let forged = try HeldCertificate.localhost(issuedBy: impostor)
        for chain in [[forged, pinned], [forged, impostor, pinned], [try TestChain.selfSigned.get(), pinned]] {
            let stage = try await TrustStage(chain)
            for name in [true, false] {
                let policy = try policy(.publicKey, [pinned], allowsInvalid: true, validatesName: name)
                #expect(try await stage.code(policy) == .pinMismatch)
            }
            await stage.end()
        }
        let stage = try await TrustStage([TestChain.selfSigned.get(), pinned])
        #expect(
            try await stage.code(policy(.publicKey, [pinned], trusting: TestChain.selfSigned.get())) == .pinMismatch)
    }
}
