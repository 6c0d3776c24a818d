internal import COpenSSL

/// What the strict mode asks besides `X509_V_FLAG_X509_STRICT`: RFC 5280's and the CA/Browser Forum's "must" that a
/// client could do without.
enum StrictChecks {
    /// What is wrong with one certificate of a path; nil if nothing is.
    static func problem(of certificate: CertificateHandle, isLeaf: Bool) -> String? {
        let raw = certificate.raw
        if let problem = serialProblem(raw) { return problem }
        guard X509_NAME_entry_count(X509_get_issuer_name(raw)) > 0 else { return "its issuer has no name" }
        if isCritical(raw, NID_authority_key_identifier) || isCritical(raw, NID_subject_key_identifier) {
            return "its key identifiers are critical"
        }
        guard isLeaf else { return nil }
        let usage = X509_get_extended_key_usage(raw)
        guard usage != UInt32.max, usage & UInt32(XKU_SSL_SERVER) != 0 else {
            return "it does not say that it is a server's"
        }
        guard X509_get_ext_by_NID(raw, NID_subject_alt_name, -1) >= 0 else { return "it has no alternative names" }
        return nil
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

    private static func isCritical(_ raw: OpaquePointer, _ identifier: Int32) -> Bool {
        let index = X509_get_ext_by_NID(raw, identifier, -1)
        guard index >= 0, let found = X509_get_ext(raw, index) else { return false }
        return X509_EXTENSION_get_critical(found) == 1
    }
}
