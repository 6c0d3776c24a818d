internal import COpenSSL

/// AFNetworking's rules for the decision about a server, on paths of ``PathValidation``. The rows are those of the
/// table in the article Security.
struct PeerVerifier {
    /// The verdict, with the path that it concerns.
    struct Judgment {
        var chain: [CertificateHandle]
        var refusal: TrustFailure?
        var pin: SecurityPolicy.Pin?
        /// True if no evaluator may accept the peer: validation itself has failed, or libcurl would refuse it.
        var isInternalFailure = false
    }

    let rules: TrustRules
    let host: HostName
    /// The time of validation, in seconds since 1970.
    let moment: Int64
    let leaf: CertificateHandle
    /// All certificates that the peer sent, its own first; the handshake owns them.
    let sent: OpaquePointer?

    private var policy: SecurityPolicy { rules.policy }

    func judge() -> Judgment {
        // libcurl 7.88 refuses these certificates itself, whatever the policy, and later versions do not. Refusing them
        // for every policy makes the verdict the same.
        guard X509_NAME_entry_count(X509_get_issuer_name(leaf.raw)) > 0 else {
            return Judgment(
                chain: [leaf],
                refusal: TrustFailure(.unsuitableCertificate, "the issuer of the certificate has no name"),
                isInternalFailure: true)
        }
        let pins = rules.pins(at: moment)
        if policy.allowsInvalidCertificates, policy.validatesDomainName, !hasPins(pins) {
            return Judgment(
                chain: [leaf],
                refusal: TrustFailure(
                    rules.isPinning ? .pinMismatch : .untrustedCertificate,
                    "to check the name of a server with an invalid certificate, its certificate or key has to be pinned"
                ))
        }
        switch policy.pinning.kind {
        case .certificates: return judgeByCertificates()
        case .keys: return judgeByKeys(pins)
        case .none:
            return policy.allowsInvalidCertificates ? lenient(validated(rules.anchors)) : validated(rules.anchors)
        }
    }

    private func hasPins(_ pins: TrustRules.Pins) -> Bool {
        switch (policy.pinning.kind, pins) {
        case (.certificates, _): !rules.certificates.isEmpty
        case (.keys, .active): true
        default: false
        }
    }

    /// Rows 2 and 3: validates a path to one of the anchors and, if the policy requires it, the name.
    private func validated(_ store: TrustStore?) -> Judgment {
        guard let store else {
            return Judgment(
                chain: [leaf], refusal: TrustFailure(.invalidTLSSetting, "the system has no certificates to trust"))
        }
        let outcome = PathValidation(store: store, rules: rules.path, moment: moment).validate(
            leaf: leaf.raw, sent: sent)
        var judgment = Judgment(
            chain: outcome.chain, refusal: outcome.refusal, isInternalFailure: outcome.isInternalFailure)
        if judgment.refusal == nil, policy.validatesDomainName { judgment.refusal = nameRefusal() }
        return judgment
    }

    private func nameRefusal() -> TrustFailure? {
        guard let names = AlternativeNames(leaf) else {
            return TrustFailure(.hostNameMismatch, "the certificate has no alternative names, so it is not for \(host)")
        }
        guard !host.matches(names) else { return nil }
        let listed = names.descriptions.prefix(20).joined(separator: ", ")
        return TrustFailure(.hostNameMismatch, "the certificate is for \(listed), not for \(host)")
    }

    /// Accepts an unverified chain; only the part that is linked by signatures is kept.
    private func lenient(_ judgment: Judgment) -> Judgment {
        guard !judgment.isInternalFailure, judgment.refusal != nil else { return judgment }
        return Judgment(chain: Self.linked(judgment.chain), refusal: nil)
    }

    /// Row 5, after row 4: certificate pinning, after normal validation.
    private func judgeByCertificates() -> Judgment {
        if !policy.allowsInvalidCertificates {
            let judgment = validated(rules.anchors)
            guard judgment.refusal == nil else { return judgment }
        }
        guard !rules.certificates.isEmpty else { return mismatch([leaf], "no certificate is pinned") }
        var judgment = validated(rules.pinnedAnchors)
        guard judgment.refusal == nil else {
            // An unknown issuer here means that no pinned certificate signed the chain: report a pin mismatch.
            let isUnknown = [.unknownIssuer, .selfSignedCertificate].contains(judgment.refusal?.code)
            if isUnknown { judgment.refusal?.code = .pinMismatch }
            return judgment
        }
        for certificate in judgment.chain.reversed() {
            guard let der = certificate.der, rules.certificates.contains(der) else { continue }
            judgment.pin = certificate.pin
            return judgment
        }
        return mismatch(judgment.chain, "none of its certificates is pinned")
    }

    /// Row 6, after row 4: key pinning, after normal validation. Keys count if they are on the verified path. On an
    /// unverified path they count if each certificate is signed by the next: certificates that a server merely adds
    /// prove nothing.
    private func judgeByKeys(_ pins: TrustRules.Pins) -> Judgment {
        var judgment = validated(rules.anchors)
        if judgment.refusal != nil {
            guard policy.allowsInvalidCertificates, !judgment.isInternalFailure else { return judgment }
            judgment = lenient(judgment)
        }
        switch pins {
        case .expired:
            // Without pins and without verification no check would be left.
            return policy.allowsInvalidCertificates ? mismatch(judgment.chain, "the pins have expired") : judgment
        case .none: return mismatch(judgment.chain, "no key is pinned")
        case .active(let pins):
            for certificate in judgment.chain {
                guard let pin = certificate.pin, pins.contains(pin) else { continue }
                judgment.pin = pin
                return judgment
            }
            return mismatch(judgment.chain, "none of its keys is pinned")
        }
    }

    private func mismatch(_ chain: [CertificateHandle], _ reason: String) -> Judgment {
        let keys = chain.compactMap(\.pin).map(\.description).joined(separator: ", ")
        return Judgment(
            chain: chain, refusal: TrustFailure(.pinMismatch, "the server is not the pinned one: \(reason) (\(keys))"))
    }

    static func linked(_ chain: [CertificateHandle]) -> [CertificateHandle] {
        var linked = Array(chain.prefix(1))
        for (certificate, issuer) in zip(chain, chain.dropFirst()) {
            guard certificate.isSigned(by: issuer) else { break }
            linked.append(issuer)
        }
        return linked
    }
}
