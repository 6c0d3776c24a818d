internal import COpenSSL

/// Which keys and signatures are too weak to be believed. It does not hang on the security level that a distribution has
/// set for OpenSSL.
enum KeyStrength {
    /// The fewest bits of an RSA key.
    static let minimumRSABits: Int32 = 2048

    /// Why a certificate's key is too weak; nil if it is not. RSA has 2048 bits at least, in whole bytes (CA/Browser Forum
    /// baseline, 6.1.5); curves are those of 256 bits and more; DSA is none.
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
                return "its curve is none that has a name"
            }
            return bits >= 256 ? nil : "its curve has only \(bits) bits"
        case EVP_PKEY_DSA: return "its key is one of DSA"
        default:
            return EVP_PKEY_get_security_bits(key) >= 112 ? nil : "its key (\(describe(key))) is too weak"
        }
    }

    /// Why a certificate's signature is too weak; nil if it is not. SHA-1, MD5 and what is older are.
    static func weakness(ofSignatureOf certificate: OpaquePointer) -> String? {
        var hash: Int32 = 0
        var strength: Int32 = 0
        guard X509_get_signature_info(certificate, &hash, nil, &strength, nil) == 1 else {
            return "its signature is of an unknown kind"
        }
        let weak: Set<Int32> = [NID_sha1, NID_md5, NID_md4, NID_md2, NID_md5_sha1, NID_ripemd160]
        guard weak.contains(hash) || strength < 112 else { return nil }
        let name = OBJ_nid2ln(X509_get_signature_nid(certificate)).map { String(cString: $0) } ?? "an unknown kind"
        return "its signature is of \(name)"
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
