internal import COpenSSL

/// Bags of a certificate, its key and its intermediates (RFC 7292).
enum PKCS12Reading {
    static func read(_ bytes: [UInt8], passphrase: String) throws -> (chain: [Certificate], key: KeyHandle) {
        guard bytes.count <= KeyReading.sizeLimit else {
            throw CurlewError(.invalidTLSSetting, "a PKCS #12 file has \(bytes.count) bytes")
        }
        OpenSSLLibrary.start()
        ERR_clear_error()
        let bag = bytes.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_PKCS12(nil, &start, buffer.count)
        }
        guard let bag else { throw OpenSSLFailure.error("this is no PKCS #12 file") }
        defer { PKCS12_free(bag) }
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var others: OpaquePointer?
        guard PKCS12_parse(bag, passphrase, &key, &leaf, &others) == 1 else {
            throw OpenSSLFailure.error("the PKCS #12 file cannot be opened, or the passphrase is wrong")
        }
        let keyHandle = key.map { KeyHandle(owning: $0) }
        let leafHandle = leaf.map { CertificateHandle(owning: $0) }
        defer { curlew_certificates_free(others) }
        guard let keyHandle, let leafHandle, let first = Certificate(leafHandle) else {
            throw CurlewError(.invalidTLSSetting, "the PKCS #12 file lacks a key or its certificate")
        }
        var chain = [first]
        for index in 0..<curlew_certificate_count(others) {
            guard let others, let handle = CertificateHandle(sharing: curlew_certificate_at(others, index)),
                let next = Certificate(handle)
            else { throw CurlewError(.resourcesExhausted, "no memory for a certificate") }
            chain.append(next)
        }
        return (chain, keyHandle)
    }
}
