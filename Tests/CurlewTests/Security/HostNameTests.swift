import CurlewTesting
import CurlewTestingTraits
import Foundation
import Testing

@testable import CurlewCore

@Suite("Host names in certificates (RFC 9525)", .endsServers, .timeLimit(.minutes(2)))
struct HostNameTests {
    @Test(
        "a certificate's name matches a host as RFC 9525 defines it",
        arguments: [
            ("example.com", "example.com", true), ("EXAMPLE.com", "example.COM", true),
            ("example.com", "example.com.", true), ("example.com.", "example.com", false),
            ("example.com\0.evil.test", "example.com", false), ("example.com", "www.example.com", false),
            ("*.example.com", "www.example.com", true), ("*.example.com", "example.com", false),
            ("*.example.com", "a.b.example.com", false), ("*.example.com", ".example.com", false),
            ("w*.example.com", "www.example.com", false), ("*w.example.com", "www.example.com", false),
            ("www.*.com", "www.example.com", false), ("*.*.com", "www.example.com", false),
            ("*.com", "example.com", false), ("*", "com", false), ("*", "example", false),
            ("*.co.uk", "example.co.uk", false), ("*.example.co.uk", "www.example.co.uk", true),
            ("*.github.io", "someone.github.io", true), ("", "example.com", false),
            (".example.com", "example.com", false),
            ("xn--bcher-kva.example", "xn--bcher-kva.example", true),
            ("bücher.example", "xn--bcher-kva.example", false),
            ("a_b.example.com", "a_b.example.com", true), ("exam ple.com", "exam ple.com", false),
            ("127.0.0.1", "127.0.0.1", false), ("*.0.0.1", "127.0.0.1", false),
        ])
    func names(_ presented: String, _ wanted: String, _ isMatch: Bool) throws {
        let certificate = try HeldCertificate(.init(commonName: wanted, alternativeNames: [.dns(presented)]))
        let names = try #require(AlternativeNames(certificate.certificate.handle()))
        #expect((HostName(host: wanted)?.matches(names) ?? false) == isMatch)
    }

    @Test("an IP address matches in any notation, and only as an address")
    func addresses() throws {
        let certificate = try HeldCertificate(.init(alternativeNames: [.ip("127.0.0.1"), .ip("::1")]))
        let names = try #require(AlternativeNames(certificate.certificate.handle()))
        for host in ["127.0.0.1", "0x7f.1", "127.1", "2130706433", "[::1]", "[0:0:0:0:0:0:0:1]"] {
            #expect(HostName(host: host)?.matches(names) == true, "\(host)")
        }
        for host in ["127.0.0.2", "[::2]", "[::ffff:127.0.0.1]", "localhost"] {
            #expect(HostName(host: host)?.matches(names) == false, "\(host)")
        }
        #expect(HostName(host: "[nonsense]") == nil)
        #expect(HostName(host: "") == nil)
        #expect(HostName(host: "bücher.example") == nil)
    }

    @Test("certificate names are checked over TLS, unusual ones too, and for the URI's host whatever the route")
    func served() async throws {
        let root = try TestChain.root.get()
        let cases: [([HeldCertificate.AlternativeName], String, ErrorCode?)] = [
            ([.dns("good.test")], "good.test", nil), ([.dns("good.test")], "good.test.", nil),
            ([.dns("good.test\0.evil.test")], "good.test", .hostNameMismatch),
            ([.dns("*.good.test")], "www.good.test", nil), ([.dns("*.test")], "good.test", .hostNameMismatch),
            ([.dns("good.test.")], "good.test", .hostNameMismatch), ([], "good.test", .hostNameMismatch),
            ([.email("good.test"), .uri("https://good.test")], "good.test", .hostNameMismatch),
            ([.raw(tag: 0x87, [127, 0, 0])], "127.0.0.1", .hostNameMismatch),
            ([.dns("127.0.0.1")], "127.0.0.1", .hostNameMismatch), ([.ip("127.0.0.1")], "127.0.0.1", nil),
            ([.dns("xn--bcher-kva.test")], "xn--bcher-kva.test", nil),
            ([.dns("bücher.test")], "xn--bcher-kva.test", .hostNameMismatch),
        ]
        for (names, host, expected) in cases {
            let leaf = try HeldCertificate(.init(commonName: "good.test", alternativeNames: names), issuer: root)
            let server = try await MockServer.start(.init(tls: ServerTLS([leaf]))) { _ in MockResponse(body: "ok") }
            let session = try makeSession {
                $0.route.redirections = [.init(toHost: "127.0.0.1", toPort: server.port)]
                $0.security = (try? root.anchor) ?? .system
            }
            do {
                _ = try await session.fetch("https://\(host)/")
                #expect(expected == nil, "\(host) \(names)")
            } catch let error as CurlewError {
                #expect(error.code == expected, "\(host) \(names): \(error)")
            }
            await server.shutdown()
        }
    }

    @Test("a policy for some hosts applies only to those hosts")
    func patterns() throws {
        let cases: [(String, String, Bool)] = [
            ("example.com", "example.com", true), ("example.com", "www.example.com", false),
            ("*.example.com", "a.b.Example.com", true), ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false), ("::1", "[::1]", true), ("127.0.0.1", "127.1", true),
        ]
        for (pattern, host, expected) in cases {
            let host = try #require(HostName(host: host))
            #expect(try HostPattern(pattern).matches(host) == expected, "\(pattern)")
        }
        for pattern in ["", "*", "*.", "*.*.com", "a..b", "exa mple.com", "http://example.com", "*example.com"] {
            #expect(throws: CurlewError.self, "\(pattern)") { try HostPattern(pattern) }
        }
    }

    @Test("a server is checked with the policy of its host")
    func hostPolicies() async throws {
        let stage = try await TrustStage([HeldCertificate.localhost(issuedBy: TestChain.root.get())])
        var policy = try TestChain.otherRoot.get().anchor
        policy.hosts = [SecurityPolicy.HostPolicy("localhost", try TestChain.root.get().anchor)]
        #expect(try await stage.code(policy) == .unknownIssuer)
        #expect(try await stage.code(policy, "https://localhost:\(stage.server.port)/") == nil)
    }
}
