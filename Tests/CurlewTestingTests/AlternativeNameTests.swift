import CurlewTesting
import NIOSSL
import Testing

@Suite("Alternative names")
struct AlternativeNameTests {
    /// The names as another implementation parses them.
    private func names(
        _ names: HeldCertificate.AlternativeName...
    ) throws -> [(_SubjectAlternativeName.NameType, [UInt8])] {
        let certificate = try HeldCertificate(.init(alternativeNames: names))
        let read = try NIOSSLCertificate(bytes: certificate.certificateDER, format: .der)._subjectAlternativeNames()
        return read.map { name in (name.nameType, name.contents.withUnsafeBufferPointer { Array($0) }) }
    }

    @Test("names of each kind are encoded in order")
    func kinds() throws {
        let read = try self.names(
            .dns("*.example.test"), .ip("127.0.0.1"), .ip("::1"), .uri("https://example.test/a,b"),
            .email("a@example.test"))
        #expect(read.map(\.0) == [.dnsName, .ipAddress, .ipAddress, .uri, .email])
        let expected: [[UInt8]] = [
            Array("*.example.test".utf8), [127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1],
            Array("https://example.test/a,b".utf8), Array("a@example.test".utf8),
        ]
        #expect(read.map(\.1) == expected)
    }

    @Test(
        "a DNS name may contain invalid characters",
        arguments: [
            "good.test\0.evil.test", "a.test,DNS:b.test", "", " ", "a\nb", String(repeating: "a", count: 70_000),
        ])
    func wrong(_ name: String) throws {
        let read = try self.names(.dns(name), .dns("next.test"))
        #expect(read.map(\.0) == [.dnsName, .dnsName])
        #expect(read.map(\.1) == [Array(name.utf8), Array("next.test".utf8)])
    }

    @Test("a raw name has the given tag and bytes")
    func raw() throws {
        let certificate = try HeldCertificate(
            .init(alternativeNames: [.raw(tag: 0x82, [0xFF, 0xFE]), .raw(tag: 0x87, [1, 2, 3]), .dns("bücher.test")]))
        let expected: [UInt8] =
            [0x30, 0x17, 0x82, 2, 0xFF, 0xFE, 0x87, 3, 1, 2, 3, 0x82, 12] + Array("bücher.test".utf8)
        #expect(certificate.certificateDER.windows(of: expected.count).contains { $0.elementsEqual(expected) })
        // The identifier is registered: 1.2.3.
        #expect(try self.names(.raw(tag: 0x88, [0x2A, 3])).map(\.0.rawValue) == [8])
    }

    @Test(
        "a text that is not an IP address is refused as an address",
        arguments: ["", "localhost", "1.2.3", "127.0.0.1\0", "::1%lo"])
    func address(_ text: String) {
        let error = #expect(throws: TestKitError.self) {
            try HeldCertificate(.init(alternativeNames: [.ip(text)]))
        }
        #expect(error?.description.contains("no IP address") == true)
    }

    @Test("a private key is equal in DER and in PEM", arguments: [HeldCertificate.KeyKind.ecP256, .rsa2048])
    func key(_ kind: HeldCertificate.KeyKind) throws {
        let certificate = try HeldCertificate(.init(key: kind))
        let der = try NIOSSLPrivateKey(bytes: certificate.privateKeyDER, format: .der)
        #expect(try der == NIOSSLPrivateKey(bytes: Array(certificate.privateKeyPEM.utf8), format: .pem))
        #expect(certificate.withBrokenSignature().privateKeyDER == certificate.privateKeyDER)
    }
}

extension [UInt8] {
    fileprivate func windows(of count: Int) -> some Sequence<ArraySlice<UInt8>> {
        (0...Swift.max(0, self.count - count)).lazy.map { self[$0..<Swift.min(self.count, $0 + count)] }
    }
}
