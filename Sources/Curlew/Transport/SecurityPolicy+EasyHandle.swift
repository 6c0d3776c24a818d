internal import CLibcurl

extension SecurityPolicy {
    /// Sets what the policy asks for; peer and host name are always verified.
    func apply(to easy: EasyHandle) throws {
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        try easy.set(CURLOPT_SSL_VERIFYHOST, 2)
        let minimum = minimumTLSVersion == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2
        try easy.set(CURLOPT_SSLVERSION, minimum)
        if case .pem(let text) = anchors { try easy.set(CURLOPT_CAINFO_BLOB, blob: Array(text.utf8)) }
    }
}
