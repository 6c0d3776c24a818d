internal import COpenSSL
internal import Curlew

/// Hashes of bytes in memory.
enum Hashing {
    static func sha256(_ bytes: [UInt8]) throws(CurlewError) -> [UInt8] { try hash(bytes, EVP_sha256()) }

    static func sha512(_ bytes: [UInt8]) throws(CurlewError) -> [UInt8] { try hash(bytes, EVP_sha512()) }

    private static func hash(_ bytes: [UInt8], _ function: OpaquePointer?) throws(CurlewError) -> [UInt8] {
        OpenSSLLibrary.start()
        var hash = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &hash, &length, function, nil) == 1 else {
            throw CurlewError(.engineFailed, "a hash failed: \(OpenSSLLibrary.takeReason())")
        }
        return Array(hash.prefix(Int(length)))
    }

    /// The HMAC (RFC 2104) with SHA-256.
    static func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) throws(CurlewError) -> [UInt8] {
        OpenSSLLibrary.start()
        var code = [UInt8](repeating: 0, count: 32)
        var length = 0
        let result = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &code, code.count, &length)
        guard result != nil, length == code.count else {
            throw CurlewError(.engineFailed, "an HMAC failed: \(OpenSSLLibrary.takeReason())")
        }
        return code
    }

    static func hmacSHA256(_ text: String, key: [UInt8]) throws(CurlewError) -> [UInt8] {
        try hmacSHA256(Array(text.utf8), key: key)
    }
}
