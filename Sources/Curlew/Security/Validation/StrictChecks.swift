internal import COpenSSL

/// What the strict mode asks besides `X509_V_FLAG_X509_STRICT`: RFC 5280's and the CA/Browser Forum's "must" that a
/// client could do without.
enum StrictChecks {
    /// What is wrong with one certificate of a path; nil if nothing is.
    /// - Parameters:
    ///   - position: Where it stands; 0 is the server's.
    ///   - count: How many there are; the last is the anchor.
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
        // An intermediate that is an anchor names its issuer's key. A root is its own (baseline, 7.1.2.1.3).
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
            return "it does not say that it is a server's"
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

    /// A positive number of 20 bytes at most (RFC 5280 §4.1.2.2).
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
