import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("HTTPS for hosts with Strict-Transport-Security", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct StrictTransportTests {
    private let field = "max-age=1000; includeSubDomains"

    private func secureServer(_ fields: HTTPFields) async throws -> MockServer {
        let certificate = try TestChain.selfSigned.get()
        return try await MockServer.start(.init(tls: ServerTLS([certificate]))) { request in
            request.path == "/back"
                ? redirect(302, to: "http://\(request.fields[.host] ?? "")/back")
                : MockResponse(fields: fields, body: "ok")
        }
    }

    private func local(_ url: String) -> String {
        url.split(separator: "127.0.0.1").joined(separator: "localhost")
    }

    private func plain(_ url: String) -> String { "http" + local(url).dropFirst("https".count) }

    private func session(
        _ store: StrictTransport.Store, security: SecurityPolicy? = nil, allowsDowngrade: Bool = false
    ) throws -> HTTPSession {
        var options = StandardChain.Options()
        options.strictTransport = StrictTransport(store)
        options.retry = nil
        options.redirects.allowsDowngrade = allowsDowngrade
        return try makeSession(security: try security ?? .anchors(pem: TestChain.selfSigned.get().certificatePEM)) {
            [options] in
            StandardChain(options)
        }
    }

    @Test("a verified response turns the next http request into https, with its method and body")
    func upgrade() async throws {
        let server = try await secureServer([.strictTransportSecurity: field])
        let store = StrictTransport.Store { 0 }
        let session = try session(store)
        _ = try await session.get(.raw(local(server.url())))
        #expect(store.hosts == [.init(name: "localhost", includesSubdomains: true, expirySeconds: 1000)])
        let response = try await session.post(.raw(plain(server.url("/x?y#z"))), .body(.string("hello")))
        #expect(response.uri.description == local(server.url("/x?y#z")))
        _ = await server.takeRequest()
        let request = try #require(await server.takeRequest())
        #expect(request.method == .post && request.text == "hello" && request.target == "/x?y" && request.tls != nil)
    }

    @Test("a request upgraded to https must match the pins of its host")
    func pins() async throws {
        let server = try await secureServer([:])
        let own = try TestChain.selfSigned.get()
        let store = StrictTransport.Store { 0 }
        #expect(store.note(Array("max-age=1000".utf8), from: try CurlewURI(local(server.url()))))
        for (isRight, certificate) in [(true, own), (false, try HeldCertificate.selfSigned())] {
            var policy = SecurityPolicy.anchors(pem: own.certificatePEM)
            policy.pinning = .keys(
                SecurityPolicy.PinSet([
                    try SecurityPolicy.Pin(of: CurlewCertificate(der: certificate.certificateDER))
                ]))
            let session = try session(store, security: policy)
            if isRight {
                #expect(try await session.get(.raw(plain(server.url()))).status == .ok)
            } else {
                let error = await curlewError { _ = try await session.get(.raw(plain(server.url()))) }
                #expect(error?.code.isTrustFailure == true)
            }
        }
        #expect(server.requestCount == 1)
    }

    @Test("a field from http, from an IP address, or under a policy that accepts invalid certificates is ignored")
    func unverified() async throws {
        let server = try await secureServer([.strictTransportSecurity: field])
        let clear = try await MockServer.start { _ in MockResponse(fields: [.strictTransportSecurity: "max-age=1000"]) }
        let store = StrictTransport.Store()
        var lax = SecurityPolicy.system
        lax.allowsInvalidCertificates = true
        lax.validatesDomainName = false
        _ = try await session(store).get(.raw(local(clear.url())))
        _ = try await session(store).get(.raw(server.url()))
        _ = try await session(store, security: lax).get(.raw(local(server.url())))
        var trusting = SecurityPolicy.system
        trusting.evaluator = SecurityPolicy.Evaluator { _ in .accept }
        _ = try await session(store, security: trusting).get(.raw(local(server.url())))
        var byHost = SecurityPolicy.system
        byHost.hosts = [.init("localhost", lax)]
        _ = try await session(store, security: byHost).get(.raw(local(server.url())))
        #expect(store.hosts.isEmpty && clear.requestCount == 1 && server.requestCount == 4)
    }

    @Test("the first of two fields applies, even if it is invalid or has an age of zero")
    func twice() async throws {
        let store = StrictTransport.Store { 0 }
        for (first, second, expected) in [
            ("max-age=5", "max-age=9; includeSubDomains", [5]), ("nonsense", "max-age=9", [5]),
            ("max-age=0", "max-age=9", []),
        ] as [(String, String, [Int64])] {
            var fields = HTTPFields()
            fields.append(HTTPField(name: .strictTransportSecurity, value: first))
            fields.append(HTTPField(name: .strictTransportSecurity, value: second))
            let server = try await secureServer(fields)
            _ = try await session(store).get(.raw(local(server.url())))
            #expect(store.hosts.map(\.expirySeconds) == expected, "\(first)")
        }
    }

    @Test("a response without a connection is ignored")
    func stubbed() async throws {
        let store = StrictTransport.Store()
        let stub = StubTransport { _ in .response(.ok, fields: [.strictTransportSecurity: "max-age=1000"]) }
        let session = try HTTPSession(transport: stub, chain: .bare) { StrictTransport(store) }
        _ = try await session.get("https://h.example/")
        #expect(store.hosts.isEmpty)
    }

    @Test(
        "port 80 and a missing port become 443, and another port stays",
        arguments: [
            ("http://h.example/a?b#c", "https://h.example/a?b#c"), ("http://h.example:80/", "https://h.example/"),
            ("http://H.Example:8080/a", "https://H.Example:8080/a"),
            ("http://h.example:443/", "https://h.example:443/"),
            ("http://a.b.h.example./", "https://a.b.h.example./"), ("http://user:pw@h.example/", "https://h.example/"),
            ("http://other.example/", "http://other.example/"), ("http://xh.example/", "http://xh.example/"),
            ("http://example/", "http://example/"),
        ])
    func ports(_ from: String, _ to: String) async throws {
        let store = StrictTransport.Store()
        #expect(store.add("h.example", includesSubdomains: true, age: .seconds(10)))
        let seen = Guarded<CurlewURI?>(nil)
        let session = try HTTPSession(transport: StubTransport { _ in .response(.ok) }, chain: .bare) {
            StrictTransport(store)
            Link { request, next in
                seen.withLock { $0 = request.uri }
                return try await next(request)
            }
        }
        _ = try await session.get(.raw(from))
        let uri = try #require(seen.withLock { $0 })
        #expect(uri.description == to)
        // The parts of the URI are equal to those of a URI that is parsed from its text.
        let again = try CurlewURI(to).withUserInformation(uri.userInformation)
        #expect(uri == again)
    }

    @Test("redirects that alternate between https and http end in a redirect error")
    func circle() async throws {
        let server = try await secureServer([:])
        let store = StrictTransport.Store()
        store.add("localhost", age: .seconds(1000))
        let refused = await curlewError { _ = try await session(store).get(.raw(plain(server.url("/back")))) }
        #expect(refused?.code == .redirectRefused)
        let looped = await curlewError {
            _ = try await session(store, allowsDowngrade: true).get(.raw(plain(server.url("/back"))))
        }
        #expect(looped?.code == .tooManyRedirects)
    }

    @Test("secrets of a session with an http base are sent to the same host by https, and to no other")
    func secrets() async throws {
        let store = StrictTransport.Store()
        store.add("h.example", includesSubdomains: true, age: .seconds(1000))
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(
            baseURL: "http://h.example/", transport: stub, defaultFields: [.authorization: "Bearer secret"],
            chain: .bare
        ) { StrictTransport(store) }
        _ = try await session.get("a")
        _ = try await session.get(.raw("http://other.h.example/"))
        _ = try await session.get(.raw("https://h.example/"))
        #expect(stub.received.map(\.fields[.authorization]) == ["Bearer secret", nil, nil])
        #expect(stub.received.map(\.uri.scheme) == ["https", "https", "https"])
    }
}

@Suite("The store of Strict-Transport-Security hosts")
struct StrictTransportStoreTests {
    private func field(_ text: String) -> StrictTransportField? { StrictTransportField(Array(text.utf8)) }

    @Test(
        "a field is parsed by the grammar",
        arguments: [
            ("max-age=10", 10, false), ("MAX-AGE=\"10\"", 10, false), (" max-age = 10 ; includesubdomains ", 10, true),
            ("includeSubDomains;max-age=0;", 0, true), (";;max-age=1;; preload", 1, false),
            ("max-age=1; x=\"a;b\"; y=2", 1, false), ("max-age=99999999999999999999999", Int64.max, false),
        ])
    func grammar(_ text: String, _ age: Int64, _ includesSubdomains: Bool) {
        #expect(field(text) == StrictTransportField(age: age, includesSubdomains: includesSubdomains))
    }

    @Test(
        "a malformed field is ignored",
        arguments: [
            "", ";", "includeSubDomains", "max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age=soon",
            "max-age=1 2", "max-age=1, max-age=2", "max-age=1; max-age=2", "max-age=1; includeSubDomains=yes",
            "max-age=1; x; x", "max-age=1; =x", "max-age=1; \"x\"", "nonsense \u{0}", "max-age=1; x=",
        ])
    func nonsense(_ text: String) {
        #expect(field(text) == nil)
    }

    @Test("a field of more than 4 KiB is ignored")
    func huge() {
        #expect(field("max-age=1; x=" + String(repeating: "a", count: 5000)) == nil)
    }

    @Test("an age of zero removes a host, and a host expires by the clock")
    func time() throws {
        let now = Guarded<Int64>(100)
        let store = StrictTransport.Store { now.withLock { $0 } }
        let uri = try CurlewURI("https://h.example/")
        #expect(store.note(Array("max-age=10".utf8), from: uri))
        #expect(store.requiresHTTPS(try CurlewURI("http://H.example./")))
        #expect(!store.requiresHTTPS(try CurlewURI("http://sub.h.example/")))
        now.withLock { $0 = 110 }
        #expect(!store.requiresHTTPS(uri) && store.hosts.isEmpty)
        #expect(store.note(Array("max-age=10".utf8), from: uri))
        #expect(!store.note(Array("max-age=x".utf8), from: uri) && store.requiresHTTPS(uri))
        #expect(!store.note(Array("max-age=0".utf8), from: uri) && !store.requiresHTTPS(uri))
        #expect(store.note(Array("max-age=99999999999999999999".utf8), from: uri))
        #expect(store.hosts.map(\.expirySeconds) == [63_072_110])
        #expect(!store.note(Array("max-age=10".utf8), from: try CurlewURI("https://[::1]/")))
        #expect(!store.note(Array("max-age=10".utf8), from: try CurlewURI("https://0x7f.1/")))
        #expect(!store.note(Array("max-age=10".utf8), from: try CurlewURI("http://h.example/")))
    }

    @Test("a full store evicts the host that expires first")
    func bound() {
        let store = StrictTransport.Store(limits: .init(hosts: 2)) { 0 }
        #expect(store.add("a.example", age: .seconds(20)) && store.add("b.example", age: .seconds(10)))
        #expect(store.add("c.example", age: .seconds(30)))
        #expect(store.hosts.map(\.name) == ["a.example", "c.example"])
        #expect(!store.add("d.example", age: .seconds(5)))
        store.remove("A.example")
        #expect(store.hosts.map(\.name) == ["c.example"])
        store.removeAll()
        #expect(store.hosts.isEmpty && !store.add("10.0.0.1", age: .seconds(5)) && !store.add("", age: .seconds(5)))
    }

    #if InternationalNames
    @Test("an internationalized name is stored in its ASCII form")
    func international() throws {
        let store = StrictTransport.Store { 0 }
        #expect(store.add("Bücher.example", age: .seconds(10)))
        #expect(store.hosts.map(\.name) == ["xn--bcher-kva.example"])
        #expect(store.requiresHTTPS(try CurlewURI("http://bücher.example/")))
    }
    #endif

    @Test("hosts are written in curl's file format, and read again")
    func file() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("hsts.txt")
        let store = StrictTransport.Store { 1_000_000_000 }
        store.add("a.example", includesSubdomains: true, age: .seconds(86_400))
        store.add("b.example", age: .seconds(1))
        try await store.save(to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(
            text.split(separator: "\n").dropFirst()
                == [".a.example \"20010910 01:46:40\"", "b.example \"20010909 01:46:41\""])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let other = StrictTransport.Store { 1_000_000_000 }
        #expect(try await other.load(from: path) == [])
        #expect(other.hosts == store.hosts)
    }

    @Test("invalid lines are skipped and reported, and of equal hosts the later expiry is kept")
    func garbage() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write(
            "hsts.txt",
            Array(
                """
                # comment
                .a.example "20300101 00:00:00"\r

                b.example "20300101 00:00:00
                c.example 20300101 00:00:00
                d.example "20301301 00:00:00"
                e.example "20300101 24:00:00"
                10.0.0.1 "20300101 00:00:00"
                ..f.example "20300101 00:00:00"
                g.example "unlimited"
                h.example "19990101 00:00:00"
                \u{0}\u{1}\u{2}
                i.exämple "20300101 00:00:00"
                kept.example "20010910 00:00:00"
                """.utf8))
        let store = StrictTransport.Store { 1_000_000_000 }
        store.add("kept.example", includesSubdomains: true, age: .seconds(1_000_000))
        #expect(try await store.load(from: path) == [5, 6, 7, 8, 9, 12, 13])
        #expect(store.hosts.map(\.name) == ["a.example", "b.example", "g.example", "kept.example"])
        #expect(store.hosts.map(\.includesSubdomains) == [true, false, false, true])
        #expect(store.hosts.allSatisfy { $0.expirySeconds <= 1_000_000_000 + 63_072_000 })
    }

    @Test("a missing or oversized file is an error, and the store stays unchanged")
    func unreadable() async throws {
        let folder = try ScratchFolder()
        let store = StrictTransport.Store(limits: .init(fileSize: .kibibytes(1)))
        let missing = await curlewError { try await store.load(from: folder.file("none")) }
        let large = try folder.write(
            "large", Array("a.example \"20990101 00:00:00\"\n".utf8) + Array(repeating: 10, count: 1024))
        let tooLarge = await curlewError { try await store.load(from: large) }
        let unwritable = await curlewError { try await store.save(to: folder.file("no/such/folder")) }
        for error in [missing, tooLarge, unwritable] {
            #expect(error?.code == .originFileFailed && error?.underlying is CurlewError)
        }
        #expect(store.hosts.isEmpty)
    }

    @Test("a file with more hosts than the limit leaves those that expire last")
    func manyLines() async throws {
        let folder = try ScratchFolder()
        let lines = (0..<3000).map { "h\($0).example \"2001\($0 < 1500 ? "1001" : "1101") 00:00:00\"\n" }
        let path = try folder.write("hsts.txt", lines.flatMap { Array($0.utf8) })
        let store = StrictTransport.Store(limits: .init(hosts: 1500)) { 1_000_000_000 }
        #expect(try await store.load(from: path) == [])
        #expect(store.hosts.count == 1500)
        #expect(store.requiresHTTPS(try CurlewURI("http://h2999.example/")))
    }

    @Test("times are written and read in seconds")
    func moments() {
        for seconds in [0, 951_825_600, 1_000_000_000, OriginFile.latest] as [Int64] {
            #expect(OriginFile.seconds(of: OriginFile.text(of: seconds)) == seconds)
        }
        #expect(OriginFile.text(of: .max) == OriginFile.text(of: OriginFile.latest))
        for text in ["", "2030", "20300101T00:00:00", "20300101 00:00:0x", "20300001 00:00:00", "never"] {
            #expect(OriginFile.seconds(of: text) == nil)
        }
    }
}
