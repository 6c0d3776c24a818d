internal import COpenSSL
internal import Curlew

/// A key in OpenSSL's form.
///
/// `@unchecked Sendable`: a key does not change after it was read, and OpenSSL protects the values that it derives from
/// it.
final class KeyMaterial: @unchecked Sendable {
    /// The supported kinds of keys.
    enum Kind: Hashable, Sendable {
        case rsa(bits: Int)
        /// An RSA key for RSASSA-PSS only.
        case rsaPSS(bits: Int)
        case p256
        case p384
        case ed25519
    }

    let raw: OpaquePointer
    let kind: Kind

    /// Takes the ownership of a reference.
    private init(owning raw: OpaquePointer) throws(CurlewError) {
        guard let kind = Self.kind(of: raw) else {
            EVP_PKEY_free(raw)
            throw CurlewError(
                .invalidCredential, "the kind of a key is not supported; RSA, P-256, P-384 and Ed25519 are")
        }
        if case .rsa(let bits) = kind, !Self.sizes.contains(bits) {
            EVP_PKEY_free(raw)
            throw CurlewError(.invalidCredential, "an RSA key has \(bits) bits; 2048 to 16384 are allowed")
        }
        if case .rsaPSS(let bits) = kind, !Self.sizes.contains(bits) {
            EVP_PKEY_free(raw)
            throw CurlewError(.invalidCredential, "an RSA key has \(bits) bits; 2048 to 16384 are allowed")
        }
        self.raw = raw
        self.kind = kind
    }

    deinit { EVP_PKEY_free(raw) }

    private static let sizes = 2048...16_384
    /// The largest size of a PEM text: 64 KiB.
    private static let sizeLimit = 64 << 10

    private static func kind(of key: OpaquePointer) -> Kind? {
        if EVP_PKEY_is_a(key, "RSA") == 1 { return .rsa(bits: Int(EVP_PKEY_get_bits(key))) }
        if EVP_PKEY_is_a(key, "RSA-PSS") == 1 { return .rsaPSS(bits: Int(EVP_PKEY_get_bits(key))) }
        if EVP_PKEY_is_a(key, "ED25519") == 1 { return .ed25519 }
        guard EVP_PKEY_is_a(key, "EC") == 1 else { return nil }
        var name = [CChar](repeating: 0, count: 80)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return nil }
        switch name.prefix(length).map({ UInt8(bitPattern: $0) }) {
        case Array("prime256v1".utf8), Array("P-256".utf8): return .p256
        case Array("secp384r1".utf8), Array("P-384".utf8): return .p384
        default: return nil
        }
    }

    // MARK: Reading

    static func privateKey(pem: String, passphrase: String?) throws(CurlewError) -> KeyMaterial {
        try read(pem, "private key", passphrase) { PEM_read_bio_PrivateKey($0, nil, givePassphrase, $1) }
    }

    static func publicKey(pem: String) throws(CurlewError) -> KeyMaterial {
        try read(pem, "public key", nil) { PEM_read_bio_PUBKEY($0, nil, givePassphrase, $1) }
    }

    private static func read(
        _ pem: String, _ name: String, _ passphrase: String?,
        _ body: (OpaquePointer, UnsafeMutableRawPointer) -> OpaquePointer?
    ) throws(CurlewError) -> KeyMaterial {
        var bytes = Array(pem.utf8)
        defer { bytes.cleanse() }
        guard bytes.count <= sizeLimit else {
            throw CurlewError(.invalidCredential, "a \(name) has more than \(sizeLimit) bytes")
        }
        OpenSSLLibrary.start()
        ERR_clear_error()
        var secret = passphrase.map { Array($0.utf8) }
        defer { secret?.cleanse() }
        let key = bytes.withUnsafeBytes { buffer -> OpaquePointer? in
            guard let source = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { BIO_free(source) }
            return withUnsafeMutablePointer(to: &secret) { body(source, UnsafeMutableRawPointer($0)) }
        }
        guard let key else {
            let hint = passphrase == nil ? "" : ", or its passphrase is wrong"
            throw CurlewError(.invalidCredential, "a \(name) cannot be read\(hint): \(OpenSSLLibrary.takeReason())")
        }
        ERR_clear_error()
        return try KeyMaterial(owning: key)
    }

    /// The callback that returns the passphrase, or an error without one. Without a callback, OpenSSL would ask at the
    /// terminal.
    private static let givePassphrase:
        @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
            space, size, _, context in
            guard let space, let secret = context?.assumingMemoryBound(to: [UInt8]?.self).pointee,
                secret.count <= Int(size)
            else { return -1 }
            for (index, byte) in secret.enumerated() { space[index] = CChar(bitPattern: byte) }
            return Int32(secret.count)
        }

    /// The public part of the key in DER (SubjectPublicKeyInfo).
    func publicDER() throws(CurlewError) -> [UInt8] {
        let length = i2d_PUBKEY(raw, nil)
        guard length > 0 else { throw CurlewError(.engineFailed, "a public key cannot be written") }
        var written: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var start = buffer.baseAddress
            written = i2d_PUBKEY(raw, &start)
            count = Int(max(0, written))
        }
        guard written == length else { throw CurlewError(.engineFailed, "a public key cannot be written") }
        return bytes
    }

    static func publicKey(der: [UInt8]) throws(CurlewError) -> KeyMaterial {
        let key = der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_PUBKEY(nil, &start, buffer.count)
        }
        guard let key else { throw CurlewError(.invalidCredential, "a public key cannot be read") }
        return try KeyMaterial(owning: key)
    }
}
