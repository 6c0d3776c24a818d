import CurlewTesting
import Testing

@testable import Probe

@Suite("TLS settings of a line", .timeLimit(.minutes(1)))
struct SecurityTests {
    private struct Stage {
        let server: MockServer
        let anchors: TemporaryFile
        var members: String { #""cacert":"\#(anchors.path)""# }
    }

    private func stage(_ adjust: (inout ServerTLS) -> Void = { _ in }) async throws -> Stage {
        let certificate = try HeldCertificate.localhost()
        var configuration = MockServer.Configuration()
        var tls = ServerTLS([certificate])
        adjust(&tls)
        configuration.tls = tls
        let server = try await MockServer.start(configuration) { _ in MockResponse(body: "safe") }
        return Stage(server: server, anchors: try TemporaryFile(certificate.certificatePEM.utf8))
    }

    @Test("a server is trusted by the certificate that cacert names, and is not trusted without it")
    func anchors() async throws {
        let stage = try await stage()
        let probe = ProbeDriver()
        let answer = try await probe.fetch(stage.server.url(), stage.members)
        #expect(answer.bodyText == "safe")
        #expect(answer["tls"]?.string("version") == "1.3" && answer["tls"]?["chain_length"] == .integer(1))
        #expect(answer["tls"]?.string("cipher")?.hasPrefix("TLS_") == true && answer["tls"]?["matched_pin"] == .null)
        #expect(try #require(answer["metrics"]?.number("tls")) > 0)
        #expect(try await probe.fetch(stage.server.url()).code == "self-signed-certificate")
        await stage.server.shutdown()
    }

    @Test("a file without a certificate returns the library's error")
    func noCertificate() async throws {
        let stage = try await stage()
        let file = try TemporaryFile("nothing".utf8)
        let answer = try await ProbeDriver().fetch(stage.server.url(), #""cacert":"\#(file.path)""#)
        #expect(answer.code == "invalid-tls-setting")
        await stage.server.shutdown()
    }

    @Test(
        "the version of HTTP is negotiated unless the line requires one",
        arguments: [(nil, "2"), ("2", "2"), ("1.1", "1.1"), ("2-prior-knowledge", "2")])
    func httpVersion(_ asked: String?, _ expected: String) async throws {
        let stage = try await stage()
        let version = asked.map { #","http_version":"\#($0)""# } ?? ""
        let answer = try await ProbeDriver().fetch(stage.server.url(), stage.members + version)
        #expect(answer.string("http_version") == expected)
        await stage.server.shutdown()
    }

    @Test("a server that only offers versions below tls_min is refused")
    func minimum() async throws {
        let stage = try await stage { $0.maximumVersion = .tls12 }
        let probe = ProbeDriver()
        let answer = try await probe.fetch(stage.server.url(), stage.members)
        #expect(answer["tls"]?.string("version") == "1.2")
        let refused = try await probe.fetch(stage.server.url(), stage.members + #","tls_min":"1.3""#)
        #expect(refused.code == "tls-mismatch")
        await stage.server.shutdown()
    }

    @Test("verification, pins and names follow the line")
    func trust() async throws {
        let stage = try await stage()
        let probe = ProbeDriver()
        let url = stage.server.url()
        let pin = try await probe.ask(#"{"id":1,"op":"verify","url":"\#(url)",\#(stage.members)}"#)
        #expect(pin["tls"]?.string("version") == "1.3")
        #expect(stage.server.requestCount == 0)
        let other = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        for (members, code) in [
            (#""verify":false,"verify_host":false"#, nil),
            // A name check without certificate verification fails, as in AFNetworking.
            (#""verify":false"#, "untrusted-certificate"), (stage.members + #","pins":["\#(other)"]"#, "pin-mismatch"),
            (stage.members + #","pins":["nonsense"]"#, "invalid-tls-setting"),
            (stage.members + #","pinning":"certificate","pinned":"\#(stage.anchors.path)""#, nil),
            (stage.members + #","pinning":"public-key","pinned":"\#(stage.anchors.path)""#, nil),
            (stage.members + #","time":0"#, "certificate-not-yet-valid"),
            (stage.members + #","ocsp":"required""#, "stapled-response-invalid"),
            (stage.members + #","strict":true,"max_depth":3,"tls_max":"1.2""#, nil),
            (stage.members + #","client_key":"\#(stage.anchors.path)""#, "bad-request"),
            (stage.members + #","client_cert":"\#(stage.anchors.path)""#, "invalid-tls-setting"),
            (stage.members + #","crls":"\#(stage.anchors.path)""#, "invalid-tls-setting"),
        ] as [(String, String?)] {
            let answer = try await probe.fetch(url, members)
            #expect(answer.code == code, "\(members): \(answer)")
        }
        await stage.server.shutdown()
    }
}
