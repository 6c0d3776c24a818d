import COpenSSL
import CurlewTesting
import Testing

/// Revocation lists and OCSP responses, created by OpenSSL.
enum RevocationMaker {
    enum Status: Int32 { case good, revoked, unknown }

    private static func certificate(_ held: HeldCertificate) throws -> OpaquePointer {
        try #require(
            held.certificateDER.withUnsafeBufferPointer { buffer in
                var start = buffer.baseAddress
                return d2i_X509(nil, &start, buffer.count)
            })
    }

    private static func key(_ held: HeldCertificate) throws -> OpaquePointer {
        try #require(
            held.privateKeyDER.withUnsafeBufferPointer { buffer in
                var start = buffer.baseAddress
                return d2i_AutoPrivateKey(nil, &start, buffer.count)
            })
    }

    private static func bytes(_ encode: (inout UnsafeMutablePointer<UInt8>?) -> Int32) throws -> [UInt8] {
        var start: UnsafeMutablePointer<UInt8>?
        let count = encode(&start)
        let first = try #require(start)
        defer { CRYPTO_free(first, #file, #line) }
        return Array(UnsafeBufferPointer(start: first, count: Int(count)))
    }

    /// A list by `issuer`, in DER; valid from an hour ago, until `end` seconds from now.
    static func list(by issuer: HeldCertificate, revoking: [HeldCertificate] = [], end: Int = 3600) throws -> [UInt8] {
        let (authority, key) = (try certificate(issuer), try key(issuer))
        defer { X509_free(authority) }
        defer { EVP_PKEY_free(key) }
        let list = try #require(X509_CRL_new())
        defer { X509_CRL_free(list) }
        let start = X509_gmtime_adj(nil, min(-3600, end - 3600))
        let until = X509_gmtime_adj(nil, end)
        defer { ASN1_TIME_free(start) }
        defer { ASN1_TIME_free(until) }
        #expect(X509_CRL_set_version(list, 1) == 1)
        #expect(X509_CRL_set_issuer_name(list, X509_get_subject_name(authority)) == 1)
        #expect(X509_CRL_set1_lastUpdate(list, start) == 1 && X509_CRL_set1_nextUpdate(list, until) == 1)
        for held in revoking {
            let revoked = try certificate(held)
            defer { X509_free(revoked) }
            let entry = try #require(X509_REVOKED_new())
            #expect(X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revoked)) == 1)
            #expect(X509_REVOKED_set_revocationDate(entry, start) == 1)
            #expect(X509_CRL_add0_revoked(list, entry) == 1)
        }
        #expect(X509_CRL_sort(list) == 1 && X509_CRL_sign(list, key, EVP_sha256()) > 0)
        return try bytes { i2d_X509_CRL(list, &$0) }
    }

    /// A response about `leaf`, signed by `signer`, in DER; valid from an hour before `end`, until `end` seconds from
    /// now.
    static func response(
        about leaf: HeldCertificate, by issuer: HeldCertificate, signer: HeldCertificate? = nil,
        _ status: Status = .good,
        end: Int = 3600
    ) throws -> [UInt8] {
        let (subject, authority) = (try certificate(leaf), try certificate(issuer))
        let (witness, key) = (try certificate(signer ?? issuer), try key(signer ?? issuer))
        defer { for object in [subject, authority, witness] { X509_free(object) } }
        defer { EVP_PKEY_free(key) }
        let basic = try #require(OCSP_BASICRESP_new())
        defer { OCSP_BASICRESP_free(basic) }
        let identifier = try #require(OCSP_cert_to_id(EVP_sha1(), subject, authority))
        defer { OCSP_CERTID_free(identifier) }
        let start = X509_gmtime_adj(nil, min(-60, end - 3600))
        let until = X509_gmtime_adj(nil, end)
        defer { ASN1_TIME_free(start) }
        defer { ASN1_TIME_free(until) }
        let time = status == .revoked ? start : nil
        #expect(OCSP_basic_add1_status(basic, identifier, status.rawValue, 0, time, start, until) != nil)
        #expect(OCSP_basic_sign(basic, witness, key, EVP_sha256(), nil, 0) == 1)
        let response = try #require(OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic))
        defer { OCSP_RESPONSE_free(response) }
        return try bytes { i2d_OCSP_RESPONSE(response, &$0) }
    }
}
