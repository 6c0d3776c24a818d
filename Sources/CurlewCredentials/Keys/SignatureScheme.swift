internal import COpenSSL
internal import Curlew

/// A signature algorithm.
enum SignatureScheme: String, CaseIterable, Sendable {
    case rsaPSSSHA512 = "rsa-pss-sha512"
    case rsaSHA256 = "rsa-v1_5-sha256"
    case hmacSHA256 = "hmac-sha256"
    case ecdsaP256SHA256 = "ecdsa-p256-sha256"
    case ecdsaP384SHA384 = "ecdsa-p384-sha384"
    case ed25519 = "ed25519"

    /// The schemes of a kind of key; the default one comes first.
    static func schemes(of kind: KeyMaterial.Kind) -> [SignatureScheme] {
        switch kind {
        case .rsa: [.rsaPSSSHA512, .rsaSHA256]
        case .rsaPSS: [.rsaPSSSHA512]
        case .p256: [.ecdsaP256SHA256]
        case .p384: [.ecdsaP384SHA384]
        case .ed25519: [.ed25519]
        }
    }

    /// The hash function; nil if the algorithm has its own.
    private var function: OpaquePointer? {
        switch self {
        case .rsaPSSSHA512: EVP_sha512()
        case .ecdsaP384SHA384: EVP_sha384()
        case .rsaSHA256, .ecdsaP256SHA256, .hmacSHA256: EVP_sha256()
        case .ed25519: nil
        }
    }

    /// The length of each of the two numbers of a signature; nil for schemes without such numbers.
    private var coordinateLength: Int? {
        switch self {
        case .ecdsaP256SHA256: 32
        case .ecdsaP384SHA384: 48
        default: nil
        }
    }

    func sign(_ message: [UInt8], with key: KeyMaterial) throws(CurlewError) -> [UInt8] {
        OpenSSLLibrary.start()
        guard let context = EVP_MD_CTX_new() else { throw CurlewError(.engineFailed, "no memory for a signature") }
        defer { EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        var length = 0
        guard EVP_DigestSignInit(context, &parameters, function, nil, key.raw) == 1, setPadding(parameters),
            EVP_DigestSign(context, nil, &length, message, message.count) == 1
        else { throw failure() }
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { throw failure() }
        signature.removeLast(signature.count - length)
        guard let coordinateLength else { return signature }
        guard let raw = ECDSASignature.raw(der: signature, coordinateLength: coordinateLength) else { throw failure() }
        return raw
    }

    /// True if the signature matches the message. A signature of a wrong length does not match.
    func verify(
        _ signature: [UInt8], of message: [UInt8], with key: KeyMaterial
    ) throws(CurlewError) -> Bool {
        OpenSSLLibrary.start()
        var encoded = signature
        if let coordinateLength {
            guard let der = ECDSASignature.der(raw: signature, coordinateLength: coordinateLength) else { return false }
            encoded = der
        }
        guard let context = EVP_MD_CTX_new() else { throw CurlewError(.engineFailed, "no memory for a signature") }
        defer { EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &parameters, function, nil, key.raw) == 1, setPadding(parameters) else {
            throw failure()
        }
        // A negative result is a malformed signature.
        let result = EVP_DigestVerify(context, encoded, encoded.count, message, message.count)
        ERR_clear_error()
        return result == 1
    }

    private func setPadding(_ parameters: OpaquePointer?) -> Bool {
        switch self {
        case .rsaPSSSHA512:
            EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) > 0
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, 64) > 0
                && EVP_PKEY_CTX_set_rsa_mgf1_md(parameters, EVP_sha512()) > 0
        case .rsaSHA256: EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PADDING) > 0
        default: true
        }
    }

    private func failure() -> CurlewError {
        CurlewError(.engineFailed, "a signature by \(rawValue) failed: \(OpenSSLLibrary.takeReason())")
    }
}

/// The two forms of an ECDSA signature: DER, as in OpenSSL, and two numbers of fixed length (RFC 7518 §3.4, RFC 9421
/// §3.3.4).
enum ECDSASignature {
    static func raw(der: [UInt8], coordinateLength: Int) -> [UInt8]? {
        let signature = der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        var raw: [UInt8] = []
        for number in [ECDSA_SIG_get0_r(signature), ECDSA_SIG_get0_s(signature)] {
            var bytes = [UInt8](repeating: 0, count: coordinateLength)
            guard BN_bn2binpad(number, &bytes, Int32(coordinateLength)) == Int32(coordinateLength) else { return nil }
            raw += bytes
        }
        return raw
    }

    static func der(raw: [UInt8], coordinateLength: Int) -> [UInt8]? {
        guard raw.count == 2 * coordinateLength, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let first = BN_bin2bn(Array(raw.prefix(coordinateLength)), Int32(coordinateLength), nil)
        let second = BN_bin2bn(Array(raw.suffix(coordinateLength)), Int32(coordinateLength), nil)
        // On success the signature owns both numbers.
        guard first != nil, second != nil, ECDSA_SIG_set0(signature, first, second) == 1 else {
            BN_free(first)
            BN_free(second)
            return nil
        }
        let length = i2d_ECDSA_SIG(signature, nil)
        guard length > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var start = buffer.baseAddress
            count = Int(max(0, i2d_ECDSA_SIG(signature, &start)))
        }
    }
}
