internal import COpenSSL
internal import CurlewPlatform

/// A certificate as OpenSSL stores it.
///
/// `@unchecked Sendable`: a parsed certificate is never changed. OpenSSL counts its references atomically and guards
/// its caches with its own lock.
final class CertificateHandle: @unchecked Sendable {
    let raw: OpaquePointer

    /// Takes ownership of a reference.
    init(owning raw: OpaquePointer) { self.raw = raw }

    /// Adds a reference; nil if OpenSSL cannot add one.
    init?(sharing raw: OpaquePointer?) {
        guard let raw, X509_up_ref(raw) == 1 else { return nil }
        self.raw = raw
    }

    /// Reads a certificate in DER; no bytes may follow it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting``.
    convenience init(der: [UInt8]) throws {
        guard !der.isEmpty, der.count <= CurlewCertificate.sizeLimit.bytes else {
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

    /// The SHA-256 of the SubjectPublicKeyInfo; nil if OpenSSL cannot compute it.
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
        var digest = [UInt8](repeating: 0, count: SecurityPolicy.Pin.size)
        var size: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &digest, &size, EVP_sha256(), nil) == 1, size == digest.count else {
            return nil
        }
        return digest
    }

    /// The pin of its key.
    var pin: SecurityPolicy.Pin? { publicKeyHash.map { SecurityPolicy.Pin(sha256: $0) } }

    /// The validity in seconds since 1970; nil for an unreadable time.
    var validity: ClosedRange<Int64>? {
        guard let start = CertificateTime.seconds(X509_get0_notBefore(raw)),
            let end = CertificateTime.seconds(X509_get0_notAfter(raw)), start <= end
        else { return nil }
        return start...end
    }

    /// True if the key of `issuer` made this certificate's signature.
    func isSigned(by issuer: CertificateHandle) -> Bool {
        guard let key = X509_get0_pubkey(issuer.raw) else { return false }
        defer { ERR_clear_error() }
        return X509_verify(raw, key) == 1
    }
}

/// A list of revoked certificates as OpenSSL stores it.
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

/// A private key as OpenSSL stores it.
///
/// `@unchecked Sendable`: a parsed key is never changed, and OpenSSL counts its references atomically.
final class KeyHandle: @unchecked Sendable {
    let raw: OpaquePointer

    init(owning raw: OpaquePointer) { self.raw = raw }

    deinit { EVP_PKEY_free(raw) }
}

/// Conversion of ASN.1 times to seconds since 1970.
enum CertificateTime {
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var broken = tm()
        guard let time, ASN1_TIME_to_tm(time, &broken) == 1 else { return nil }
        return Int64(timegm(&broken))
    }

    static func seconds(generalized time: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?) -> Int64? {
        time.flatMap { seconds(UnsafePointer($0)) }
    }

    /// Converts any `Double` to whole seconds. Values outside the years that certificates can express become the first
    /// or last second, at which no certificate is valid.
    static func seconds(_ interval: Double) -> Int64 {
        // The bounds are the years 1 and 9999. For NaN `min` returns the upper bound.
        Int64(max(-62_135_596_800, min(253_402_300_799, interval)).rounded(.down))
    }

    /// The present time.
    static var now: Int64 { Int64(time(nil)) }

    /// The time in the form for certificates: `2026-11-21 15:04:05 UTC`.
    static func describe(_ seconds: Int64) -> String {
        var moment = time_t(seconds)
        var broken = tm()
        gmtime_r(&moment, &broken)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, text.count, "%Y-%m-%d %H:%M:%S UTC", &broken)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The subject alternative names of a certificate (RFC 5280 §4.2.1.6), as raw bytes.
struct AlternativeNames {
    var hosts: [[UInt8]] = []
    var addresses: [[UInt8]] = []
    private var others: [String] = []

    /// Reads the names; nil if there are none, or if the extension is invalid.
    init?(_ certificate: CertificateHandle) {
        var critical: Int32 = 0
        guard let names = curlew_alternative_names(certificate.raw, &critical) else {
            ERR_clear_error()
            return nil
        }
        defer { curlew_names_free(names) }
        for index in 0..<curlew_name_count(names) {
            guard let name = curlew_name_at(names, index), let string = curlew_name_string(name) else { continue }
            let bytes = Array(
                UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
            switch curlew_name_kind(name) {
            case GEN_DNS: hosts.append(bytes)
            case GEN_IPADD: addresses.append(bytes)
            case GEN_EMAIL: others.append("email:" + String(decoding: bytes, as: UTF8.self))
            default: others.append("URI:" + String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    /// The names for display.
    var descriptions: [String] {
        let names = hosts.map { "DNS:" + String(decoding: $0, as: UTF8.self) }
        return (names + addresses.map { "IP:" + Self.describe($0) } + others).map(CurlewCertificate.Details.printable)
    }

    private static func describe(_ address: [UInt8]) -> String {
        guard address.count == 4 || address.count == 16 else { return "\(address.count) bytes" }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = address.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The reason in OpenSSL's error queue. Each use empties the queue: otherwise libcurl would report the left-over error
/// as its own.
enum OpenSSLFailure {
    /// A ``CurlewError`` with OpenSSL's reason in words.
    static func error(_ message: String) -> CurlewError {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else {
            return CurlewError(.invalidTLSSetting, message)
        }
        return CurlewError(.invalidTLSSetting, "\(message): \(String(cString: reason))")
    }
}
