internal import COpenSSL

/// The certificate and private key by which a client authenticates itself.
///
/// The key is only in memory. It appears in no description, and the identity cannot be encoded.
public struct ClientIdentity: Sendable, Hashable {
    /// The client's certificate, followed by its intermediates.
    public let chain: [CurlewCertificate]
    /// The key, PKCS #8 in DER.
    let key: [UInt8]

    /// Reads a chain and its key in PEM; both may be in one text.
    /// - Parameters:
    ///   - certificates: The certificate, then its intermediates.
    ///   - key: The key; with nil it is read from `certificates`.
    ///   - passphrase: The passphrase of an encrypted key.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for unreadable text, a wrong passphrase, or a key
    ///   that does not belong to the certificate.
    public init(pem certificates: String, key: String? = nil, passphrase: String? = nil) throws {
        let chain = try CurlewCertificate.all(inPEM: certificates)
        try self.init(chain: chain, key: KeyReading.pem(Array((key ?? certificates).utf8), passphrase: passphrase))
    }

    /// Creates an identity from a chain and its key in DER: PKCS #8, encrypted or not, or the older forms of RSA and EC
    /// keys.
    /// - Throws: As ``init(pem:key:passphrase:)``.
    public init(chain: [CurlewCertificate], keyDER: [UInt8], passphrase: String? = nil) throws {
        try self.init(chain: chain, key: KeyReading.der(keyDER, passphrase: passphrase))
    }

    /// Reads PKCS #12 (`.p12`, `.pfx`).
    /// - Throws: As ``init(pem:key:passphrase:)``.
    public init(pkcs12 bytes: [UInt8], passphrase: String = "") throws {
        let (chain, key) = try PKCS12Reading.read(bytes, passphrase: passphrase)
        try self.init(chain: chain, key: key)
    }

    private init(chain: [CurlewCertificate], key: KeyHandle) throws {
        guard let leaf = chain.first else { throw CurlewError(.invalidTLSSetting, "an identity has no certificate") }
        let handle = try leaf.handle()
        guard X509_check_private_key(handle.raw, key.raw) == 1 else {
            throw OpenSSLFailure.error("the key is not the certificate's")
        }
        self.chain = chain
        self.key = try KeyReading.encode(key)
    }
}

extension ClientIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "identity of \(chain.first.map { "\($0)" } ?? "nobody")" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["chain": chain]) }
}

/// An identity cannot be encoded or decoded, so that its key is not written with a configuration.
extension ClientIdentity: Codable {
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            .init(codingPath: decoder.codingPath, debugDescription: "a client identity cannot be decoded"))
    }

    public func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            description, .init(codingPath: encoder.codingPath, debugDescription: "a client identity cannot be encoded"))
    }
}

/// Private keys, read and written by OpenSSL.
enum KeyReading {
    /// The limit on the size of a key, a PEM text with one, or a PKCS #12 file: 1 MiB.
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

    /// Returns the passphrase, or -1 without one: otherwise OpenSSL would ask on the terminal.
    private static let givePassphrase:
        @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
            space, size, _, context in
            guard let space, let secret = context?.assumingMemoryBound(to: [UInt8]?.self).pointee,
                secret.count <= Int(size)
            else { return -1 }
            for (index, byte) in secret.enumerated() { space[index] = CChar(bitPattern: byte) }
            return Int32(secret.count)
        }

    /// The key as PKCS #8, not encrypted.
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

/// The contents of a PKCS #12 file: a certificate, its key and its intermediates (RFC 7292).
private enum PKCS12Reading {
    static func read(_ bytes: [UInt8], passphrase: String) throws -> (chain: [CurlewCertificate], key: KeyHandle) {
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
        guard let keyHandle, let leafHandle, let first = CurlewCertificate(leafHandle) else {
            throw CurlewError(.invalidTLSSetting, "the PKCS #12 file lacks a key or its certificate")
        }
        var chain = [first]
        for index in 0..<curlew_certificate_count(others) {
            guard let others, let handle = CertificateHandle(sharing: curlew_certificate_at(others, index)),
                let next = CurlewCertificate(handle)
            else { throw CurlewError(.resourcesExhausted, "no memory for a certificate") }
            chain.append(next)
        }
        return (chain, keyHandle)
    }
}
