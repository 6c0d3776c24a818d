import CurlewTesting
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("The contents of certificates", .timeLimit(.minutes(3)))
struct CertificateProfileTests {
    private typealias Options = HeldCertificate.Options

    private func root() throws -> HeldCertificate { try TestChain.root.get() }

    private func leaf(_ adjust: (inout Options) -> Void = { _ in }) -> Options {
        var options = Options(alternativeNames: HeldCertificate.loopbackNames)
        adjust(&options)
        return options
    }

    private func authority(_ extensions: HeldCertificate.Extension...) -> Options {
        Options(commonName: "Issuer", authority: .authority(), otherExtensions: extensions)
    }

    /// The code of a client's refusal of a leaf under the root, or under its own intermediate; nil if it is accepted.
    private func code(
        _ options: Options, under intermediate: Options? = nil, _ adjust: (inout SecurityPolicy) -> Void = { _ in }
    ) async throws -> ErrorCode? {
        let issuers = try intermediate.map { [try HeldCertificate($0, issuer: root())] } ?? []
        let leaf = try HeldCertificate(options, issuer: issuers.first ?? root())
        var policy = try root().anchor
        adjust(&policy)
        return try await TrustStage.code(of: [leaf] + issuers, by: policy)
    }

    @Test("an authority without a subject name is refused, anywhere on the path and under every policy")
    func namelessAuthority() async throws {
        let nameless = Options(commonName: "", authority: .authority())
        #expect(try await code(leaf(), under: nameless) == .unsuitableCertificate)
        let root = try HeldCertificate(nameless)
        let between = try HeldCertificate(authority(), issuer: root)
        for chain in [
            [try HeldCertificate(leaf(), issuer: root)], [try HeldCertificate(leaf(), issuer: between), between],
        ] {
            #expect(try await TrustStage.code(of: chain, by: root.anchor) == .unsuitableCertificate)
        }
        #expect(
            try await code(leaf(), under: nameless) { policy in
                policy.allowsInvalidCertificates = true
                policy.validatesDomainName = false
            } == .unsuitableCertificate)
        #expect(
            try await code(leaf(), under: nameless) { policy in
                policy.evaluator = SecurityPolicy.Evaluator { _ in .accept }
            } == .unsuitableCertificate)
    }

    // MARK: Name constraints

    struct Constraint: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var constraints: [String]
        var isRefused: Bool
    }

    @Test(
        "a wildcard that covers an excluded or unpermitted name is refused",
        arguments: [
            Constraint(
                testDescription: "a sibling is excluded (CVE-2025-61727)",
                constraints: ["permitted;DNS:example.test", "excluded;DNS:bar.example.test"], isRefused: true),
            Constraint(
                testDescription: "a sibling in capitals is excluded", constraints: ["excluded;DNS:Bar.EXAMPLE.test"],
                isRefused: true),
            Constraint(
                testDescription: "one of several that are excluded",
                constraints: ["excluded;DNS:other.test", "excluded;DNS:bar.example.test"], isRefused: true),
            Constraint(
                testDescription: "the parent is excluded", constraints: ["excluded;DNS:example.test"], isRefused: true),
            Constraint(
                testDescription: "one label alone is permitted", constraints: ["permitted;DNS:bar.example.test"],
                isRefused: true),
            Constraint(
                testDescription: "a name two labels deeper is excluded",
                constraints: ["excluded;DNS:a.bar.example.test"],
                isRefused: false),
            Constraint(
                testDescription: "a name of another domain is excluded", constraints: ["excluded;DNS:bar.other.test"],
                isRefused: false),
            Constraint(
                testDescription: "the parent is permitted", constraints: ["permitted;DNS:example.test"],
                isRefused: false),
        ])
    func wildcard(_ constraint: Constraint) async throws {
        let names: [HeldCertificate.AlternativeName] = [.dns("*.example.test"), .ip("127.0.0.1")]
        let options = leaf { $0.alternativeNames = names }
        var issuer = authority()
        issuer.nameConstraints = constraint.constraints
        let expected: ErrorCode? = constraint.isRefused ? .unsuitableCertificate : nil
        #expect(try await code(options, under: issuer) == expected)
        // The constraints of a higher authority, and of the anchor, apply too.
        let top = try HeldCertificate(issuer)
        let middle = try HeldCertificate(.authority("Middle"), issuer: top)
        let deep = try HeldCertificate(options, issuer: middle)
        #expect(try await TrustStage.code(of: [deep, middle], by: top.anchor) == expected)
    }

    @Test("empty and malformed name constraints are refused")
    func emptyConstraints() async throws {
        let cases: [(what: String, bytes: [UInt8], expected: ErrorCode)] = [
            ("neither list", [0x30, 0x00], .unsuitableCertificate),
            ("two empty lists", [0x30, 0x04, 0xA0, 0x00, 0xA1, 0x00], .unsuitableCertificate),
            ("one empty list", [0x30, 0x02, 0xA1, 0x00], .unsuitableCertificate),
            // OpenSSL does not use an unparsable certificate as an issuer.
            ("no sequence", [0x05, 0x00], .unknownIssuer), ("half a tag", [0x30], .unknownIssuer),
        ]
        for (what, bytes, expected) in cases {
            let issuer = authority(.encoded("nameConstraints", isCritical: true, bytes))
            let code = try await code(leaf(), under: issuer)
            #expect(code == expected, "\(what): \(String(describing: code))")
        }
    }

    @Test("the strict mode requires name constraints and policy constraints to be critical")
    func criticalConstraints() async throws {
        var names = authority()
        names.nameConstraints = ["permitted;DNS:localhost"]
        var loose = names
        loose.nameConstraintsAreCritical = false
        let cases: [(what: String, issuer: Options, strict: ErrorCode?)] = [
            ("critical names", names, nil), ("names", loose, .unsuitableCertificate),
            ("critical policy", authority(.text("policyConstraints", "critical,requireExplicitPolicy:3")), nil),
            ("policy", authority(.text("policyConstraints", "requireExplicitPolicy:3")), .unsuitableCertificate),
        ]
        for (what, issuer, strict) in cases {
            #expect(try await code(leaf(), under: issuer) == nil, "\(what)")
            #expect(try await code(leaf(), under: issuer) { $0.isStrict = true } == strict, "\(what)")
        }
    }

    // MARK: Authorities as servers

    @Test("an authority's certificate may be a server's only with the policy's permission and serverAuth")
    func authorityAsServer() async throws {
        let cases: [(what: String, usage: [String], extended: [String], withLeave: ErrorCode?)] = [
            ("signs nothing", ["digitalSignature"], ["serverAuth"], nil),
            ("signs certificates", ["digitalSignature", "keyCertSign"], ["serverAuth", "clientAuth"], nil),
            ("has no usage", [], ["serverAuth"], nil),
            ("does not say serverAuth", ["digitalSignature", "keyCertSign"], [], .unsuitableCertificate),
            ("is for anything", ["digitalSignature"], ["anyExtendedKeyUsage"], .unsuitableCertificate),
            ("is a client's", ["digitalSignature"], ["clientAuth"], .unsuitableCertificate),
        ]
        for (what, usage, extended, withLeave) in cases {
            let options = leaf {
                $0.authority = .authority()
                $0.keyUsage = usage
                $0.extendedKeyUsage = extended
            }
            #expect(try await code(options) == .unsuitableCertificate, "\(what)")
            #expect(try await code(options) { $0.allowsAuthorityAsServer = true } == withLeave, "\(what)")
        }
        // The test server refuses to serve a certificate that only signs certificates.
        let signing = try HeldCertificate(
            leaf {
                $0.authority = .authority()
                $0.extendedKeyUsage = ["serverAuth"]
            }, issuer: root())
        let handle = try CertificateHandle(der: signing.certificateDER)
        let outcome = try PathValidation(
            store: TrustStore([CertificateHandle(der: root().certificateDER)]),
            rules: PathValidation.Rules(allowsAuthorityAsServer: true), moment: CertificateTime.now
        ).validate(leaf: handle.raw, sent: nil)
        #expect(outcome.refusal?.code == .unsuitableCertificate && outcome.chain.first?.der == handle.der)
        #expect(try await code(leaf()) { $0.allowsAuthorityAsServer = true } == nil)
        let signer = leaf { $0.keyUsage = ["digitalSignature", "keyCertSign"] }
        #expect(try await code(signer) { $0.allowsAuthorityAsServer = true } == .unsuitableCertificate)
        // An anchor needs no permission: it is trusted itself.
        let own = leaf {
            $0.authority = .authority()
            $0.keyUsage = ["digitalSignature", "keyCertSign"]
        }
        let anchor = try HeldCertificate(own)
        #expect(try await TrustStage.code(of: [anchor], by: anchor.anchor) == nil)
        let issued = try HeldCertificate(own, issuer: root())
        let both = SecurityPolicy.anchors([try issued.certificate, try root().certificate])
        #expect(try await TrustStage.code(of: [issued], by: both) == nil)
    }

    @Test("the path length does not count the server's own certificate, whatever its contents")
    func pathLength() async throws {
        let issuer = Options(commonName: "Issuer", authority: .authority(pathLength: 0))
        let last = leaf {
            $0.authority = .authority(pathLength: 0)
            $0.keyUsage = ["digitalSignature", "keyCertSign"]
            $0.extendedKeyUsage = ["serverAuth"]
        }
        #expect(try await code(last, under: issuer) { $0.allowsAuthorityAsServer = true } == nil)
        let odd = leaf { $0.authority = .none(pathLength: 0) }
        #expect(try await code(odd, under: issuer) == nil)
        #expect(try await code(odd, under: issuer) { $0.isStrict = true } == .unsuitableCertificate)
        let first = try HeldCertificate(issuer, issuer: root())
        let second = try HeldCertificate(.authority("Second", pathLength: 0), issuer: first)
        let deep = try HeldCertificate(last, issuer: second)
        var policy = try root().anchor
        policy.allowsAuthorityAsServer = true
        #expect(try await TrustStage.code(of: [deep, second, first], by: policy) == .unsuitableCertificate)
    }

    // MARK: Other rules

    @Test("an invalid authority information access is refused, wherever in the chain")
    func informationAccess() async throws {
        let bad: [(what: String, bytes: [UInt8])] = [
            ("text", Array("malformed".utf8)), ("nothing", []), ("no description", [0x30, 0x00]),
            ("half a description", [0x30, 0x04, 0x30, 0x02, 0x06]), ("null", [0x05, 0x00]),
            (
                "more behind it",
                [0x30, 0x0F, 0x30, 0x0D, 0x06, 0x08, 0x2B, 6, 1, 5, 5, 7, 0x30, 1, 0x86, 1, 0x61, 0x05, 0x00]
            ),
        ]
        for (what, bytes) in bad {
            let access = HeldCertificate.Extension.encoded("authorityInfoAccess", bytes)
            #expect(try await code(leaf { $0.otherExtensions = [access] }) == .unsuitableCertificate, "\(what)")
            #expect(try await code(leaf(), under: authority(access)) == .unsuitableCertificate, "\(what)")
        }
        let good = HeldCertificate.Extension.text("authorityInfoAccess", "OCSP;URI:http://ocsp.test/")
        #expect(try await code(leaf { $0.otherExtensions = [good] }, under: authority(good)) == nil)
    }

    @Test("the strict mode refuses a root whose authority key identifier is not exactly its own key's")
    func rootKeyIdentifier() async throws {
        let other: [UInt8] = [0x30, 0x16, 0x80, 0x14] + [UInt8](repeating: 7, count: 20)
        let cases: [(what: String, value: HeldCertificate.Extension, strict: ErrorCode?)] = [
            ("its own", .text("authorityKeyIdentifier", "keyid:always"), nil),
            ("another key", .encoded("authorityKeyIdentifier", other), .unsuitableCertificate),
            ("no key", .encoded("authorityKeyIdentifier", [0x30, 0x00]), .unsuitableCertificate),
            (
                "issuer and serial number too", .text("authorityKeyIdentifier", "keyid:always,issuer:always"),
                .unsuitableCertificate
            ),
        ]
        for (what, value, strict) in cases {
            let root = try HeldCertificate(authority(value))
            let leaf = try HeldCertificate.localhost(issuedBy: root)
            var policy = try root.anchor
            #expect(try await TrustStage.code(of: [leaf], by: policy) == nil, "\(what)")
            policy.isStrict = true
            #expect(try await TrustStage.code(of: [leaf], by: policy) == strict, "\(what)")
        }
    }

    @Test("the strict mode refuses a server certificate with anyExtendedKeyUsage")
    func anyUsage() async throws {
        let options = leaf { $0.extendedKeyUsage = ["serverAuth", "anyExtendedKeyUsage"] }
        #expect(try await code(options) == nil)
        #expect(try await code(options) { $0.isStrict = true } == .unsuitableCertificate)
    }

    @Test("a changed byte in any certificate of a chain causes at most a refusal")
    func hostile() throws {
        let issuer = try HeldCertificate(
            Options(
                commonName: "Issuer", authority: .authority(),
                nameConstraints: ["permitted;DNS:example.test", "excluded;DNS:bar.example.test"],
                otherExtensions: [
                    .text("policyConstraints", "requireExplicitPolicy:3"),
                    .text("authorityInfoAccess", "OCSP;URI:http://ocsp.test/"),
                ]), issuer: root())
        let leaf = try HeldCertificate(
            Options(
                alternativeNames: [.dns("*.example.test")],
                otherExtensions: [.text("authorityInfoAccess", "OCSP;URI:http://ocsp.test/")]), issuer: issuer)
        let chain = [leaf, issuer, try root()].map(\.certificateDER)
        var rules = PathValidation.Rules()
        rules.isStrict = true
        rules.allowsAuthorityAsServer = true
        for position in chain.indices {
            for index in chain[position].indices {
                for mask in [0x01, 0x80, 0xFF] as [UInt8] {
                    var spoilt = chain
                    spoilt[position][index] ^= mask
                    guard let handles = try? spoilt.map({ try CertificateHandle(der: $0) }) else { continue }
                    _ = ChainChecks.refusal(of: handles, by: rules)
                }
            }
        }
    }
}
