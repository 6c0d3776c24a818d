import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

/// RFC 3986 §3.2.3: `port = *DIGIT`. Leading zeros do not change a port, and no server listens on port 0 (RFC 6335 §6).
private let ports: [(text: String, port: Int?)] = [
    ("80", 80), ("1", 1), ("65535", 65_535), ("0080", 80), ("000080", 80), ("0000000000000000000008080", 8080),
    ("0065535", 65_535), ("0", nil), ("00000", nil), ("000000", nil), ("65536", nil), ("99999", nil), ("100000", nil),
    ("18446744073709551696", nil), ("-1", nil), ("+80", nil), ("8 0", nil), ("80 ", nil), (" 80", nil), ("0x50", nil),
    ("8o", nil), ("٨٠", nil), ("80:80", nil),
]

@Suite("Ports", .endsServers, .timeLimit(.minutes(1)))
struct PortNumberTests {
    @Test("the port of a URL is parsed equally for every kind of host", arguments: ports)
    func url(_ text: String, _ port: Int?) throws {
        for host in ["a.test", "127.0.0.1", "[::1]", "A_b.test", "user:pw@a.test"] {
            for rest in ["", "/", "/p", "?q", "#f"] {
                let uri = try? CurlewURI("http://\(host):\(text)\(rest)")
                #expect(uri?.port == port, "\(host) \(rest)")
                guard let port, let uri else { continue }
                #expect(uri.authority.hasSuffix(":\(port)") && uri.description.contains(":\(port)/"))
                #expect(try CurlewURI(uri.description) == uri.withoutUserInformation)
            }
        }
    }

    @Test("ports of proxies, exceptions and alternative services are parsed like those of URLs", arguments: ports)
    func others(_ text: String, _ port: Int?) throws {
        #expect((try? Proxy("socks5://a.test:\(text)"))?.port == port)
        #expect((try? Proxy("http://u:p@[::1]:\(text)/"))?.port == port)
        #expect(AlternativeServiceField.place(Array("a.test:\(text)".utf8))?.port == port)
        guard text.utf8.allSatisfy(\.isDigit) else { return }
        #expect((ProxyHostPattern("a.test:\(text)") != nil) == (port != nil))
        #expect((ProxyHostPattern("[::1]:\(text)") != nil) == (port != nil))
        guard let port else { return }
        #expect(
            ProxyHostPattern("a.test:\(text)")?.matches(try CurlewURI("http://a.test:\(port)/"), address: nil) == true)
    }

    @Test("an empty port is the default of the scheme, and its colon is omitted")
    func empty() throws {
        #expect(try CurlewURI("http://a.test:/x").description == "http://a.test/x")
        #expect(try CurlewURI("https://a.test:").port == 443)
        #expect(try Proxy("https://a.test:").port == 443 && Proxy("http://a.test:").port == 1080)
    }

    @Test("URLs with differently written ports have one origin and one key")
    func oneOrigin() throws {
        for (one, other) in [
            ("http://a.test:0080/", "http://a.test/"), ("https://a.test:00443/x", "https://A.test:443/x"),
        ] {
            let (one, other) = (try CurlewURI(one), try CurlewURI(other))
            #expect(one.hasSameOrigin(as: other) && one.origin == other.origin)
            #expect(one.normalizedText == other.normalizedText)
        }
    }

    @Test("a route with an invalid port is refused", arguments: [0, -1, 65_536])
    func route(_ port: Int) async throws {
        let routes = [
            ConnectionRoute(hosts: [.init(host: "a.test", port: port, addresses: ["127.0.0.1"])]),
            ConnectionRoute(redirections: [.init(toHost: "127.0.0.1", toPort: port)]),
            ConnectionRoute(redirections: [.init(port: port, toHost: "127.0.0.1", toPort: 80)]),
        ]
        let session = try makeSession()
        for route in routes {
            var options = RequestOptions()
            options.route = route
            let error = await curlewError { _ = try await session.get("http://a.test/", options: options) }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test("the Host field has the port without leading zeros")
    func host() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse())
        _ = try await makeSession().get("http://127.0.0.1:000\(raw: "\(server.port)")/")
        #expect(await server.takeRequest()?.fields[.init("Host")!] == "127.0.0.1:\(server.port)")
    }
}
