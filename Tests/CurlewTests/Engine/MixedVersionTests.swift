import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import SeededNumbers
import Testing

@testable import CurlewCore

/// libcurl before 8.5 sends requests over busy HTTP/1.1 connections to a host, once another connection to it uses
/// HTTP/2.
@Suite("HTTP/1.1 and HTTP/2 connections to one host", .keepsToPool, .noLeaks, .timeLimit(.minutes(2)))
struct MixedVersionTests {
    /// The reason why the first request uses an HTTP/1.1 connection although the server supports HTTP/2 too.
    enum Cause: CaseIterable {
        /// The back ends of a load balancer differ.
        case loadBalancer
        case trailers
        case versionPolicy
        case ntlm
        /// Both versions in clear text, HTTP/2 with prior knowledge.
        case clearText
        /// A load balancer behind a CONNECT tunnel.
        case tunnel
    }

    /// A server that answers each request with its path. The request to `/held` is answered once the gate is open.
    private struct Scene {
        let server: MockServer
        let session: HTTPSession
        let proxy: MockProxy?
        let arrivals: AsyncStream<Void>
        let gate: AsyncStream<Void>.Continuation

        /// A Type 2 message of NTLM (MS-NLMP §2.2.1.2): no target name, Unicode, a challenge of eight bytes.
        private static let challenge = "TlRMTVNTUAACAAAAAAAAADgAAAABAgAAASNFZ4mrze8AAAAAAAAAAAAAAAA4AAAA"

        init(_ cause: Cause) async throws {
            let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
            let (openings, gate) = AsyncStream.makeStream(of: Void.self)
            let certificate = try HeldCertificate.localhost()
            var configuration = MockServer.Configuration()
            configuration.protocols = [.http2, .http11]
            if cause != .clearText {
                var tls = ServerTLS([certificate])
                if cause == .loadBalancer || cause == .tunnel { tls.firstApplicationProtocols = [["http/1.1"]] }
                configuration.tls = tls
            }
            let server = try await MockServer.start(configuration) { request in
                if cause == .ntlm, request.path == "/held", let challenge = Self.challenge(to: request) {
                    return challenge
                }
                if request.path == "/held" {
                    arrived.yield()
                    for await _ in openings {}
                }
                return MockResponse(body: .bytes(Array(request.path.utf8)))
            }
            let proxy = cause == .tunnel ? try await MockProxy.start() : nil
            let address = try proxy.map { try Proxy("http://127.0.0.1:\($0.port)") }
            var session = try makeSession {
                $0.security = .anchors(pem: certificate.certificatePEM)
                if let address { $0.proxy = .proxy(address) }
                if cause == .clearText { $0.versionPolicy = .http2PriorKnowledge }
            }
            if cause == .ntlm {
                var link = ChallengeAuthentication(
                    try Credential.Scoped(server.url(), .password(user: "user", password: "pass")))
                link.schemes = [.ntlm]
                let made = link
                session = try HTTPSession(transport: session.transport, chain: .bare) { made }
            }
            (self.server, self.session, self.proxy, self.arrivals, self.gate) = (server, session, proxy, arrivals, gate)
        }

        /// The next step of NTLM; nil once the client is authenticated.
        private static func challenge(to request: InboundRequest) -> MockResponse? {
            let token = request.fields[.authorization] ?? ""
            guard !token.hasPrefix("NTLM TlRMTVNTUAAD") else { return nil }
            let isBegun = token.hasPrefix("NTLM TlRMTVNTUAAB")
            return MockResponse(
                status: .unauthorized, fields: [.wwwAuthenticate: isBegun ? "NTLM \(challenge)" : "NTLM"])
        }

        func text(_ path: String, _ change: (inout CurlewRequest) -> Void = { _ in }) async throws -> String {
            var request = try CurlewRequest(.get, server.url(path))
            change(&request)
            let response = try await session.send(request)
            return String(decoding: try await response.body.collect(upTo: .kibibytes(1)), as: UTF8.self)
        }
    }

    @Test("a busy HTTP/1.1 connection carries no other request", arguments: Cause.allCases)
    func busyConnection(_ cause: Cause) async throws {
        let scene = try await Scene(cause)
        if cause == .ntlm, !Engine.hasNTLM { return }
        async let held = scene.text("/held") { request in
            switch cause {
            case .trailers:
                request.method = .post
                request.body = .string("x")
                request.trailers = [.init("X-Sum")!: "1"]
            case .versionPolicy, .clearText: request.options.versionPolicy = .http11
            case .loadBalancer, .ntlm, .tunnel: break
            }
        }
        for await _ in scene.arrivals { break }
        #expect(try await scene.text("/first") == "/first")
        // All of them are answered while the first request waits.
        let paths = (0..<8).map { "/\($0)" }
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for path in paths {
                group.addTask { try await scene.text(path) { $0.options.totalTimeout = .seconds(10) } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts.sorted() == paths)
        scene.gate.finish()
        #expect(try await held == "/held")
        #expect(try await scene.text("/last") == "/last")
    }

    @Test("each of 10,000 requests with random versions and cancellations gets its own response")
    func randomRequests() async throws {
        let certificate = try HeldCertificate.localhost()
        var random = SeededNumbers(seed: 37)
        var tls = ServerTLS([certificate])
        tls.firstApplicationProtocols = (0..<2000).map { _ in Bool.random(using: &random) ? ["h2"] : ["http/1.1"] }
        var configuration = MockServer.Configuration(tls: tls, protocols: [.http2, .http11])
        configuration.recordedRequestLimit = 1
        let server = try await MockServer.start(configuration) { request in
            MockResponse(body: .bytes(Array(String(repeating: request.path, count: 20).utf8)))
        }
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        let failures = await withTaskGroup(of: [String].self) { group in
            for worker in 0..<64 {
                group.addTask {
                    var random = SeededNumbers(seed: UInt64(worker))
                    var failures: [String] = []
                    for number in 0..<157 {
                        let path = "/\(worker)/\(number)"
                        let isCancelled = random.next(upTo: 10) == 0
                        var options = RequestOptions()
                        if random.next(upTo: 3) == 0 { options.versionPolicy = .http11 }
                        let call = Task { [options] in try await session.fetch(server.url(path), options: options) }
                        if isCancelled {
                            for _ in 0..<random.next(upTo: 20) { await Task.yield() }
                            call.cancel()
                        }
                        do {
                            let body = String(decoding: try await call.value, as: UTF8.self)
                            if body != String(repeating: path, count: 20) { failures.append("\(path) got \(body)") }
                        } catch {
                            if !isCancelled { failures.append("\(path): \(error)") }
                        }
                    }
                    return failures
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(5))")
        try await session.expectUsable()
    }
}
