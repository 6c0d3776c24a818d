import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

@Suite("Invalid certificates", .endsServers, .timeLimit(.minutes(3)))
struct CertificateMatrixTests {
    private typealias Options = HeldCertificate.Options

    private func root() throws -> HeldCertificate { try TestChain.root.get() }

    private func leaf(_ adjust: (inout Options) -> Void) -> Options {
        var options = Options(alternativeNames: HeldCertificate.loopbackNames)
        adjust(&options)
        return options
    }

    /// The code of a client's refusal of a leaf under the root, or under its own intermediate; nil if it is accepted.
    private func code(
        _ options: Options, under intermediate: Options? = nil, strict: Bool = false
    ) async throws -> ErrorCode? {
        var chain: [HeldCertificate] = []
        if let intermediate { chain = [try HeldCertificate(intermediate, issuer: root())] }
        chain.insert(try HeldCertificate(options, issuer: chain.first ?? root()), at: 0)
        let stage = try await TrustStage(chain)
        var policy = try root().anchor
        policy.isStrict = strict
        let error = try await stage.refusal(policy)
        if let error {
            #expect(error.message.hasPrefix("127.0.0.1: "), "\(error)")
            #expect(error.stage == .connecting)
            let trust = try #require(error.serverTrust, "\(error)")
            #expect(trust.host == "127.0.0.1" && trust.chain.first?.der == chain[0].certificateDER)
        }
        await stage.end()
        return error?.code
    }

    @Test(
        "valid certificates are accepted, with every kind of key and both versions of TLS, and with intermediates",
        arguments: [
            HeldCertificate.KeyKind.ecP256, .ecP384, .rsa2048, .ed25519,
        ])
    func good(_ key: HeldCertificate.KeyKind) async throws {
        let intermediate = try HeldCertificate(
            Options(commonName: "Issuer", key: key, authority: .authority(pathLength: 0)), issuer: root())
        let leaf = try HeldCertificate(leaf { $0.key = key }, issuer: intermediate)
        for version in [ServerTLS.Version.tls12, .tls13] {
            let stage = try await TrustStage([leaf, intermediate]) { $0.maximumVersion = version }
            let response = try await stage.fetch(root().anchor)
            let security = try #require(response.security)
            #expect(security.tlsVersion == (version == .tls12 ? .tls12 : .tls13))
            #expect(security.chain.map(\.der) == [leaf, intermediate, try root()].map(\.certificateDER))
            #expect(security.cipher.isEmpty == false && security.applicationProtocol == "h2")
            #expect(security.matchedPin == nil)
            #expect(await response.task?.metrics.last?.security == security)
            await stage.end()
        }
    }

    @Test("an expired or not yet valid certificate is refused, of the server and of its issuer")
    func dates() async throws {
        #expect(try await code(leaf { $0.validity = .expired }) == .certificateExpired)
        #expect(try await code(leaf { $0.validity = .notYetValid }) == .certificateNotYetValid)
        let over = Options(commonName: "Over", validity: .expired, authority: .authority())
        #expect(try await code(leaf { _ in }, under: over) == .certificateExpired)
    }

    @Test("a self-signed certificate, or one with an unknown, missing or false issuer, is refused")
    func issuers() async throws {
        let policy = try root().anchor
        let cases: [([HeldCertificate], ErrorCode)] = [
            ([try TestChain.selfSigned.get()], .selfSignedCertificate),
            ([try HeldCertificate.localhost(issuedBy: TestChain.otherRoot.get())], .unknownIssuer),
            (
                [try HeldCertificate.localhost(issuedBy: TestChain.otherRoot.get()), try TestChain.otherRoot.get()],
                .unknownIssuer
            ),
            ([try TestChain.leaf.get()], .unknownIssuer),
            ([try HeldCertificate.brokenSignature(issuedBy: root())], .untrustedCertificate),
            (
                [try TestChain.leaf.get(), try TestChain.intermediate.get().withBrokenSignature()],
                .untrustedCertificate
            ),
        ]
        for (chain, expected) in cases {
            let stage = try await TrustStage(chain)
            #expect(try await stage.code(policy) == expected)
            await stage.end()
        }
    }

    @Test("a certificate with a short RSA key or a SHA-1 signature is refused, wherever in the chain")
    func strength() async throws {
        #expect(try await code(leaf { $0.key = .rsa1024 }) == .weakCertificate)
        #expect(try await code(leaf { $0.signatureHash = .sha1 }) == .weakCertificate)
        let short = Options(commonName: "Short", key: .rsa1024, authority: .authority())
        #expect(try await code(leaf { _ in }, under: short) == .weakCertificate)
        let old = Options(commonName: "Old", signatureHash: .sha1, authority: .authority())
        #expect(try await code(leaf { _ in }, under: old) == .weakCertificate)
        let weakRoot = try HeldCertificate(Options(commonName: "Weak", key: .rsa1024, authority: .authority()))
        let stage = try await TrustStage([HeldCertificate.localhost(issuedBy: weakRoot)])
        #expect(try await stage.code(weakRoot.anchor) == .weakCertificate)
        await stage.end()
        // The hash of a root does not matter, because its own signature proves nothing.
        let oldRoot = try HeldCertificate(
            Options(commonName: "Old Root", signatureHash: .sha1, authority: .authority()))
        let fine = try await TrustStage([HeldCertificate.localhost(issuedBy: oldRoot)])
        #expect(try await fine.code(oldRoot.anchor) == nil)
    }

    @Test("a certificate whose usages or authority do not match its place in the chain is refused")
    func usage() async throws {
        #expect(try await code(leaf { $0.extendedKeyUsage = ["clientAuth"] }) == .unsuitableCertificate)
        #expect(try await code(leaf { $0.extendedKeyUsage = ["anyExtendedKeyUsage"] }) == .unsuitableCertificate)
        #expect(try await code(leaf { $0.extendedKeyUsage = ["serverAuth"] }) == nil)
        #expect(try await code(leaf { $0.extendedKeyUsage = [] }) == nil)
        #expect(try await code(leaf { $0.extendedKeyUsage = [] }, strict: true) == .unsuitableCertificate)
        #expect(try await code(leaf { $0.keyUsage = ["digitalSignature", "keyCertSign"] }) == .unsuitableCertificate)
        #expect(
            try await code(
                leaf {
                    $0.authority = .authority()
                    $0.keyUsage = ["digitalSignature", "keyCertSign"]
                }) == .unsuitableCertificate)
        #expect(try await code(leaf { _ in }, under: Options(commonName: "No authority")) == .unsuitableCertificate)
        let mute = Options(commonName: "Mute", authority: .authority(), keyUsage: ["cRLSign"])
        #expect(try await code(leaf { _ in }, under: mute) == .unsuitableCertificate)
    }

    @Test("the strict mode enforces rules that browsers do not")
    func strict() async throws {
        let cases: [(Options, refused: Bool)] = [
            (leaf { _ in }, false), (leaf { $0.commonName = "another.test" }, true),
            (leaf { $0.extendedKeyUsage = ["critical", "serverAuth"] }, true), (leaf { $0.serialNumber = 0 }, true),
        ]
        for (index, (options, isRefused)) in cases.enumerated() {
            #expect(try await code(options) == nil, "\(index)")
            let expected: ErrorCode? = isRefused ? .unsuitableCertificate : nil
            #expect(try await code(options, strict: true) == expected, "\(index)")
        }
    }

    @Test("a chain that violates a path length or name constraints is refused")
    func constraints() async throws {
        let first = try HeldCertificate(.authority("First", pathLength: 0), issuer: root())
        let second = try HeldCertificate(.authority("Second"), issuer: first)
        let leaf = try HeldCertificate.localhost(issuedBy: second)
        let stage = try await TrustStage([leaf, second, first])
        #expect(try await stage.code(root().anchor) == .unsuitableCertificate)
        await stage.end()

        func issuer(_ constraints: String...) -> Options {
            Options(commonName: "Constrained", authority: .authority(), nameConstraints: constraints)
        }
        let named = self.leaf { $0.alternativeNames = [.dns("good.test"), .ip("127.0.0.1")] }
        #expect(try await code(named, under: issuer("permitted;DNS:good.test")) == nil)
        #expect(try await code(named, under: issuer("permitted;DNS:other.test")) == .unsuitableCertificate)
        #expect(try await code(named, under: issuer("excluded;DNS:good.test")) == .unsuitableCertificate)
        #expect(
            try await code(named, under: issuer("excluded;IP:127.0.0.0/255.0.0.0")) == .unsuitableCertificate)
        #expect(try await code(named, under: issuer("permitted;DNS:.good.test")) == .unsuitableCertificate)
        let narrow = self.leaf { $0.nameConstraints = ["permitted;DNS:localhost"] }
        #expect(try await code(narrow) == .unsuitableCertificate)
        let odd = self.leaf { $0.alternativeNames = [.dns("bad name.good.test"), .ip("127.0.0.1")] }
        #expect(try await code(odd, under: issuer("permitted;DNS:good.test")) == .unsuitableCertificate)
    }

    @Test("a chain may have the depth that the policy allows, and a very long one is refused")
    func depth() async throws {
        var issuers = [try root()]
        for number in 1...4 {
            issuers.append(try HeldCertificate(.authority("Level \(number)"), issuer: issuers[number - 1]))
        }
        let leaf = try HeldCertificate.localhost(issuedBy: issuers[4])
        let stage = try await TrustStage([leaf] + issuers.dropFirst().reversed())
        var policy = try root().anchor
        for (limit, expected) in [(4, nil), (3, ErrorCode.unsuitableCertificate), (0, .unsuitableCertificate)] {
            policy.intermediateLimit = limit
            let code = try await stage.code(policy)
            #expect(
                code == expected || expected != nil && code == .unknownIssuer, "\(limit): \(String(describing: code))")
        }
        await stage.end()
        while issuers.count <= 200 {
            issuers.append(
                try HeldCertificate(.authority("Level \(issuers.count)"), issuer: issuers[issuers.count - 1]))
        }
        let last = try HeldCertificate.localhost(issuedBy: issuers[200])
        let long = try await TrustStage([last] + issuers.dropFirst().reversed())
        #expect(try await long.code(root().anchor) != nil)
    }

    @Test("a cycle of issuers ends in an error")
    func loop() async throws {
        let first = try HeldCertificate(.authority("First"))
        let second = try HeldCertificate(.authority("Second"), issuer: first)
        let third = try HeldCertificate(.authority("First"), issuer: second)
        let leaf = try HeldCertificate.localhost(issuedBy: third)
        let stage = try await TrustStage([leaf, third, second, first])
        #expect(try await stage.code(root().anchor) == .unknownIssuer)
    }

    @Test("a server's own certificate may be an anchor, and so may an intermediate")
    func partial() async throws {
        let stage = try await TrustStage(TestChain.sent())
        #expect(try await stage.code(TestChain.leaf.get().anchor) == nil)
        #expect(try await stage.code(TestChain.intermediate.get().anchor) == nil)
    }
}
