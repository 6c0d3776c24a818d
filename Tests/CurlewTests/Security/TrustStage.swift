import Curlew
import CurlewTesting
import Testing

/// Certificates shared by many tests, because creating keys takes time.
enum TestChain {
    static let root = Result { try HeldCertificate.root() }
    static let intermediate = Result {
        try HeldCertificate(.authority("Curlew Test Intermediate", pathLength: 0), issuer: root.get())
    }
    static let leaf = Result { try HeldCertificate.localhost(issuedBy: intermediate.get()) }
    static let selfSigned = Result { try HeldCertificate.selfSigned() }
    static let otherRoot = Result { try HeldCertificate.root("Another Root") }

    /// The chain that a server sends.
    static func sent() throws -> [HeldCertificate] { [try leaf.get(), try intermediate.get()] }
}

/// A server with a chain, and the verdicts of policies on it.
struct TrustStage {
    let server: MockServer
    let session: HTTPSession

    init(_ chain: [HeldCertificate], _ adjust: (inout ServerTLS) throws -> Void = { _ in }) async throws {
        var tls = ServerTLS(chain)
        try adjust(&tls)
        server = try await MockServer.start(.init(tls: tls)) { _ in MockResponse(body: "ok") }
        session = try makeSession()
    }

    var url: String { server.url() }

    func fetch(_ policy: SecurityPolicy, _ url: String? = nil) async throws -> CurlewResponse {
        var options = RequestOptions()
        options.security = policy
        let response = try await session.get(.raw(url ?? self.url), options: options)
        _ = try await response.body.collect(upTo: 100)
        return response
    }

    /// The refusal of the server; nil if it is accepted.
    func refusal(_ policy: SecurityPolicy, _ url: String? = nil) async throws -> CurlewError? {
        do {
            _ = try await fetch(policy, url)
            return nil
        } catch let error as CurlewError {
            return error
        }
    }

    /// The code of the refusal.
    func code(_ policy: SecurityPolicy, _ url: String? = nil) async throws -> ErrorCode? {
        try await refusal(policy, url)?.code
    }

    func end() async { await server.shutdown() }

    /// The code of a policy's refusal of a server with this chain; nil if it is accepted.
    static func code(of chain: [HeldCertificate], by policy: SecurityPolicy) async throws -> ErrorCode? {
        let stage = try await TrustStage(chain)
        let code = try await stage.code(policy)
        await stage.end()
        return code
    }
}

extension HeldCertificate {
    var certificate: CurlewCertificate {
        get throws { try CurlewCertificate(der: certificateDER) }
    }

    var pin: SecurityPolicy.Pin {
        get throws { try SecurityPolicy.Pin(of: certificate) }
    }

    /// A policy with this certificate as its only anchor.
    var anchor: SecurityPolicy {
        get throws { .anchors([try certificate]) }
    }
}
