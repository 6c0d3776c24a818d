internal import COpenSSL

/// Further checks of a valid path, where OpenSSL is laxer than browsers and the CA/Browser Forum's baseline.
enum ChainChecks {
    /// The reason to refuse a path; nil if there is none. A path of one certificate, which is an anchor itself, need
    /// not satisfy the rules for issued certificates.
    static func refusal(of chain: [CertificateHandle], by rules: PathValidation.Rules) -> TrustFailure? {
        for (index, certificate) in chain.enumerated() {
            if let weakness = KeyStrength.weakness(ofKey: X509_get0_pubkey(certificate.raw)) {
                return refuse(.weakCertificate, certificate, weakness)
            }
            // The anchor's own signature is irrelevant.
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
            if X509_NAME_entry_count(X509_get_issuer_name(certificate.raw)) == 0 {
                return refuse(.unsuitableCertificate, certificate, "its issuer has no name")
            }
            if index > 0, X509_check_ca(certificate.raw) != 1 {
                return refuse(.unsuitableCertificate, certificate, "it may not issue others")
            }
            if hasDuplicateExtensions(certificate.raw) {
                return refuse(.unsuitableCertificate, certificate, "it has an extension twice")
            }
            // An empty extension is as invalid as an unreadable one (RFC 5280 §4.2.2.1).
            if [0, -2].contains(curlew_information_access_count(certificate.raw)) {
                return refuse(.unsuitableCertificate, certificate, "its authority information access cannot be read")
            }
            if rules.isStrict, let problem = StrictChecks.problem(of: certificate, position: index, of: chain.count) {
                return refuse(.unsuitableCertificate, certificate, problem)
            }
        }
        return leafRefusal(chain[0], by: rules) ?? constraintRefusal(chain)
    }

    private static func leafRefusal(_ leaf: CertificateHandle, by rules: PathValidation.Rules) -> TrustFailure? {
        // The basic constraints decide, whatever the key usage: `X509_check_ca()` requires both.
        guard X509_get_extension_flags(leaf.raw) & UInt32(EXFLAG_CA) == 0 else {
            guard rules.allowsAuthorityAsServer else {
                return refuse(.unsuitableCertificate, leaf, "it is an authority's, not a server's")
            }
            let usage = X509_get_extended_key_usage(leaf.raw)
            guard usage != UInt32.max, usage & UInt32(XKU_SSL_SERVER) != 0 else {
                return refuse(
                    .unsuitableCertificate, leaf, "it is an authority's, and is not declared as a server's too")
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

    /// True if an extension occurs twice (RFC 5280 §4.2): OpenSSL reads the first, other implementations the last.
    private static func hasDuplicateExtensions(_ raw: OpaquePointer) -> Bool {
        let count = X509_get_ext_count(raw)
        for index in 0..<max(0, count) {
            guard let object = X509_EXTENSION_get_object(X509_get_ext(raw, index)) else { return true }
            if X509_get_ext_by_OBJ(raw, object, index) >= 0 { return true }
        }
        return false
    }

    /// Checks the names that name constraints are compared with. OpenSSL compares malformed names and wildcards as
    /// plain text.
    private static func constraintRefusal(_ chain: [CertificateHandle]) -> TrustFailure? {
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

    private static func refuse(_ code: ErrorCode, _ certificate: CertificateHandle, _ problem: String) -> TrustFailure {
        let subject = (try? CurlewCertificate.Details(certificate).subject) ?? ""
        return TrustFailure(code, "the certificate of \(subject) cannot be accepted: \(problem)")
    }
}

/// Further checks of the strict mode, besides `X509_V_FLAG_X509_STRICT`: requirements of RFC 5280 and the CA/Browser
/// Forum that a client need not enforce.
private enum StrictChecks {
    /// The problem with one certificate of a path; nil if there is none.
    /// - Parameters:
    ///   - position: The index in the path; 0 is the server's certificate.
    ///   - count: The length of the path; the last certificate is the anchor.
    static func problem(of certificate: CertificateHandle, position: Int, of count: Int) -> String? {
        let raw = certificate.raw
        if let problem = serialProblem(raw) { return problem }
        guard X509_NAME_entry_count(X509_get_issuer_name(raw)) > 0 else { return "its issuer has no name" }
        if isCritical(raw, NID_authority_key_identifier) || isCritical(raw, NID_subject_key_identifier) {
            return "its key identifiers are critical"
        }
        if has(raw, NID_name_constraints), !isCritical(raw, NID_name_constraints) {
            return "its name constraints are not critical"
        }
        if has(raw, NID_policy_constraints), !isCritical(raw, NID_policy_constraints) {
            return "its policy constraints are not critical"
        }
        if position == count - 1, let problem = anchorProblem(raw) { return problem }
        return position == 0 ? leafProblem(certificate) : nil
    }

    private static func anchorProblem(_ raw: OpaquePointer) -> String? {
        if has(raw, NID_ext_key_usage) { return "an anchor has no extended key usage" }
        // An intermediate that is an anchor identifies its issuer's key. A root identifies its own (baseline,
        // 7.1.2.1.3).
        guard X509_NAME_cmp(X509_get_issuer_name(raw), X509_get_subject_name(raw)) == 0,
            has(raw, NID_authority_key_identifier)
        else { return nil }
        guard let issuer = X509_get0_authority_key_id(raw), let own = X509_get0_subject_key_id(raw),
            ASN1_OCTET_STRING_cmp(issuer, own) == 0
        else { return "it is a root, and names another key as its authority's" }
        guard X509_get0_authority_issuer(raw) == nil, X509_get0_authority_serial(raw) == nil else {
            return "it is a root, and names an issuer besides its key"
        }
        return nil
    }

    private static func leafProblem(_ certificate: CertificateHandle) -> String? {
        let raw = certificate.raw
        let usage = X509_get_extended_key_usage(raw)
        guard usage != UInt32.max, usage & UInt32(XKU_SSL_SERVER) != 0 else {
            return "it is not declared as a server's"
        }
        guard usage & UInt32(XKU_ANYEKU) == 0 else { return "it may be used for anything" }
        if isCritical(raw, NID_ext_key_usage) { return "its extended key usage is critical" }
        guard let names = AlternativeNames(certificate) else { return "it has no alternative names" }
        let hasSubject = X509_NAME_entry_count(X509_get_subject_name(raw)) > 0
        if isCritical(raw, NID_subject_alt_name) == hasSubject {
            return "its alternative names have to be critical if it has no subject, and only then"
        }
        guard let common = commonName(raw) else { return nil }
        let listed = names.descriptions.map { $0.split(separator: ":", maxSplits: 1).last.map(String.init) ?? "" }
        return listed.contains(common) ? nil : "its common name is not among its alternative names"
    }

    private static func commonName(_ raw: OpaquePointer) -> String? {
        guard let subject = X509_get_subject_name(raw) else { return nil }
        let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
        guard index >= 0, let entry = X509_NAME_get_entry(subject, index), let data = X509_NAME_ENTRY_get_data(entry)
        else {
            return nil
        }
        let bytes = UnsafeBufferPointer(start: ASN1_STRING_get0_data(data), count: Int(ASN1_STRING_length(data)))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Checks that the serial number is positive and has at most 20 bytes (RFC 5280 §4.1.2.2).
    private static func serialProblem(_ raw: OpaquePointer) -> String? {
        guard let serial = X509_get0_serialNumber(raw), let number = ASN1_INTEGER_to_BN(serial, nil) else {
            return "its serial number cannot be read"
        }
        defer { BN_free(number) }
        guard BN_is_negative(number) == 0, BN_is_zero(number) == 0, BN_num_bits(number) <= 159 else {
            return "its serial number is not positive, or too long"
        }
        return nil
    }

    private static func has(_ raw: OpaquePointer, _ identifier: Int32) -> Bool {
        X509_get_ext_by_NID(raw, identifier, -1) >= 0
    }

    private static func isCritical(_ raw: OpaquePointer, _ identifier: Int32) -> Bool {
        let index = X509_get_ext_by_NID(raw, identifier, -1)
        guard index >= 0, let found = X509_get_ext(raw, index) else { return false }
        return X509_EXTENSION_get_critical(found) == 1
    }
}

/// Checks for weak keys and signatures. They do not depend on the security level that a distribution has set for
/// OpenSSL.
enum KeyStrength {
    /// The smallest size of an RSA key in bits.
    private static let minimumRSABits: Int32 = 2048

    /// The weakness of a certificate's key; nil if there is none. RSA keys need at least 2048 bits, in whole bytes
    /// (CA/Browser Forum baseline, 6.1.5). Curves need at least 256 bits. DSA keys are always weak.
    static func weakness(ofKey key: OpaquePointer?) -> String? {
        guard let key else { return "its key cannot be read" }
        let bits = EVP_PKEY_get_bits(key)
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA, EVP_PKEY_RSA_PSS:
            guard bits >= minimumRSABits else { return "its RSA key has only \(bits) bits" }
            return bits % 8 == 0 ? nil : "its RSA key of \(bits) bits does not fill whole bytes"
        case EVP_PKEY_EC:
            var isExplicit: Int32 = 0
            if EVP_PKEY_get_int_param(key, "decoded-from-explicit", &isExplicit) == 1, isExplicit == 1 {
                return "its curve is not a named curve"
            }
            return bits >= 256 ? nil : "its curve has only \(bits) bits"
        case EVP_PKEY_DSA: return "its key is a DSA key"
        default:
            return EVP_PKEY_get_security_bits(key) >= 112 ? nil : "its key (\(describe(key))) is too weak"
        }
    }

    /// The weakness of a certificate's signature; nil if there is none. SHA-1, MD5 and older hashes are weak.
    static func weakness(ofSignatureOf certificate: OpaquePointer) -> String? {
        var hash: Int32 = 0
        var strength: Int32 = 0
        guard X509_get_signature_info(certificate, &hash, nil, &strength, nil) == 1 else {
            return "its signature has an unknown algorithm"
        }
        let weak: Set<Int32> = [NID_sha1, NID_md5, NID_md4, NID_md2, NID_md5_sha1, NID_ripemd160]
        guard weak.contains(hash) || strength < 112 else { return nil }
        let name = OBJ_nid2ln(X509_get_signature_nid(certificate)).map { String(cString: $0) } ?? "an unknown kind"
        return "its signature uses \(name)"
    }

    static func describe(_ key: OpaquePointer?) -> String {
        guard let key else { return "unreadable" }
        let bits = EVP_PKEY_get_bits(key)
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA: return "RSA \(bits)"
        case EVP_PKEY_RSA_PSS: return "RSA-PSS \(bits)"
        case EVP_PKEY_EC:
            var name = [CChar](repeating: 0, count: 80)
            var length = 0
            guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return "EC \(bits)" }
            let text = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return "EC " + (["prime256v1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"][text] ?? text)
        default: return EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "\(bits) bits"
        }
    }
}
