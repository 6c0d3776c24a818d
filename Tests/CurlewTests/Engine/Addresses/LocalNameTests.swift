import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

private let localNames = [
    "localhost", "localhost.", "LOCALHOST.", "LocalHost", "a.localhost", "a.localhost.", "A.b.LOCALHOST.",
]

@Suite("Names of the local machine", .endsServers, .timeLimit(.minutes(1)))
struct LocalNameTests {
    @Test(
        "a name below localhost is local, with or without a dot at its end (RFC 6761 §6.3)",
        arguments: [
            ("localhost", true), ("localhost.", true), ("x.localhost.", true), (".localhost", true),
            ("LOCALHOST", true),
            ("localhost..", false), ("xlocalhost", false), ("localhost.x", false), ("localhost.localdomain", false),
            ("", false), (".", false), ("ocalhost", false), ("127.0.0.1", false), ("loca\u{301}lhost", false),
        ])
    func names(_ host: String, _ isLocal: Bool) { #expect(LocalName.contains(host) == isLocal) }

    @Test("a request to a local name connects to the loopback address", arguments: localNames)
    func request(_ host: String) async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse())
        let response = try await makeSession().get("http://\(raw: host):\(raw: "\(server.port)")/")
        #expect(response.status == .ok)
        // The field has the name as the caller wrote it.
        #expect(await server.takeRequest()?.fields[.init("Host")!] == "\(host):\(server.port)")
    }

    @Test("a policy without private addresses refuses every local name", arguments: localNames)
    func policy(_ host: String) async throws {
        let server = try await MockServer.start()
        let session = try makeSession { $0.addressPolicy = .publicOnly }
        let error = await curlewError {
            _ = try await session.get("http://\(raw: host):\(raw: "\(server.port)")/")
        }
        #expect(error?.code == .addressForbidden)
        #expect(server.connectionCounts.accepted == 0)
    }

    @Test("a route's address for a local name applies with and without a dot at the end")
    func override() async throws {
        let server = try await MockServer.start()
        for host in ["localhost.", "localhost"] {
            server.enqueue(MockResponse())
            let port = server.port
            let session = try makeSession {
                // The override for the name uses a port without a listener.
                $0.route.hosts = [.init(host: host, port: 1, addresses: ["127.0.0.1"])]
                $0.route.redirections = [.init(host: "localhost.", port: 1, toHost: "127.0.0.1", toPort: port)]
            }
            #expect(try await session.get("http://localhost.:1/").status == .ok)
        }
    }

    @Test(
        "a proxy with a local name is found",
        arguments: ["localhost.", "LOCALHOST.", "p.localhost."])
    func proxy(_ host: String) async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse())
        let proxy = try Proxy("http://\(host):\(server.port)")
        let session = try makeSession { $0.proxy = .proxy(proxy) }
        #expect(try await session.get("http://origin.test/").status == .ok)
    }

    @Test("a look-up of a local name returns the loopback address", arguments: localNames)
    func lookup(_ host: String) async throws {
        let answer = await withCheckedContinuation { continuation in
            HostLookup().begin(host) { continuation.resume(returning: $0) }
        }
        let addresses = try answer.get().map(\.address)
        #expect(!addresses.isEmpty && addresses.allSatisfy { $0 == IPAddress(ipv4: 0x7F00_0001) || "\($0)" == "::1" })
    }

    @Test("cookies and HSTS treat a local name with a dot like the name without the dot")
    func stores() throws {
        #expect(CookieHost("localhost.")?.name == "localhost" && CookieHost("A.localhost.")?.name == "a.localhost")
        // Other names keep the dot, as in browsers.
        #expect(CookieHost("a.test.")?.name == "a.test.")
        #expect(OriginHost.name("localhost.") == "localhost")
    }
}
