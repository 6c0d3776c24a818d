import COpenSSL
import CurlewTesting
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("The search for certificate paths", .timeLimit(.minutes(3)))
struct PathSearchTests {
    private typealias Options = HeldCertificate.Options

    /// An authority with certificates of two issuers, and a server certificate under it.
    ///
    ///     leaf → shared → constrained → first root
    ///          → shared            → second root
    private struct Graph {
        let firstRoot: HeldCertificate
        let secondRoot: HeldCertificate
        let constrained: HeldCertificate
        let sharedBelowConstrained: HeldCertificate
        let sharedBelowSecond: HeldCertificate
        let leaf: HeldCertificate

        init(_ adjust: (inout Options) -> Void = { _ in }) throws {
            firstRoot = try HeldCertificate.root("First Root")
            secondRoot = try HeldCertificate.root("Second Root")
            var narrow = Options.authority("Constrained")
            narrow.nameConstraints = ["excluded;DNS:localhost"]
            constrained = try HeldCertificate(narrow, issuer: firstRoot)
            var shared = Options.authority("Shared")
            sharedBelowConstrained = try HeldCertificate(shared, issuer: constrained)
            adjust(&shared)
            sharedBelowSecond = try HeldCertificate(shared, issuer: secondRoot, keyOf: sharedBelowConstrained)
            leaf = try HeldCertificate.localhost(issuedBy: sharedBelowConstrained)
        }

        /// All certificates, those of the constrained path first.
        var sent: [HeldCertificate] { [leaf, sharedBelowConstrained, constrained, sharedBelowSecond] }

        func policy(_ anchors: [HeldCertificate]) throws -> SecurityPolicy {
            .anchors(try anchors.map { try $0.certificate })
        }
    }

    @Test("a path without constraints is found, in any order of the sent certificates")
    func otherPath() async throws {
        let graph = try Graph()
        let others = graph.sent.dropFirst()
        let policy = try graph.policy([graph.firstRoot, graph.secondRoot])
        for order in [Array(others), others.reversed(), [others[2], others[3], others[1]]] {
            let stage = try await TrustStage([graph.leaf] + order)
            let response = try await stage.fetch(policy)
            let expected = [graph.leaf, graph.sharedBelowSecond, graph.secondRoot].map(\.certificateDER)
            #expect(response.security?.chain.map(\.der) == expected)
            await stage.end()
        }
    }

    @Test("an authority's certificate without a valid issuer does not hide the one that leads to an anchor")
    func deadEnd() async throws {
        let graph = try Graph()
        // The issuer of the constrained authority is unknown here.
        #expect(try await TrustStage.code(of: graph.sent, by: graph.policy([graph.secondRoot])) == nil)
        // A weak or expired certificate on one path does not affect the other.
        for adjust in [{ $0.signatureHash = .sha1 }, { $0.validity = .expired }] as [(inout Options) -> Void] {
            let second = try Graph(adjust)
            let wide = try HeldCertificate(
                .authority("Shared"), issuer: second.firstRoot, keyOf: second.sharedBelowConstrained)
            let policy = try second.policy([second.firstRoot, second.secondRoot])
            let sent = [second.leaf, second.sharedBelowSecond, wide]
            #expect(try await TrustStage.code(of: sent, by: policy) == nil)
            #expect(try await TrustStage.code(of: sent.dropLast(), by: policy) != nil)
        }
    }

    @Test("an anchor's constraint does not hide the path to another anchor")
    func constrainedAnchor() async throws {
        var narrow = Options.authority("Old Root")
        narrow.nameConstraints = ["excluded;DNS:localhost"]
        let old = try HeldCertificate(narrow)
        let new = try HeldCertificate.root("New Root")
        let cross = try HeldCertificate(.authority("Old Root"), issuer: new, keyOf: old)
        let leaf = try HeldCertificate.localhost(issuedBy: old)
        let both = SecurityPolicy.anchors([try old.certificate, try new.certificate])
        #expect(try await TrustStage.code(of: [leaf, cross], by: both) == nil)
        #expect(try await TrustStage.code(of: [leaf, cross], by: old.anchor) == .unsuitableCertificate)
        // An anchor that is sent along keeps its constraints.
        #expect(try await TrustStage.code(of: [leaf, old], by: both) == .unsuitableCertificate)
    }

    @Test("the error of a chain without a valid path is the first failure")
    func noPath() async throws {
        let graph = try Graph()
        let policy = try graph.policy([graph.firstRoot])
        #expect(try await TrustStage.code(of: graph.sent, by: policy) == .unsuitableCertificate)
        let forged = try Graph()
        // The forged certificate has the name of the second root's authority, and another's signature.
        let sent = [graph.leaf, graph.sharedBelowConstrained, graph.constrained, forged.sharedBelowSecond]
        let both = try graph.policy([graph.firstRoot, graph.secondRoot])
        #expect(try await TrustStage.code(of: sent, by: both) == .unsuitableCertificate)
    }

    @Test("names, the limit of intermediates, pins and revocation are checked on an alternative path too")
    func otherRules() async throws {
        let graph = try Graph()
        let stage = try await TrustStage(graph.sent)
        let policy = try graph.policy([graph.firstRoot, graph.secondRoot])
        for limit in [1, 0] {
            var limited = policy
            limited.intermediateLimit = limit
            let code = try await stage.code(limited)
            #expect(limit == 1 ? code == nil : code != nil, "\(limit): \(String(describing: code))")
        }
        for (pinned, expected) in [(graph.secondRoot, nil), (graph.firstRoot, ErrorCode.pinMismatch)] {
            var pinning = policy
            pinning.pinning = .keys(of: [try pinned.certificate])
            #expect(try await stage.code(pinning) == expected)
        }
        let shared = graph.sharedBelowSecond
        for revoked in [[], [graph.leaf]] {
            var asking = policy
            asking.revocationLists = try SecurityPolicy.RevocationLists([
                RevocationMaker.list(by: shared, revoking: revoked)
            ])
            #expect(try await stage.code(asking) == (revoked.isEmpty ? nil : .certificateRevoked))
        }
        await stage.end()
        let elsewhere = try HeldCertificate(.server("else.test"), issuer: graph.sharedBelowConstrained)
        var sent = graph.sent
        sent[0] = elsewhere
        #expect(try await TrustStage.code(of: sent, by: policy) == .hostNameMismatch)
    }

    @Test("a revoked certificate of an authority does not hide a valid one")
    func revoked() async throws {
        let graph = try Graph()
        var policy = try graph.policy([graph.firstRoot, graph.secondRoot])
        for (revoked, expected) in [([], nil), ([graph.sharedBelowSecond], ErrorCode.certificateRevoked)] {
            policy.revocationLists = try SecurityPolicy.RevocationLists(
                [
                    RevocationMaker.list(by: graph.sharedBelowSecond), RevocationMaker.list(by: graph.firstRoot),
                    RevocationMaker.list(by: graph.constrained, revoking: [graph.sharedBelowConstrained]),
                    RevocationMaker.list(by: graph.secondRoot, revoking: revoked),
                ], scope: .chain)
            #expect(try await TrustStage.code(of: graph.sent, by: policy) == expected)
        }
    }

    @Test("a strict policy finds the path that satisfies the strict rules")
    func strict() async throws {
        var loose = Options.authority("Shared")
        loose.serialNumber = 0
        let root = try TestChain.root.get()
        let bad = try HeldCertificate(loose, issuer: root)
        let good = try HeldCertificate(.authority("Shared"), issuer: root, keyOf: bad)
        let leaf = try HeldCertificate.localhost(issuedBy: bad)
        var policy = try root.anchor
        policy.isStrict = true
        #expect(try await TrustStage.code(of: [leaf, bad], by: policy) == .unsuitableCertificate)
        #expect(try await TrustStage.code(of: [leaf, bad, good], by: policy) == nil)
    }

    // MARK: Search limits

    /// The cost of a search without a result.
    private func spent(
        leaf: HeldCertificate, sent: [HeldCertificate], anchors: [HeldCertificate]
    ) throws -> (paths: Int, signatures: Int, steps: Int) {
        let stack = try #require(curlew_certificates_new())
        defer { curlew_certificates_free(stack) }
        for held in sent {
            let handle = try CertificateHandle(der: held.certificateDER)
            #expect(withExtendedLifetime(handle) { curlew_certificates_push(stack, handle.raw) } == 1)
        }
        let store = try TrustStore(anchors.map { try CertificateHandle(der: $0.certificateDER) })
        let handle = try CertificateHandle(der: leaf.certificateDER)
        let search = try #require(PathSearch(leaf: handle.raw, sent: stack, store: store, intermediateLimit: 10))
        var paths = 0
        let found: Bool? = search.first { _ in
            paths += 1
            return nil
        }
        #expect(found == nil)
        return (paths, search.signatures, search.steps)
    }

    @Test("authorities that all sign each other stay within the search limits, with and without an anchor")
    func mesh() async throws {
        let authorities = try (0..<8).map { try HeldCertificate.root("Authority \($0)") }
        let certificates = try authorities.flatMap { subject in
            try authorities.filter { $0 != subject }.map {
                try HeldCertificate(.authority(subject.commonName), issuer: $0, keyOf: subject)
            }
        }
        let leaf = try HeldCertificate.localhost(issuedBy: authorities[0])
        let sent = [leaf] + certificates
        let stranger = try TestChain.root.get()
        for anchors in [[stranger], [authorities[7]], Array(authorities.dropFirst())] {
            let (paths, signatures, steps) = try spent(leaf: leaf, sent: sent, anchors: anchors)
            #expect(signatures <= PathSearch.signatureLimit && steps <= PathSearch.stepLimit)
            #expect(anchors == [stranger] ? paths == 0 : paths > 0)
        }
        // OpenSSL's own path is too long, or has no end.
        let code = try await TrustStage.code(of: sent, by: stranger.anchor)
        #expect([.unknownIssuer, .unsuitableCertificate].contains(code))
        #expect(try await TrustStage.code(of: sent, by: authorities[7].anchor) == nil)
    }

    @Test("issuers with the right name and the wrong key stay within the search limits")
    func decoys() throws {
        let root = try TestChain.root.get()
        let issuer = try HeldCertificate(.authority("Popular"), issuer: root)
        // Only a signature distinguishes them without key identifiers.
        let leaf = try HeldCertificate(
            Options(alternativeNames: HeldCertificate.loopbackNames, namesAuthorityKey: false), issuer: issuer)
        let decoys = try (0..<100).map { _ in try HeldCertificate(.authority("Popular"), issuer: root) }
        let (paths, signatures, steps) = try spent(leaf: leaf, sent: [leaf] + decoys + [issuer], anchors: [root])
        #expect(paths == 0 && (1...PathSearch.signatureLimit).contains(signatures) && steps == 1)
        let few = try spent(leaf: leaf, sent: [leaf] + decoys.prefix(20) + [issuer], anchors: [root])
        #expect(few.paths == 1 && few.signatures == 24 && few.steps == 2)
    }
}
