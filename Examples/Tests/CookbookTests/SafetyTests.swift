import Cookbook
import Crypto
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Logging
import Synchronization
import Testing

@Suite("Programs of the cookbook that face servers of others", .timeLimit(.minutes(1)))
struct SafetyTests {
    private let loopback: AddressPolicy

    init() throws { loopback = AddressPolicy.publicOnly.allowing([try IPNetwork("127.0.0.0/8")]) }

    @Test("a delivery is repeated under the key of its event")
    func webhookRetried() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(status: .serviceUnavailable), MockResponse(status: .badGateway), MockResponse())
        let hooks = try Webhooks(addresses: loopback, hedgeAfter: .seconds(30))
        try await hooks.deliver(.init(id: "event-7", kind: "seen"), to: server.url("/hook"))
        let requests = await server.recorded()
        #expect(requests.map { $0.fields[.idempotencyKey] } == ["event-7", "event-7", "event-7"])
        #expect(requests.allSatisfy { $0.text == #"{"id":"event-7","kind":"seen"}"# })
        await server.shutdown()
    }

    @Test("a delivery that takes long is hedged under the same key")
    func webhookHedged() async throws {
        let gate = Gate()
        let asked = Mutex(0)
        let keys = Mutex<[String?]>([])
        let server = try await MockServer.start { request in
            keys.withLock { $0.append(request.fields[.idempotencyKey]) }
            let number = asked.withLock { count in
                count += 1
                return count
            }
            if number == 1 { await gate.pass() }
            return MockResponse()
        }
        let hooks = try Webhooks(addresses: loopback, hedgeAfter: .milliseconds(20))
        try await hooks.deliver(.init(id: "event-8", kind: "seen"), to: server.url("/hook"))
        #expect(keys.withLock { $0 } == ["event-8", "event-8"])
        await gate.open()
        await server.shutdown()
    }

    @Test("a server that fails repeatedly gets no further requests")
    func webhookCircuit() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .internalServerError) }
        let hooks = try Webhooks(addresses: loopback, hedgeAfter: .seconds(30))
        var codes: [ErrorCode] = []
        for number in 0..<30 {
            do {
                try await hooks.deliver(.init(id: "event-\(number)", kind: "seen"), to: server.url("/hook"))
            } catch let error as CurlewError {
                codes.append(error.code)
            }
        }
        #expect(codes.first == .unacceptableStatus && codes.last == .circuitOpen)
        #expect(server.requestCount == 20)
        await server.shutdown()
    }

    @Test("a delivery to an internal address is refused before a connection is opened")
    func webhookInside() async throws {
        let server = try await MockServer.start()
        let error = await #expect(throws: CurlewError.self) {
            try await Webhooks().deliver(.init(id: "event-9", kind: "seen"), to: server.url("/hook"))
        }
        #expect(error?.code == .addressForbidden)
        #expect(server.connectionCounts.accepted == 0)
        await server.shutdown()
    }

    @Test("a crawler keeps to two requests at a time, to its rate, to robots.txt and to public addresses")
    func crawler() async throws {
        let running = Mutex((now: 0, most: 0))
        let server = try await MockServer.start { request in
            running.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
            }
            defer { running.withLock { $0.now -= 1 } }
            switch request.path {
            case "/robots.txt": return MockResponse(body: "User-agent: *\nDisallow: /private\n")
            case "/":
                let pages = (1...30).map { "<a href=\"/page/\($0)\">" }.joined()
                let others = #"<a href="private/x"><a href="http://169.254.169.254/latest"><a href="/gone#top">"#
                return MockResponse(fields: [.contentType: "text/html"], body: .string(pages + others))
            case "/gone": return .notFound
            default: return MockResponse(fields: [.contentType: "text/html"], body: #"<a href="/">"#)
            }
        }
        let start = ContinuousClock.now
        let results = try await crawl(server.url("/"), pages: 100, addresses: loopback)
        #expect(results.count == 33)
        #expect(results["http://169.254.169.254/latest"] == "address-forbidden")
        #expect(results[server.url("/gone")] == "404" && results[server.url("/page/30")] == "200")
        #expect(results.keys.allSatisfy { !$0.contains("private") })
        #expect(running.withLock { $0.most } <= 2)
        #expect(start.duration(to: .now) > .seconds(1.2))

        let error = await #expect(throws: CurlewError.self) { try await crawl(server.url("/"), pages: 1) }
        #expect(error?.code == .addressForbidden)
        await server.shutdown()
    }

    /// Files with the certificates of a private authority, and a server that has one and asks for one.
    private func inside() async throws -> (folder: TemporaryFolder, server: MockServer, pin: String) {
        let root = try HeldCertificate.root()
        let host = try HeldCertificate.localhost(issuedBy: root)
        let client = try HeldCertificate(.init(commonName: "importer"), issuer: root)
        let folder = try TemporaryFolder()
        try folder.write(root.certificatePEM, to: "authority.pem")
        try folder.write(client.certificatePEM, to: "client.pem")
        try folder.write(client.privateKeyPEM, to: "client.key")
        var tls = ServerTLS([host])
        tls.clientCertificates = .required(trusting: [root])
        let server = try await MockServer.start(.init(tls: tls)) { _ in MockResponse(body: "up") }
        let pin = try SecurityPolicy.Pin(of: CurlewCertificate(der: host.certificateDER))
        return (folder, server, "\(pin)")
    }

    @Test("a server of a private authority gets a request with a client certificate, and only if its pin matches")
    func mutualTLS() async throws {
        let (folder, server, pin) = try await inside()
        let status = try await statusOfInside(server.url(), certificates: folder.path, pin: pin)
        #expect(status.hasPrefix("200 ") && status.contains("TLSv1.3"), "\(status)")
        #expect(await server.takeRequest()?.tls?.clientCertificateDER != nil)
        let other = try HeldCertificate.selfSigned()
        let wrong = try SecurityPolicy.Pin(of: CurlewCertificate(der: other.certificateDER))
        let error = await #expect(throws: CurlewError.self) {
            try await statusOfInside(server.url(), certificates: folder.path, pin: "\(wrong)")
        }
        #expect(error?.code == .pinMismatch)
        try folder.write(other.certificatePEM, to: "authority.pem")
        let stranger = await #expect(throws: CurlewError.self) {
            try await statusOfInside(server.url(), certificates: folder.path, pin: pin)
        }
        #expect(stranger?.isTrustFailure == true)
        await server.shutdown()
    }

    /// A log that keeps the metadata of its lines.
    private struct MemoryLog: LogHandler {
        final class Lines: Sendable {
            let texts = Mutex<[String]>([])
        }

        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.texts.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }

    @Test("an order is signed anew for each attempt, and the log shows no secret")
    func signedRequests() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(status: .serviceUnavailable), MockResponse(status: .created))
        let lines = MemoryLog.Lines()
        let seconds = Mutex(0)
        try await placeOrder(
            "binoculars", at: server.url("/v1"), token: "t0ken", key: "k3y",
            logger: Logger(label: "test") { _ in MemoryLog(lines: lines) },
            now: {
                seconds.withLock { seconds in
                    seconds += 1
                    return Date(timeIntervalSince1970: Double(seconds))
                }
            })
        let requests = await server.recorded()
        #expect(requests.map(\.target) == ["/v1/orders?shop=7", "/v1/orders?shop=7"])
        let dates = try requests.map { try #require($0.fields[HTTPField.Name("X-Signed-At")!]) }
        #expect(dates == ["1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z"])
        var signatures: [String] = []
        for (request, date) in zip(requests, dates) {
            let text = Array("POST /v1/orders?shop=7\n\(date)\n".utf8) + request.body
            let code = HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: Array("k3y".utf8)))
            signatures.append(code.map { String(format: "%02x", $0) }.joined())
        }
        #expect(requests.map { $0.fields[HTTPField.Name("X-Signature")!] } == signatures)
        #expect(requests[0].text == #"{"item":"binoculars"}"#)
        #expect(requests[0].fields[.idempotencyKey] == requests[1].fields[.idempotencyKey])

        let log = lines.texts.withLock { $0 }.joined(separator: "\n")
        #expect(log.contains("orders") && log.lowercased().contains("x-signature") && log.contains("***"))
        for secret in signatures + ["t0ken", "k3y"] { #expect(!log.contains(secret)) }
        await server.shutdown()
    }
}
