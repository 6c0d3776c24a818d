internal import COpenSSL

/// A certificate as OpenSSL holds it.
///
/// `@unchecked Sendable`: once read a certificate is never changed; OpenSSL counts its references atomically and guards
/// what it remembers of it with a lock of its own.
final class CertificateHandle: @unchecked Sendable {
    let raw: OpaquePointer

    /// Takes over a reference.
    init(owning raw: OpaquePointer) { self.raw = raw }

    /// Takes a reference of its own; nil where OpenSSL has none to give.
    init?(sharing raw: OpaquePointer?) {
        guard let raw, X509_up_ref(raw) == 1 else { return nil }
        self.raw = raw
    }

    /// Reads DER to its last byte.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting``.
    convenience init(der: [UInt8]) throws {
        guard !der.isEmpty, der.count <= Certificate.sizeLimit.bytes else {
            throw CurlewError(.invalidTLSSetting, "a certificate has \(der.count) bytes")
        }
        OpenSSLLibrary.start()
        let (raw, left) = der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            let raw = d2i_X509(nil, &start, buffer.count)
            return (raw, start.map { buffer.count - (buffer.baseAddress?.distance(to: $0) ?? 0) } ?? buffer.count)
        }
        guard let raw else { throw OpenSSLFailure.error("a certificate cannot be read") }
        guard left == 0 else {
            X509_free(raw)
            throw CurlewError(.invalidTLSSetting, "\(left) bytes follow a certificate")
        }
        self.init(owning: raw)
    }

    deinit { X509_free(raw) }

    /// The DER encoding; nil if OpenSSL has no memory for it.
    var der: [UInt8]? {
        let length = i2d_X509(raw, nil)
        guard length > 0 else { return nil }
        var written: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var start = buffer.baseAddress
            written = i2d_X509(raw, &start)
            count = Int(max(0, written))
        }
        return written == length ? bytes : nil
    }

    /// The SHA-256 of the SubjectPublicKeyInfo; nil if it cannot be had.
    var publicKeyHash: [UInt8]? {
        guard let key = X509_get_X509_PUBKEY(raw) else { return nil }
        let length = i2d_X509_PUBKEY(key, nil)
        guard length > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        let written = bytes.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            return i2d_X509_PUBKEY(key, &start)
        }
        guard written == length else { return nil }
        var digest = [UInt8](repeating: 0, count: PublicKeyPin.size)
        var size: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &digest, &size, EVP_sha256(), nil) == 1, size == digest.count else {
            return nil
        }
        return digest
    }

    /// The pin of its key.
    var pin: PublicKeyPin? { publicKeyHash.map { PublicKeyPin(sha256: $0) } }

    /// Seconds since 1970 from and to which it is valid; nil for a time that cannot be read.
    var validity: ClosedRange<Int64>? {
        guard let start = CertificateTime.seconds(X509_get0_notBefore(raw)),
            let end = CertificateTime.seconds(X509_get0_notAfter(raw)), start <= end
        else { return nil }
        return start...end
    }

    /// Whether `issuer`'s key made this certificate's signature.
    func isSigned(by issuer: CertificateHandle) -> Bool {
        guard let key = X509_get0_pubkey(issuer.raw) else { return false }
        defer { ERR_clear_error() }
        return X509_verify(raw, key) == 1
    }
}

/// A list of revoked certificates as OpenSSL holds it.
///
/// `@unchecked Sendable`: for the same reason as ``CertificateHandle``.
final class RevocationListHandle: @unchecked Sendable {
    let raw: OpaquePointer

    init(der: [UInt8]) throws {
        OpenSSLLibrary.start()
        let raw = der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_X509_CRL(nil, &start, buffer.count)
        }
        guard let raw else { throw OpenSSLFailure.error("a revocation list cannot be read") }
        self.raw = raw
    }

    deinit { X509_CRL_free(raw) }
}

/// A private key as OpenSSL holds it.
///
/// `@unchecked Sendable`: once read a key is never changed, and OpenSSL counts its references atomically.
final class KeyHandle: @unchecked Sendable {
    let raw: OpaquePointer

    init(owning raw: OpaquePointer) { self.raw = raw }

    deinit { EVP_PKEY_free(raw) }
}
