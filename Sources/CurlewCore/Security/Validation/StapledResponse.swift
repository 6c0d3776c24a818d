internal import COpenSSL

/// A stapled revocation response of a handshake (RFC 6960, RFC 6066 §8).
struct StapledResponse {
    /// The tolerance for differences between clocks, in seconds.
    private static let skew: Int64 = 300
    /// The limit on the size of a response.
    private static let sizeLimit = 64 << 10

    let bytes: UnsafeBufferPointer<UInt8>
    let leaf: CertificateHandle
    let issuer: CertificateHandle
    let moment: Int64

    /// The reason to refuse the server; nil if the response is valid and reports a good certificate.
    func refusal() -> TrustFailure? {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard bytes.count <= Self.sizeLimit else { return bad("it has \(bytes.count) bytes") }
        var start = bytes.baseAddress
        guard let response = d2i_OCSP_RESPONSE(nil, &start, bytes.count) else { return bad("it cannot be read") }
        defer { OCSP_RESPONSE_free(response) }
        guard OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            return bad("it reports a failure")
        }
        guard let basic = OCSP_response_get1_basic(response) else { return bad("it cannot be read") }
        defer { OCSP_BASICRESP_free(basic) }
        guard isSigned(basic) else {
            return bad("its signature is neither the issuer's nor that of a responder that the issuer authorised")
        }
        return statusRefusal(basic)
    }

    /// True if the issuer signed the response, or a certificate for such responses that the issuer signed.
    private func isSigned(_ basic: OpaquePointer) -> Bool {
        guard let store = X509_STORE_new(), let helpers = curlew_certificates_new() else { return false }
        defer { X509_STORE_free(store) }
        defer { curlew_certificates_free(helpers) }
        guard X509_STORE_add_cert(store, issuer.raw) == 1, curlew_certificates_push(helpers, issuer.raw) == 1,
            X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN)) == 1,
            let parameters = X509_STORE_get0_param(store)
        else { return false }
        X509_VERIFY_PARAM_set_time(parameters, Int(moment))
        return OCSP_basic_verify(basic, helpers, store, 0) == 1
    }

    private func statusRefusal(_ basic: OpaquePointer) -> TrustFailure? {
        for index in 0..<OCSP_resp_count(basic) {
            guard let single = OCSP_resp_get0(basic, index), isAboutLeaf(single) else { continue }
            var reason: Int32 = 0
            var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            var from: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            var until: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            let status = OCSP_single_get0_status(single, &reason, &revoked, &from, &until)
            guard let start = CertificateTime.seconds(generalized: from), start <= moment + Self.skew else {
                return bad("it is not yet valid")
            }
            // Without an end there may be newer information at any time (RFC 6960 §2.4), so the response cannot be
            // stapled.
            guard let end = CertificateTime.seconds(generalized: until), end >= moment - Self.skew else {
                return bad("it is out of date")
            }
            switch status {
            case V_OCSP_CERTSTATUS_GOOD: return nil
            case V_OCSP_CERTSTATUS_REVOKED:
                return TrustFailure(
                    .certificateRevoked, "the certificate was revoked according to the stapled response")
            default: return bad("it does not know the certificate")
            }
        }
        return bad("it is about another certificate")
    }

    /// True if the response concerns the leaf. Responders identify certificates by hashes of their choice.
    private func isAboutLeaf(_ single: OpaquePointer) -> Bool {
        guard let identifier = OCSP_SINGLERESP_get0_id(single) else { return false }
        var algorithm: OpaquePointer?
        guard OCSP_id_get0_info(nil, &algorithm, nil, nil, identifier) == 1,
            let hash = EVP_get_digestbyname(OBJ_nid2sn(OBJ_obj2nid(algorithm))),
            let own = OCSP_cert_to_id(hash, leaf.raw, issuer.raw)
        else { return false }
        defer { OCSP_CERTID_free(own) }
        return OCSP_id_cmp(own, identifier) == 0
    }

    private func bad(_ reason: String) -> TrustFailure {
        TrustFailure(.stapledResponseInvalid, "the stapled response about revocation cannot be accepted: \(reason)")
    }

    static let missing = TrustFailure(.stapledResponseInvalid, "the server has stapled no response about revocation")
}
