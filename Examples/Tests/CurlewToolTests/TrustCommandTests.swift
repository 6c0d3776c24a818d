import CurlewTesting
import Foundation
import Testing

@Suite("curlew trust", .timeLimit(.minutes(1)))
struct TrustCommandTests {
    @Test("names in a certificate do not control the terminal, and the server may be a URL")
    func injection() async throws {
        var options = HeldCertificate.Options(commonName: "evil\u{202E}name\u{9B}2J")
        options.alternativeNames = [.dns("localhost")]
        var configuration = MockServer.Configuration()
        configuration.tls = ServerTLS([try HeldCertificate(options, issuer: nil)])
        let server = try await MockServer.start(configuration) { _ in MockResponse(body: "hello") }
        for place in ["localhost:\(server.port)", "https://localhost:\(server.port)/a"] {
            let end = try await ToolProcess.run("trust", place)
            #expect(end.status == 60 && end.output.contains("evil?name"), "\(end)")
            #expect(!end.output.unicodeScalars.contains { $0 == "\u{202E}" || $0 == "\u{9B}" || $0 == "\u{1B}" })
        }
        await server.shutdown()
    }
}
