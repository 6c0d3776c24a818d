internal import COpenSSL

/// What a valid path has to be besides, where OpenSSL is laxer than browsers and the CA/Browser Forum's baseline.
enum ChainChecks {
    /// Why a path is refused; nil if it is not. A path of one, a certificate that is trusted itself, need not look like one
    /// that somebody issued.
    static func refusal(of chain: [CertificateHandle], isStrict: Bool) -> TrustRefusal? {
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
            if isStrict, let problem = StrictChecks.problem(of: certificate, position: index, of: chain.count) {
                return refuse(.unsuitableCertificate, certificate, problem)
            }
        }
        return leafRefusal(chain[0]) ?? constraintRefusal(chain)
    }

    private static func leafRefusal(_ leaf: CertificateHandle) -> TrustRefusal? {
        if X509_check_ca(leaf.raw) == 1 {
            return refuse(.unsuitableCertificate, leaf, "it is an authority's, not a server's")
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

    /// Name constraints are only as good as the names that they are compared with: OpenSSL compares odd ones as text.
    private static func constraintRefusal(_ chain: [CertificateHandle]) -> TrustRefusal? {
        var isConstrained = false
        for certificate in chain.dropFirst() {
            let answer = curlew_name_constraints_are(certificate.raw) { bytes, count in
                let name = UnsafeBufferPointer(start: bytes, count: Int(count))
                return name.isEmpty || HostName.plainName(name, allowsWildcard: false) != nil ? 1 : 0
            }
            if answer == 0 || answer == -2 {
                return refuse(.unsuitableCertificate, certificate, "its name constraints are no DNS names")
            }
            isConstrained = isConstrained || answer == 1
        }
        guard isConstrained, let names = AlternativeNames(chain[0]) else { return nil }
        guard names.hosts.allSatisfy({ HostName.plainName($0, allowsWildcard: true) != nil }) else {
            return refuse(
                .unsuitableCertificate, chain[0], "it has a name that name constraints cannot be compared with")
        }
        return nil
    }

    private static func refuse(_ code: ErrorCode, _ certificate: CertificateHandle, _ problem: String) -> TrustRefusal {
        let subject = (try? CertificateDetails(certificate).subject) ?? ""
        return TrustRefusal(code, "the certificate of \(subject) cannot be accepted: \(problem)")
    }
}
