import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Testing

@Suite("Reading of certificates", .endsServers)
struct CertificateReadingTests {
    @Test("garbage, a truncated certificate, trailing bytes and a certificate of 10 MiB are refused")
    func bad() throws {
        let good = try TestChain.leaf.get().certificateDER
        #expect(try CurlewCertificate(der: good).der == good)
        let bad: [[UInt8]] = [
            [], [0x30], Array("garbage".utf8), Array(good.dropLast()), Array(good.prefix(40)), good + [0],
            [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [UInt8](repeating: 0x30, count: 10 << 20),
            [0x30, 0x80] + good, Array(good.reversed()),
        ]
        for (index, bytes) in bad.enumerated() {
            let error = #expect(throws: CurlewError.self, "\(index)") { try CurlewCertificate(der: bytes) }
            #expect(error?.code == .invalidTLSSetting)
        }
        // Every changed byte gives an error or another certificate, never a trap.
        for index in good.indices {
            var spoilt = good
            spoilt[index] ^= 0xFF
            _ = try? CurlewCertificate(der: spoilt).details()
        }
    }

    @Test("a PEM text may contain several certificates among other data")
    func pem() throws {
        let (root, leaf) = (try TestChain.root.get(), try TestChain.leaf.get())
        let text =
            "comment\n" + leaf.privateKeyPEM + leaf.certificatePEM.replacingOccurrences(of: "\n", with: "\r\n")
            + root.certificatePEM
        #expect(try CurlewCertificate.all(inPEM: text).map(\.der) == [leaf.certificateDER, root.certificateDER])
        #expect(try CurlewCertificate.all(inPEM: "nothing").isEmpty)
        #expect(throws: CurlewError.self) { try CurlewCertificate(pem: text) }
        #expect(throws: CurlewError.self) { try CurlewCertificate(pem: "") }
    }

    @Test("details show the contents of a certificate, without control characters")
    func details() throws {
        let names: [HeldCertificate.AlternativeName] = [
            .dns("a.test"), .dns("b\0\n.test"), .ip("192.0.2.1"), .ip("2001:db8::1"), .email("x@a.test"),
            .uri("https://a.test"),
        ]
        let held = try HeldCertificate(
            .init(commonName: "bücher\u{1B}[31m", alternativeNames: names, serialNumber: 0x1234),
            issuer: TestChain.root.get())
        let details = try held.certificate.details()
        #expect(details.subject.contains("bücher") && !details.subject.unicodeScalars.contains("\u{1B}"))
        #expect(details.issuer == "CN=Curlew Test Root")
        #expect(details.alternativeNames.first == "DNS:a.test" && details.alternativeNames.contains("IP:192.0.2.1"))
        #expect(
            details.alternativeNames.contains("IP:2001:db8::1") && details.alternativeNames.contains("email:x@a.test"))
        #expect(details.alternativeNames.allSatisfy { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
        #expect(details.key == "EC P-256" && details.serialNumber == "1234" && !details.isAuthority)
        #expect(details.signature == "ecdsa-with-SHA256")
        #expect(try details.publicKeyPin == held.pin)
        let (start, end) = (try #require(details.notBefore), try #require(details.notAfter))
        #expect(abs(end.timeIntervalSince(start) - 31 * 86_400) < 5)
    }

    @Test("a directory yields the certificates of its files, and an invalid one is an error")
    func directory() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (root, leaf) = (try TestChain.root.get(), try TestChain.leaf.get())
        try Data(root.certificateDER).write(to: folder.appending(path: "a.cer"))
        try Data(leaf.certificatePEM.utf8).write(to: folder.appending(path: "b.PEM"))
        try Data(root.certificatePEM.utf8).write(to: folder.appending(path: "c.crt"))
        try Data(leaf.certificateDER).write(to: folder.appending(path: "d.der"))
        try Data("no certificate".utf8).write(to: folder.appending(path: "notes.txt"))
        try Data("hidden".utf8).write(to: folder.appending(path: ".cer"))
        let found = try SecurityPolicy.certificates(inDirectory: folder.path())
        #expect(found.map(\.der) == [root, leaf, root, leaf].map(\.certificateDER))
        try Data("garbage".utf8).write(to: folder.appending(path: "e.cer"))
        #expect(throws: CurlewError.self) { try SecurityPolicy.certificates(inDirectory: folder.path()) }
        #expect(throws: CurlewError.self) { try SecurityPolicy.certificates(inDirectory: "/nonexistent") }
    }

    @Test("a policy with its switches and pins survives encoding and decoding")
    func stored() throws {
        var policy = try TestChain.root.get().anchor
        policy.pinning = .keys(
            SecurityPolicy.PinSet(
                [try TestChain.leaf.get().pin], expires: Date(timeIntervalSince1970: 2_000_000_000)),
            of: [try TestChain.leaf.get().certificate])
        policy.allowsInvalidCertificates = true
        policy.validatesDomainName = false
        policy.allowsAuthorityAsServer = true
        policy.hosts = [SecurityPolicy.HostPolicy("a.test", .system)]
        policy.serverName = .name("b.test")
        let copy = try JSONDecoder().decode(SecurityPolicy.self, from: JSONEncoder().encode(policy))
        #expect(copy == policy)
    }

    @Test("the validation time can be set, and a certificate is valid in its last second")
    func moment() async throws {
        let stage = try await TrustStage([HeldCertificate.localhost(issuedBy: TestChain.root.get())])
        var policy = try TestChain.root.get().anchor
        let response = try await stage.fetch(policy)
        let leaf = try #require(response.security?.chain.first)
        let (start, end) = (try #require(try leaf.details().notBefore), try #require(try leaf.details().notAfter))
        let root = try TestChain.root.get().certificate.details()
        // The root may be slightly older than the certificates that it signed.
        let last = min(end, try #require(root.notAfter))
        for (date, expected) in [
            (start, nil), (start - 1, ErrorCode.certificateNotYetValid), (last, nil), (end + 1, .certificateExpired),
        ] {
            policy.validationDate = date
            #expect(try await stage.code(policy) == expected, "\(date)")
        }
        // A `Date` can have any value of a `Double`.
        for interval in [-Double.infinity, -1e300, .infinity, 1e300, .nan] {
            policy.validationDate = Date(timeIntervalSince1970: interval)
            let expected = interval < 0 ? ErrorCode.certificateNotYetValid : .certificateExpired
            #expect(try await stage.code(policy) == expected, "\(interval)")
        }
    }
}
