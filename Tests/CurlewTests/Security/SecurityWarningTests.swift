import CurlewTesting
import Logging
import Testing

@testable import CurlewCore

@Suite("Warnings about security policies")
struct SecurityWarningTests {
    @Test("a policy that is weaker than it seems has warnings, and other policies have none")
    func warnings() throws {
        let pin = try TestChain.leaf.get().certificate
        func count(_ pinning: SecurityPolicy.Pinning, allowsInvalid: Bool, validatesName: Bool = true) -> Int {
            var policy = SecurityPolicy.pinned(by: pinning)
            policy.allowsInvalidCertificates = allowsInvalid
            policy.validatesDomainName = validatesName
            return SecurityWarnings.warnings(for: policy).count
        }
        #expect(SecurityWarnings.warnings(for: .system).isEmpty)
        #expect(count(.certificates([pin]), allowsInvalid: true) == 0)
        #expect(count(.keys(of: [pin]), allowsInvalid: false) == 0)
        #expect(count(.keys(of: [pin]), allowsInvalid: true) == 1)
        #expect(count(.keys(of: []), allowsInvalid: false) == 1)
        #expect(count(.none, allowsInvalid: true) == 1)
        #expect(count(.none, allowsInvalid: true, validatesName: false) == 1)
    }

    @Test("warnings are logged once per policy, to the logger of the task that creates the session")
    func logged() throws {
        let log = RecordingLog()
        var configuration = SessionConfiguration()
        configuration.security.allowsInvalidCertificates = true
        configuration.security.validatesDomainName = false
        try withLogger(log.logger(.info)) { _ in
            let sessions = try (0..<2).map { _ in try SessionActor(configuration: configuration) }
            withExtendedLifetime(sessions) {}
        }
        #expect(log.lines.map(\.level) == [.warning])
        #expect(log.lines.map(\.message) == ["this policy accepts every server"])
    }

    @Test("a session over a transport with pins requires https too")
    func sharedTransport() throws {
        var configuration = SessionConfiguration()
        configuration.security = .pinned(SecurityPolicy.PinSet([try TestChain.leaf.get().pin]))
        let actor = try SessionActor(configuration: configuration)
        let error = #expect(throws: CurlewError.self) {
            try HTTPSession(baseURL: "http://example.test/", transport: actor, chain: .bare) {
                ChainBuilder.Empty<CurlewRequest, CurlewResponse>()
            }
        }
        #expect(error?.code == .invalidTLSSetting)
    }
}
