#if Service
import Configuration
import Curlew
import CurlewTesting
import HTTPTypes
import Testing

@testable import CurlewService

@Suite("Certificates and keys from a configuration")
struct TrustSettingsTests {
    @Test("the anchors, the client's certificate and the pins of a configuration are used")
    func mutual() async throws {
        let root = try HeldCertificate.root()
        let leaf = try HeldCertificate.localhost(issuedBy: root)
        let folder = try ScratchFolder()
        let anchors = try folder.write("anchors.pem", root.certificatePEM)
        let certificate = try folder.write("client.pem", leaf.certificatePEM)
        let key = try folder.write("client.key", leaf.privateKeyPEM)
        let pin = try SecurityPolicy.Pin(of: CurlewCertificate(pem: root.certificatePEM))
        let read = try await settings([
            "security.anchors-file": .string(anchors), "security.certificate-file": .string(certificate),
            "security.key-file": .string(key), "security.pins": .string(pin.description),
            "security.backup-pins": .string(CurlewServiceTests.pin), "security.ciphers": "ECDHE+AESGCM",
            "security.cipher-suites": "TLS_AES_256_GCM_SHA384", "security.groups": "X25519:P-256",
            "security.strict": "true", "security.stapling": "off", "security.maximum-tls-version": "1.2",
        ])
        let security = read.session.security
        #expect(security.identity?.chain.map(\.der) == [leaf.certificateDER])
        let backup = try SecurityPolicy.Pin(CurlewServiceTests.pin)
        #expect(security.pinning == .keys(SecurityPolicy.PinSet([pin], backups: [backup])))
        #expect(security.ciphers == "ECDHE+AESGCM")
        #expect(security.cipherSuites == "TLS_AES_256_GCM_SHA384")
        #expect(security.groups == "X25519:P-256")
        #expect(security.isStrict)
        #expect(security.stapling == .off)
        #expect(security.maximumTLSVersion == .tls12)

        let server = try await MockServer.start(.init(tls: ServerTLS([leaf]))) { _ in MockResponse(body: "ok") }
        let plain = try await HTTPSession(reader: reader(["security.anchors-file": .string(anchors)]))
        #expect(try await plain.get(.raw(server.url())).status == .ok)
        await plain.shutdown()
        let pinned = try await HTTPSession(
            reader: reader([
                "security.anchors-file": .string(anchors), "security.pins": .string(CurlewServiceTests.pin),
            ]))
        let error = await #expect(throws: CurlewError.self) { _ = try await pinned.get(.raw(server.url())) }
        #expect(error?.code == .pinMismatch)
        await pinned.shutdown()
        await server.shutdown()
    }

    @Test("files of certificates and of a key are read again if the configuration asks for it")
    func rotation() async throws {
        let root = try HeldCertificate.root()
        let leaf = try HeldCertificate.localhost(issuedBy: root)
        let folder = try ScratchFolder()
        let certificate = try folder.write("client.pem", leaf.certificatePEM + leaf.privateKeyPEM)
        let anchors = try folder.write("anchors.pem", root.certificatePEM)
        let once = try await settings(["security.certificate-file": .string(certificate)])
        #expect(once.session.security.rotation == nil)
        let read = try await settings([
            "security.certificate-file": .string(certificate), "security.anchors-file": .string(anchors),
            "security.reload-interval": "1h",
        ])
        let rotation = try #require(read.session.security.rotation)
        #expect(rotation.material.identity?.chain.map(\.der) == [leaf.certificateDER])
        #expect(rotation.material.anchors?.map(\.der) == [root.certificateDER])
        let renewed = try HeldCertificate.localhost(issuedBy: root)
        _ = try folder.write("client.pem", renewed.certificatePEM + renewed.privateKeyPEM)
        try await rotation.reload()
        #expect(rotation.material.identity?.chain.map(\.der) == [renewed.certificateDER])
        let error = await failure(["security.reload-interval": "1h"])
        #expect(error?.message.contains("security.certificate-file or security.anchors-file") == true)
    }

    @Test("a certificate and a key that do not belong together are an error that names both keys")
    func mismatch() async throws {
        let folder = try ScratchFolder()
        let certificate = try folder.write("client.pem", HeldCertificate.selfSigned().certificatePEM)
        let key = try folder.write("client.key", HeldCertificate.selfSigned().privateKeyPEM)
        let error = await failure([
            "security.certificate-file": .string(certificate), "security.key-file": .string(key),
            "security.key-passphrase": "s3cret",
        ])
        #expect(error?.code == .invalidTLSSetting)
        #expect(
            error?.message.hasPrefix("http.client.security.certificate-file and http.client.security.key-file: ")
                == true)
        #expect(error.map { "\($0)".contains("s3cret") } == false)
    }
}
#endif
