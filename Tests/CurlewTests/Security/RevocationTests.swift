import COpenSSL
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

@Suite("Revocation", .endsServers, .timeLimit(.minutes(2)))
struct RevocationTests {
    @Test("a list that names the certificate refuses it, and a missing or outdated list refuses every certificate")
    func lists() async throws {
        let (root, intermediate, leaf) = try (TestChain.root.get(), TestChain.intermediate.get(), TestChain.leaf.get())
        let other = try HeldCertificate.localhost(issuedBy: intermediate)
        let cases: [(lists: [[UInt8]], SecurityPolicy.RevocationLists.Scope, ErrorCode?)] = [
            ([try RevocationMaker.list(by: intermediate)], .leaf, nil),
            ([try RevocationMaker.list(by: intermediate, revoking: [other])], .leaf, nil),
            ([try RevocationMaker.list(by: intermediate, revoking: [leaf])], .leaf, .certificateRevoked),
            ([try RevocationMaker.list(by: root)], .leaf, .revocationUnknown),
            ([try RevocationMaker.list(by: intermediate, end: -60)], .leaf, .revocationUnknown),
            ([try RevocationMaker.list(by: HeldCertificate.root(intermediate.commonName))], .leaf, .revocationUnknown),
            ([try RevocationMaker.list(by: intermediate)], .chain, .revocationUnknown),
            ([try RevocationMaker.list(by: intermediate), try RevocationMaker.list(by: root)], .chain, nil),
            (
                [
                    try RevocationMaker.list(by: intermediate),
                    try RevocationMaker.list(by: root, revoking: [intermediate]),
                ],
                .chain, .certificateRevoked
            ),
        ]
        let stage = try await TrustStage(TestChain.sent())
        for (index, (lists, scope, expected)) in cases.enumerated() {
            var policy = try root.anchor
            policy.revocationLists = try SecurityPolicy.RevocationLists(lists, scope: scope)
            let error = try await stage.refusal(policy)
            #expect(error?.code == expected, "\(index): \(String(describing: error))")
        }
    }

    @Test("bytes that are not a revocation list are an error")
    func badLists() throws {
        let list = try RevocationMaker.list(by: TestChain.root.get())
        #expect(try SecurityPolicy.RevocationLists([list]).lists == [list])
        let bad: [[UInt8]] = [[], [0x30], Array(list.dropLast(5)), Array("-----BEGIN X509 CRL-----".utf8)]
        for bytes in bad {
            #expect(throws: CurlewError.self) { try SecurityPolicy.RevocationLists([bytes]) }
        }
        #expect(throws: CurlewError.self) { try SecurityPolicy.RevocationLists(files: ["/nonexistent"]) }
        var configuration = SessionConfiguration()
        configuration.security.revocationLists = try SecurityPolicy.RevocationLists([])
        #expect(throws: CurlewError.self) { try HTTPSession(configuration: configuration, chain: .bare) }
    }

    private struct Staple: Sendable {
        var response: [UInt8]?
        var stapling = SecurityPolicy.Stapling.ifPresent
        var expected: ErrorCode?
    }

    @Test(
        "a stapled response is accepted only if it is valid, current, for the certificate, and good",
        arguments: [
            TLS1_2_VERSION, TLS1_3_VERSION,
        ])
    func stapled(_ version: Int32) async throws {
        let (root, intermediate, leaf) = try (TestChain.root.get(), TestChain.intermediate.get(), TestChain.leaf.get())
        let responder = try HeldCertificate(
            .init(commonName: "Responder", extendedKeyUsage: ["OCSPSigning"]), issuer: intermediate)
        let other = try HeldCertificate.localhost(issuedBy: intermediate)
        func make(
            _ about: HeldCertificate, signer: HeldCertificate? = nil, _ status: RevocationMaker.Status = .good,
            end: Int = 3600
        ) throws -> [UInt8] {
            try RevocationMaker.response(about: about, by: intermediate, signer: signer, status, end: end)
        }
        let good = try make(leaf)
        let cases = [
            Staple(response: nil), Staple(response: nil, stapling: .required, expected: .stapledResponseInvalid),
            Staple(response: good), Staple(response: good, stapling: .required),
            Staple(response: try make(leaf, signer: responder)),
            Staple(response: try make(leaf, signer: root), expected: .stapledResponseInvalid),
            Staple(response: try make(leaf, signer: other), expected: .stapledResponseInvalid),
            Staple(response: try make(leaf, .revoked), expected: .certificateRevoked),
            Staple(response: try make(leaf, .revoked), stapling: .off),
            Staple(response: try make(leaf, .unknown), expected: .stapledResponseInvalid),
            Staple(response: try make(leaf, end: -3600), expected: .stapledResponseInvalid),
            Staple(response: try make(other), expected: .stapledResponseInvalid),
            Staple(response: [1, 2, 3], expected: .stapledResponseInvalid),
            Staple(response: Array(good.dropLast(8)), expected: .stapledResponseInvalid),
        ]
        for (index, staple) in cases.enumerated() {
            let peer = try StaplingPeer(TestChain.sent(), response: staple.response, highest: version)
            let session = try makeSession {
                $0.security = (try? root.anchor) ?? .system
                $0.security.stapling = staple.stapling
            }
            do {
                _ = try await session.fetch(peer.url)
                #expect(staple.expected == nil, "\(index)")
            } catch let error as CurlewError {
                #expect(error.code == staple.expected, "\(index): \(error)")
                #expect(error.serverTrust?.chain.count == 3)
            }
            await session.shutdown()
            peer.end()
        }
    }

    @Test("a must-staple certificate is refused without a stapled response, unless stapling is off")
    func mustStaple() async throws {
        let root = try TestChain.root.get()
        let leaf = try HeldCertificate(
            .init(alternativeNames: HeldCertificate.loopbackNames, requiresStapling: true), issuer: root)
        let response = try RevocationMaker.response(about: leaf, by: root)
        for (response, stapling, expected) in [
            (nil, SecurityPolicy.Stapling.ifPresent, ErrorCode.stapledResponseInvalid), (response, .ifPresent, nil),
            (nil, .off, nil),
        ] {
            let peer = try StaplingPeer([leaf], response: response)
            var policy = try root.anchor
            policy.stapling = stapling
            let session = try makeSession { $0.security = policy }
            do {
                _ = try await session.fetch(peer.url)
                #expect(expected == nil)
            } catch let error as CurlewError { #expect(error.code == expected, "\(error)") }
            await session.shutdown()
            peer.end()
        }
    }

    @Test("a renegotiation that the server requests is refused")
    func renegotiation() async throws {
        let peer = try StaplingPeer(TestChain.sent(), highest: TLS1_2_VERSION, renegotiates: true)
        let session = try makeSession { $0.security = (try? TestChain.root.get().anchor) ?? .system }
        // OpenSSL's server continues without a renegotiation; a second certificate is never accepted.
        do {
            #expect(try await session.get(.raw(peer.url)).security?.chain.count == 3)
        } catch let error as CurlewError {
            #expect(error.stage != .preparing, "\(error)")
        }
        await session.shutdown()
        peer.end()
    }
}
