import COpenSSL
import Curlew
import CurlewTesting
import Foundation
import Testing

@Suite("Client certificates", .timeLimit(.minutes(2)))
struct IdentityTests {
    private func client(_ issuer: HeldCertificate? = nil) throws -> HeldCertificate {
        try HeldCertificate(.init(commonName: "client"), issuer: issuer ?? TestChain.root.get())
    }

    private func policy(_ identity: ClientIdentity?) throws -> SecurityPolicy {
        var policy = try TestChain.root.get().anchor
        policy.identity = identity
        return policy
    }

    @Test(
        "PEM, DER and PKCS #12 send the same certificate to the server",
        arguments: [
            ServerTLS.Version.tls12, .tls13,
        ])
    func forms(_ version: ServerTLS.Version) async throws {
        let held = try client()
        let stage = try await TrustStage(TestChain.sent()) {
            $0.maximumVersion = version
            $0.clientCertificates = .required(trusting: [try TestChain.root.get()])
        }
        let identities = [
            try ClientIdentity(pem: held.certificatePEM, key: held.privateKeyPEM),
            try ClientIdentity(pem: held.certificatePEM + held.privateKeyPEM),
            try ClientIdentity(chain: [held.certificate], keyDER: held.privateKeyDER),
            try ClientIdentity(pkcs12: PKCS12Maker.make(held, passphrase: "secret"), passphrase: "secret"),
        ]
        for identity in identities {
            _ = try await stage.fetch(policy(identity))
            let seen = await stage.server.takeRequest()
            #expect(seen?.tls?.clientCertificateDER == held.certificateDER)
            await stage.session.session?.closeIdleConnections()
        }
        #expect(Set(identities).count == 1)
        await stage.end()
    }

    @Test(
        "a missing and a rejected client certificate have different errors",
        arguments: [
            ServerTLS.Version.tls12, .tls13,
        ])
    func refused(_ version: ServerTLS.Version) async throws {
        let stage = try await TrustStage(TestChain.sent()) {
            $0.maximumVersion = version
            $0.clientCertificates = .required(trusting: [try TestChain.root.get()])
        }
        let none = try #require(try await stage.refusal(policy(nil)))
        #expect(none.code == .clientCertificateRequired, "\(none)")
        let stranger = try client(TestChain.otherRoot.get())
        let identity = try ClientIdentity(pem: stranger.certificatePEM, key: stranger.privateKeyPEM)
        let wrong = try #require(try await stage.refusal(policy(identity)))
        #expect(wrong.code == .clientCertificateRefused, "\(wrong)")
        await stage.end()
        let lenient = try await TrustStage(TestChain.sent()) {
            $0.clientCertificates = .optional(trusting: [try TestChain.root.get()])
        }
        #expect(try await lenient.code(policy(nil)) == nil)
        await lenient.end()
    }

    @Test("a mismatched key, a wrong passphrase and garbage are errors before a request is sent")
    func unusable() throws {
        let (held, other) = (try client(), try client())
        let bag = try PKCS12Maker.make(held, passphrase: "secret")
        let sealed = try PKCS12Maker.encryptedKey(held, passphrase: "secret")
        let attempts: [() throws -> ClientIdentity] = [
            { try ClientIdentity(pem: held.certificatePEM, key: other.privateKeyPEM) },
            { try ClientIdentity(pem: held.certificatePEM) },
            { try ClientIdentity(pem: held.privateKeyPEM) },
            { try ClientIdentity(pem: "", key: held.privateKeyPEM) },
            {
                try ClientIdentity(
                    pem: held.certificatePEM, key: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
            },
            { try ClientIdentity(chain: [held.certificate], keyDER: [1, 2, 3]) },
            { try ClientIdentity(chain: [], keyDER: held.privateKeyDER) },
            { try ClientIdentity(pkcs12: bag, passphrase: "wrong") },
            { try ClientIdentity(pkcs12: bag) },
            { try ClientIdentity(pkcs12: Array(bag.dropLast(20)), passphrase: "secret") },
            { try ClientIdentity(pkcs12: [UInt8](repeating: 0x30, count: 2 << 20), passphrase: "secret") },
            { try ClientIdentity(pem: held.certificatePEM, key: sealed) },
            { try ClientIdentity(pem: held.certificatePEM, key: sealed, passphrase: "wrong") },
            {
                try ClientIdentity(
                    pem: held.certificatePEM, key: sealed, passphrase: String(repeating: "x", count: 5000))
            },
        ]
        for (index, attempt) in attempts.enumerated() {
            let error = #expect(throws: CurlewError.self, "\(index)") { try attempt() }
            #expect(error?.code == .invalidTLSSetting, "\(index)")
        }
        let opened = try ClientIdentity(pem: held.certificatePEM, key: sealed, passphrase: "secret")
        #expect(try opened == ClientIdentity(pem: held.certificatePEM, key: held.privateKeyPEM))
    }

    @Test("the key appears in no description, mirror or encoding")
    func secrecy() throws {
        let held = try client()
        let identity = try ClientIdentity(pem: held.certificatePEM, key: held.privateKeyPEM)
        var policy = SecurityPolicy.system
        policy.identity = identity
        let key = held.privateKeyDER.suffix(20).map(String.init).joined(separator: ", ")
        var dumped = ""
        dump(policy, to: &dumped)
        for text in ["\(policy)", String(reflecting: policy), dumped] { #expect(!text.contains(key)) }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(policy) }
    }
}

/// PKCS #12 bags and encrypted keys, created by OpenSSL.
enum PKCS12Maker {
    private static func read(_ held: HeldCertificate) throws -> (certificate: OpaquePointer, key: OpaquePointer) {
        let certificate = held.certificateDER.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_X509(nil, &start, buffer.count)
        }
        let key = held.privateKeyDER.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_AutoPrivateKey(nil, &start, buffer.count)
        }
        return (try #require(certificate), try #require(key))
    }

    static func make(_ held: HeldCertificate, passphrase: String) throws -> [UInt8] {
        let (certificate, key) = try read(held)
        defer { X509_free(certificate) }
        defer { EVP_PKEY_free(key) }
        let bag = try #require(PKCS12_create(passphrase, nil, key, certificate, nil, 0, 0, 0, 0, 0))
        defer { PKCS12_free(bag) }
        let sink = try #require(BIO_new(BIO_s_mem()))
        defer { BIO_free(sink) }
        #expect(i2d_PKCS12_bio(sink, bag) == 1)
        return bytes(of: sink)
    }

    static func encryptedKey(_ held: HeldCertificate, passphrase: String) throws -> String {
        let (certificate, key) = try read(held)
        defer { X509_free(certificate) }
        defer { EVP_PKEY_free(key) }
        let sink = try #require(BIO_new(BIO_s_mem()))
        defer { BIO_free(sink) }
        let secret = Array(passphrase.utf8).map { CChar(bitPattern: $0) }
        #expect(PEM_write_bio_PKCS8PrivateKey(sink, key, EVP_aes_128_cbc(), secret, Int32(secret.count), nil, nil) == 1)
        return String(decoding: bytes(of: sink), as: UTF8.self)
    }

    private static func bytes(of sink: OpaquePointer) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(sink)))
        let count = BIO_read(sink, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(Int(max(0, count))))
    }
}
