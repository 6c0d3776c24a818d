internal import COpenSSL

/// What a valid path has to be besides, where OpenSSL is laxer than browsers and the CA/Browser Forum's baseline.
enum ChainChecks {
    /// Why a path is refused; nil if it is not. A path of one, a certificate that is trusted itself, need not look like one
    /// that somebody issued.
    static func refusal(of chain: [CertificateHandle], by rules: PathValidation.Rules) -> TrustRefusal? {
        for (index, certificate) in chain.enumerated() {
            if let weakness = KeyStrength.weakness(ofKey: X509_get0_pubkey(certificate.raw)) {
                return refuse(.weakCertificate, certificate, weakness)
            }
            // The anchor's own signature says nothing.
            if index + 1 < chain.count,
                let weakness = KeyStrength.weakness(ofSignatureOf: certificate.raw)
            {
                return refuse(.weakCertificate, certificate, weakness)
            }
        }
        guard chain.count > 1 else { return nil }
        for (index, certificate) in chain.enumerated() {
            guard X509_get_version(certificate.raw) == 2 else {
                return refuse(.unsuitableCertificate, certificate, "it is not of version 3")
            }
            if index > 0, X509_check_ca(certificate.raw) != 1 {
                return refuse(.unsuitableCertificate, certificate, "it may not issue others")
            }
            if hasDuplicateExtensions(certificate.raw) {
                return refuse(.unsuitableCertificate, certificate, "it has an extension twice")
            }
            // A count of none is as broken as what cannot be read (RFC 5280 §4.2.2.1).
            if [0, -2].contains(curlew_information_access_count(certificate.raw)) {
                return refuse(.unsuitableCertificate, certificate, "its authority information access cannot be read")
            }
            if rules.isStrict, let problem = StrictChecks.problem(of: certificate, position: index, of: chain.count) {
                return refuse(.unsuitableCertificate, certificate, problem)
            }
        }
        return leafRefusal(chain[0], by: rules) ?? constraintRefusal(chain)
    }

    private static func leafRefusal(_ leaf: CertificateHandle, by rules: PathValidation.Rules) -> TrustRefusal? {
        // What the basic constraints say, whatever the key may be used for: X509_check_ca() asks for both.
        guard X509_get_extension_flags(leaf.raw) & UInt32(EXFLAG_CA) == 0 else {
            guard rules.allowsAuthorityAsServer else {
                return refuse(.unsuitableCertificate, leaf, "it is an authority's, not a server's")
            }
            let usage = X509_get_extended_key_usage(leaf.raw)
            guard usage != UInt32.max, usage & UInt32(XKU_SSL_SERVER) != 0 else {
                return refuse(
                    .unsuitableCertificate, leaf, "it is an authority's, and does not say that it is a server's too")
            }
            return nil
        }
        if X509_get_ext_by_NID(leaf.raw, NID_name_constraints, -1) >= 0 {
            return refuse(.unsuitableCertificate, leaf, "it constrains names, and is no authority's")
        }
        let usage = X509_get_key_usage(leaf.raw)
        if usage != UInt32.max, usage & UInt32(KU_KEY_CERT_SIGN) != 0 {
            return refuse(.unsuitableCertificate, leaf, "its key is to sign certificates, and it is no authority's")
        }
        return nil
    }

    /// RFC 5280 §4.2; OpenSSL reads the first, others the last.
    private static func hasDuplicateExtensions(_ raw: OpaquePointer) -> Bool {
        let count = X509_get_ext_count(raw)
        for index in 0..<max(0, count) {
            guard let object = X509_EXTENSION_get_object(X509_get_ext(raw, index)) else { return true }
            if X509_get_ext_by_OBJ(raw, object, index) >= 0 { return true }
        }
        return false
    }

    /// Name constraints are only as good as the names that they are compared with: OpenSSL compares odd ones as text, and
    /// a wildcard too.
    private static func constraintRefusal(_ chain: [CertificateHandle]) -> TrustRefusal? {
        var isConstrained = false
        var excluded: Set<String> = []
        for certificate in chain.dropFirst() {
            switch NameConstraints.Reading(certificate) {
            case .none: continue
            case .broken(let problem): return refuse(.unsuitableCertificate, certificate, problem)
            case .found(let constraints):
                isConstrained = isConstrained || constraints.areAboutHosts
                excluded.formUnion(constraints.excludedHosts)
            }
        }
        guard isConstrained, let names = AlternativeNames(chain[0]) else { return nil }
        let hosts = names.hosts.map { HostName.plainName($0, allowsWildcard: true) }
        guard !hosts.contains(nil) else {
            return refuse(
                .unsuitableCertificate, chain[0], "it has a name that name constraints cannot be compared with")
        }
        let parents = Set(hosts.compactMap { $0?.hasPrefix("*.") == true ? $0?.dropFirst(2) : nil })
        let sibling = excluded.first { name in
            name.firstIndex(of: ".").map { parents.contains(name[name.index(after: $0)...]) } ?? false
        }
        guard let sibling else { return nil }
        return refuse(
            .unsuitableCertificate, chain[0], "its wildcard stands for \(sibling) too, a name that is excluded")
    }

    private static func refuse(_ code: ErrorCode, _ certificate: CertificateHandle, _ problem: String) -> TrustRefusal {
        let subject = (try? CertificateDetails(certificate).subject) ?? ""
        return TrustRefusal(code, "the certificate of \(subject) cannot be accepted: \(problem)")
    }
}
