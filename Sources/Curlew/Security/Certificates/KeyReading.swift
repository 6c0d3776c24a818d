internal import COpenSSL

/// Private keys, read and written by OpenSSL.
enum KeyReading {
    /// Most bytes of a key, a PEM text with one, or a PKCS #12 file: 1 MiB.
    static let sizeLimit = 1 << 20

    static func pem(_ bytes: [UInt8], passphrase: String?) throws -> KeyHandle {
        try read(bytes, passphrase: passphrase) { source, context in
            PEM_read_bio_PrivateKey(source, nil, givePassphrase, context)
        }
    }

    static func der(_ bytes: [UInt8], passphrase: String?) throws -> KeyHandle {
        try read(bytes, passphrase: passphrase) { source, context in
            if let key = d2i_PrivateKey_bio(source, nil) { return key }
            ERR_clear_error()
            guard BIO_ctrl(source, BIO_CTRL_RESET, 0, nil) >= 0 else { return nil }
            return d2i_PKCS8PrivateKey_bio(source, nil, givePassphrase, context)
        }
    }

    private static func read(
        _ bytes: [UInt8], passphrase: String?,
        _ body: (OpaquePointer, UnsafeMutableRawPointer) -> OpaquePointer?
    ) throws -> KeyHandle {
        guard bytes.count <= sizeLimit else { throw CurlewError(.invalidTLSSetting, "a key has \(bytes.count) bytes") }
        OpenSSLLibrary.start()
        ERR_clear_error()
        var secret = passphrase.map { Array($0.utf8) }
        let key = bytes.withUnsafeBytes { buffer -> OpaquePointer? in
            guard let source = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { BIO_free(source) }
            return withUnsafeMutablePointer(to: &secret) { body(source, UnsafeMutableRawPointer($0)) }
        }
        guard let key else { throw OpenSSLFailure.error("the private key cannot be read, or the passphrase is wrong") }
        return KeyHandle(owning: key)
    }

    /// Answers with the passphrase, or with none: OpenSSL would ask the terminal.
    private static let givePassphrase:
        @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
            space, size, _, context in
            guard let space, let secret = context?.assumingMemoryBound(to: [UInt8]?.self).pointee,
                secret.count <= Int(size)
            else { return -1 }
            for (index, byte) in secret.enumerated() { space[index] = CChar(bitPattern: byte) }
            return Int32(secret.count)
        }

    /// PKCS #8, not encrypted.
    static func encode(_ key: KeyHandle) throws -> [UInt8] {
        guard let sink = BIO_new(BIO_s_mem()) else { throw CurlewError(.resourcesExhausted, "no memory for a key") }
        defer { BIO_free(sink) }
        guard i2d_PKCS8PrivateKey_bio(sink, key.raw, nil, nil, 0, nil, nil) == 1 else {
            throw OpenSSLFailure.error("the private key cannot be written")
        }
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(sink)))
        guard BIO_read(sink, &bytes, Int32(bytes.count)) == Int32(bytes.count) else {
            throw OpenSSLFailure.error("the private key cannot be written")
        }
        return bytes
    }
}
