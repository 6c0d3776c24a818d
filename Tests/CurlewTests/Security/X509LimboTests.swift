import FoundationEssentials
import Testing

@testable import CurlewCore

/// The cases of x509-limbo, which `make test-x509-limbo` fetches.
@Suite("Conformance: cases of x509-limbo", .timeLimit(.minutes(5)))
struct X509LimboTests {
    /// The file with the cases.
    private static let path = ProcessInfo.processInfo.environment["CURLEW_X509_LIMBO"]

    /// A case: the certificates of a peer, and the expected verdict on them.
    private struct Case: Decodable {
        struct Name: Decodable {
            let value: String
        }

        enum CodingKeys: String, CodingKey {
            case id, crls
            case kind = "validation_kind"
            case anchors = "trusted_certs"
            case intermediates = "untrusted_intermediates"
            case leaf = "peer_certificate"
            case moment = "validation_time"
            case result = "expected_result"
            case name = "expected_peer_name"
            case depth = "max_chain_depth"
        }

        let id, kind, leaf, result: String
        let anchors, intermediates, crls: [String]
        let moment: Date?
        let name: Name?
        let depth: Int?
    }

    private struct Suite: Decodable {
        let testcases: [Case]
    }

    /// Invalid certificates that a policy accepts by default and refuses if it is strict.
    private static let refusedStrictly: Set = [
        "rfc5280::aki::intermediate-missing-aki",
        "rfc5280::aki::leaf-missing-aki",
        "rfc5280::nc::permitted-dns-match-noncritical",
        "rfc5280::pc::ica-noncritical-pc",
        "rfc5280::root-non-critical-basic-constraints",
        "rfc5280::san::noncritical-with-empty-subject",
        "rfc5280::san::underscore-dns",
        "rfc5280::serial::too-long",
        "rfc5280::serial::zero",
        "rfc5280::ski::intermediate-missing-ski",
        "rfc5280::ski::root-missing-ski",
        "webpki::aki::root-with-aki-all-fields",
        "webpki::aki::root-with-aki-authoritycertissuer",
        "webpki::aki::root-with-aki-authoritycertserialnumber",
        "webpki::aki::root-with-aki-missing-keyidentifier",
        "webpki::aki::root-with-aki-ski-mismatch",
        "webpki::cn::case-mismatch",
        "webpki::cn::ipv4-hex-mismatch",
        "webpki::cn::ipv4-leading-zeros-mismatch",
        "webpki::cn::ipv6-non-rfc5952-mismatch",
        "webpki::cn::ipv6-uncompressed-mismatch",
        "webpki::cn::ipv6-uppercase-mismatch",
        "webpki::cn::not-in-san",
        "webpki::cn::punycode-not-in-san",
        "webpki::cn::utf8-vs-punycode-mismatch",
        "webpki::eku::ee-anyeku",
        "webpki::eku::ee-critical-eku",
        "webpki::eku::ee-without-eku",
        "webpki::eku::root-has-eku",
        "webpki::san::public-suffix-private-namespace-wildcard-san",
        "webpki::san::san-critical-with-nonempty-subject",
    ]
    /// Invalid certificates that every policy accepts: OpenSSL does not check a revocation list for its number, a root
    /// for the identifier of its own key, or the sign of a serial number.
    private static let accepted: Set = [
        "crl::crlnumber-missing",
        "rfc5280::aki::cross-signed-root-missing-aki",
        "rfc5280::serial::negative",
    ]
    /// Valid certificates that every policy refuses: an authority's as a server's, and a self-issued intermediate
    /// beyond the limit, because each intermediate counts.
    private static let refused: Set = [
        "pathlen::max-chain-depth-1-self-issued",
        "pathlen::validation-ignores-pathlen-in-leaf",
        "rfc5280::ca-as-leaf",
    ]
    /// Valid certificates that a strict policy refuses, because the CA/Browser Forum does.
    private static let strictAlone: Set = [
        "crl::issuer-no-keyusage-extension",
        "rfc5280::eku::ee-without-eku",
        "rfc5280::nc::permitted-dn-match",
        "rfc5280::nc::permitted-dns-match-more",
        "rfc5280::nc::permitted-ipv4-match",
        "rfc5280::nc::permitted-ipv6-match",
        "webpki::nc::nc-permits-dns-san-pattern",
        "webpki::nc::permitted-dns-match-noncritical",
        "webpki::san::exact-localhost-ip-san",
        "webpki::san::leftmost-wildcard-san",
    ]

    /// The policy of a case.
    private func policy(_ testCase: Case, isStrict: Bool) throws -> SecurityPolicy {
        let anchors = try testCase.anchors.flatMap { try CurlewCertificate.all(inPEM: $0) }
        var policy = SecurityPolicy(anchors: .certificates(anchors))
        policy.isStrict = isStrict
        if let depth = testCase.depth { policy.intermediateLimit = depth }
        if !testCase.crls.isEmpty {
            policy.revocationLists = try SecurityPolicy.RevocationLists(testCase.crls.map { Array($0.utf8) })
        }
        return policy
    }

    /// True if a policy accepts the peer of a case.
    private func accepts(_ testCase: Case, isStrict: Bool) throws -> Bool {
        let rules: TrustRules
        let sent: [CertificateHandle]
        do {
            rules = try TrustRules(policy(testCase, isStrict: isStrict))
            sent = try ([testCase.leaf] + testCase.intermediates).flatMap { try CurlewCertificate.all(inPEM: $0) }
                .map { try $0.handle() }
        } catch is CurlewError {
            return false
        }
        let stack = try CertificateStack(sent)
        let moment = testCase.moment.map { Int64($0.timeIntervalSince1970) } ?? CertificateTime.now
        return try withExtendedLifetime(stack) {
            guard let name = testCase.name?.value else {
                return PathValidation(store: try #require(rules.anchors), rules: rules.path, moment: moment)
                    .validate(leaf: sent[0].raw, sent: stack.raw).refusal == nil
            }
            guard let host = HostName(host: name.contains(":") ? "[\(name)]" : name) else { return false }
            return PeerVerifier(rules: rules, host: host, moment: moment, leaf: sent[0], sent: stack.raw)
                .judge().refusal == nil
        }
    }

    @Test("each case has the expected verdict", .enabled(if: Self.path != nil), arguments: [false, true])
    func cases(isStrict: Bool) throws {
        let text = try String(contentsOfFile: #require(Self.path), encoding: .utf8)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        // The file also has cases of BetterTLS and of public servers.
        let cases = try decoder.decode(Suite.self, from: Data(text.utf8)).testcases.filter {
            $0.kind == "SERVER" && !$0.id.hasPrefix("bettertls::") && !$0.id.hasPrefix("online::")
        }
        #expect(cases.count == 184)
        let others =
            Self.accepted.union(Self.refused).union(isStrict ? Self.strictAlone : Self.refusedStrictly)
        var different: Set<String> = []
        for testCase in cases where try accepts(testCase, isStrict: isStrict) != (testCase.result == "SUCCESS") {
            different.insert(testCase.id)
        }
        #expect(different.subtracting(others).sorted() == [])
        #expect(others.subtracting(different).sorted() == [])
    }
}
