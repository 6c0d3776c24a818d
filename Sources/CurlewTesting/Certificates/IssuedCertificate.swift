#if TestKit
internal import COpenSSL

/// The OpenSSL calls behind ``HeldCertificate``. Every OpenSSL object is freed before ``issue(_:issuer:)`` returns;
/// only bytes leave.
struct IssuedCertificate {
    let certificateDER: [UInt8]
    let privateKeyDER: [UInt8]

    static func issue(
        _ options: HeldCertificate.Options,
        issuer: HeldCertificate?,
        keyOf holder: HeldCertificate?
    ) throws -> IssuedCertificate {
        let key = try holder.map { try self.readKey($0.privateKeyPEM) } ?? self.makeKey(options.key)
        defer { EVP_PKEY_free(key) }
        let certificate = try self.require(X509_new(), "make a certificate")
        defer { X509_free(certificate) }

        let issuerCertificate = try issuer.map { try self.parse($0.certificateDER) }
        defer { X509_free(issuerCertificate) }
        let issuerKey = try issuer.map { try self.readKey($0.privateKeyPEM) }
        defer { EVP_PKEY_free(issuerKey) }

        try self.fill(certificate, options, key: key, issuer: issuerCertificate ?? certificate)
        try self.extend(certificate, options, issuer: issuerCertificate ?? certificate)
        try self.sign(certificate, with: issuerKey ?? key, hash: options.signatureHash)
        return IssuedCertificate(
            certificateDER: try self.encode(certificate),
            privateKeyDER: try self.write(key)
        )
    }

    private static func makeKey(_ kind: HeldCertificate.KeyKind) throws -> OpaquePointer {
        let key =
            switch kind.algorithm {
            case .ec(let curve): curlew_ec_key(curve)
            case .rsa(let bits): curlew_rsa_key(bits)
            case .ed25519: curlew_ed25519_key()
            }
        return try self.require(key, "make a key")
    }

    private static func fill(
        _ certificate: OpaquePointer,
        _ options: HeldCertificate.Options,
        key: OpaquePointer,
        issuer: OpaquePointer
    ) throws {
        // 63 bits: the DER integer needs no sign byte, and no client reads a negative serial number.
        let serial = options.serialNumber ?? UInt64.random(in: 1...(UInt64.max >> 1))
        let name = X509_get_subject_name(certificate)
        let commonName = Array(options.commonName.utf8)
        try self.check(X509_set_version(certificate, 2), "set the version")
        try self.check(ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial), "set the serial number")
        if !commonName.isEmpty {
            try self.check(
                X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, commonName, Int32(commonName.count), -1, 0),
                "set the common name"
            )
        }
        // The issuer of a self-signed certificate is the certificate itself, whose subject name is set above.
        try self.check(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)), "set the issuer")
        let start = Int(options.validity.start.components.seconds)
        let end = Int(options.validity.end.components.seconds)
        _ = try self.require(X509_gmtime_adj(X509_getm_notBefore(certificate), start), "set the start")
        _ = try self.require(X509_gmtime_adj(X509_getm_notAfter(certificate), end), "set the end")
        try self.check(X509_set_pubkey(certificate, key), "set the key")
    }

    private static func extend(
        _ certificate: OpaquePointer,
        _ options: HeldCertificate.Options,
        issuer: OpaquePointer
    ) throws {
        for (identifier, value) in CertificateExtensions.of(options, isSelfSigned: issuer == certificate) {
            try self.check(curlew_add_extension(certificate, issuer, identifier, value), "add \(value)")
        }
        if let names = try CertificateExtensions.alternativeNames(of: options) {
            let added = curlew_add_encoded_extension(certificate, NID_subject_alt_name, 0, names, Int32(names.count))
            try self.check(added, "add the alternative names")
        }
        for other in options.otherExtensions { try self.add(other, to: certificate, issuer: issuer) }
    }

    private static func add(
        _ other: HeldCertificate.Extension,
        to certificate: OpaquePointer,
        issuer: OpaquePointer
    ) throws {
        let identifier = OBJ_txt2nid(other.name)
        guard identifier != NID_undef else { throw self.failure("find the extension \(other.name)") }
        let added =
            switch other.value {
            case .text(let text): curlew_add_extension(certificate, issuer, identifier, text)
            case .encoded(let bytes, let isCritical):
                curlew_add_encoded_extension(certificate, identifier, isCritical ? 1 : 0, bytes, Int32(bytes.count))
            }
        try self.check(added, "add \(other.name)")
    }

    private static func sign(
        _ certificate: OpaquePointer,
        with key: OpaquePointer,
        hash: HeldCertificate.SignatureHash
    ) throws {
        // Ed25519 has a built-in hash and requires a null digest.
        let digest = EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 ? nil : EVP_get_digestbyname(hash.name)
        guard X509_sign(certificate, key, digest) > 0 else { throw self.failure("sign") }
    }

    private static func parse(_ bytes: [UInt8]) throws -> OpaquePointer {
        try bytes.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return try self.require(d2i_X509(nil, &start, buffer.count), "read the issuer")
        }
    }

    private static func encode(_ certificate: OpaquePointer) throws -> [UInt8] {
        let length = i2d_X509(certificate, nil)
        guard length > 0 else { throw self.failure("encode") }
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            var start = buffer.baseAddress
            count = Int(max(0, i2d_X509(certificate, &start)))
        }
    }

    private static func readKey(_ pem: String) throws -> OpaquePointer {
        let bytes = Array(pem.utf8)
        let source = try self.require(BIO_new_mem_buf(bytes, Int32(bytes.count)), "open the issuer's key")
        defer { BIO_free(source) }
        // BIO_new_mem_buf does not copy the buffer: `bytes` must outlive the read.
        return try withExtendedLifetime(bytes) {
            try self.require(PEM_read_bio_PrivateKey(source, nil, nil, nil), "read the issuer's key")
        }
    }

    /// The key in PKCS #8, not encrypted.
    private static func write(_ key: OpaquePointer) throws -> [UInt8] {
        let sink = try self.require(BIO_new(BIO_s_mem()), "open a buffer")
        defer { BIO_free(sink) }
        try self.check(i2d_PKCS8PrivateKey_bio(sink, key, nil, nil, 0, nil, nil), "write the key")
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(sink)))
        let length = BIO_read(sink, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(Int(max(0, length))))
    }

    private static func check(_ result: some BinaryInteger, _ step: String) throws {
        guard result == 1 else { throw self.failure(step) }
    }

    private static func require<Pointer>(_ pointer: Pointer?, _ step: String) throws -> Pointer {
        guard let pointer else { throw self.failure(step) }
        return pointer
    }

    private static func failure(_ step: String) -> TestKitError {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        ERR_clear_error()
        let reason = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return TestKitError("could not \(step): \(reason)")
    }
}
#endif
