import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("The route of a connection", .endsServers, .timeLimit(.minutes(2)))
struct RouteTests {
    private func server(at address: ServerAddress) async throws -> MockServer {
        var configuration = MockServer.Configuration()
        configuration.address = address
        return try await MockServer.start(configuration) { request in
            MockResponse(body: .string(request.fields[HTTPField.Name("Host")!] ?? "-"))
        }
    }

    @Test("IPv6 works like IPv4")
    func ipv6() async throws {
        let server = try await server(at: .ipv6)
        let response = try await makeSession().get(.raw(server.url()))
        _ = try await response.body.collect(upTo: 100)
        #expect(await response.task?.metrics.last?.remoteAddress == "::1")
    }

    @Test("a host override applies only to its request")
    func override() async throws {
        let server = try await server(at: .ipv4)
        let session = try makeSession()
        var options = RequestOptions()
        options.route = ConnectionRoute(hosts: [
            .init(host: "service.test", port: server.port, addresses: ["127.0.0.1"])
        ])
        let url = "http://service.test:\(server.port)/"
        #expect(try await session.fetch(url, options: options) == Array("service.test:\(server.port)".utf8))
        #expect(await curlewError { _ = try await session.fetch(url) }?.code == .hostNotFound)
    }

    @Test(
        "the address that answers is used, in either order",
        arguments: [["::1", "127.0.0.1"], ["127.0.0.1", "::1"]])
    func eyeballs(_ addresses: [String]) async throws {
        let server = try await server(at: .ipv4)
        let session = try makeSession {
            $0.route.hosts = [.init(host: "both.test", port: server.port, addresses: addresses)]
        }
        #expect(try await session.get("http://both.test:\(raw: "\(server.port)")/").status == .ok)
    }

    @Test("an address that never answers is replaced by one of the other family")
    func unanswered() async throws {
        let stalled = try StalledListener()
        var configuration = MockServer.Configuration()
        configuration.address = .ipv6
        // The same port is usually free on the other family; if it is not, the redirection below does not need it.
        let server = try await MockServer.start(configuration) { _ in MockResponse(body: "six") }
        let session = try makeSession {
            $0.route.redirections = [.init(host: "slow.test", port: 80, toHost: "127.0.0.1", toPort: stalled.port)]
            $0.timeouts.connect = .milliseconds(200)
        }
        #expect(await curlewError { _ = try await session.fetch("http://slow.test/") }?.code == .connectTimeout)
        #expect(try await session.fetch(server.url()) == Array("six".utf8))
    }

    @Test("a redirection connects elsewhere and keeps the Host field")
    func connectTo() async throws {
        let server = try await server(at: .ipv4)
        let session = try makeSession { $0.route.redirections = [.init(toHost: "127.0.0.1", toPort: server.port)] }
        #expect(try await session.fetch("http://elsewhere.test/") == Array("elsewhere.test".utf8))
    }

    @Test("a redirection precedes an override, and may lead to an overridden host")
    func redirectionAndOverride() async throws {
        let server = try await server(at: .ipv4)
        let refused = try RefusedPort.unused()
        let session = try makeSession {
            $0.route.redirections = [.init(host: "first.test", port: 80, toHost: "Second.test", toPort: server.port)]
            $0.route.hosts = [
                .init(host: "second.test", port: server.port, addresses: ["127.0.0.1"]),
                .init(host: "first.test", port: 80, addresses: ["127.0.0.1"]),
                .init(host: "third.test", port: refused.port, addresses: ["127.0.0.1"]),
            ]
        }
        #expect(try await session.fetch("http://first.test/") == Array("first.test".utf8))
        let error = await curlewError { _ = try await session.fetch("http://third.test:\(refused.port)/") }
        #expect(error?.code == .connectionRefused)
    }

    @Test("a Unix socket carries requests, with pooled connections and stray bytes")
    func unixSocket() async throws {
        let path = "/tmp/curlew-\(UInt64.random(in: 0 ... .max)).sock"
        let server = try await server(at: .unixSocket(path: path))
        let session = try makeSession { $0.route.unixSocket = path }
        for _ in 0..<3 { #expect(try await session.fetch("http://localhost/") == Array("localhost".utf8)) }
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("a missing Unix socket is named in the error")
    func missingSocket() async throws {
        let session = try makeSession { $0.route.unixSocket = "/nowhere/curlew.sock" }
        let error = await curlewError { _ = try await session.fetch("http://localhost/") }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.hasPrefix("could not connect to the socket /nowhere/curlew.sock") == true)
    }

    @Test("a local interface can be chosen, and a missing one is an error")
    func localInterface() async throws {
        let server = try await server(at: .ipv4)
        let session = try makeSession { $0.route.localInterface = "lo" }
        #expect(try await session.get(.raw(server.url())).status == .ok)
        let other = try makeSession { $0.route.localInterface = "nowhere0" }
        #expect(await curlewError { _ = try await other.fetch(server.url()) }?.code == .connectionFailed)
    }

    @Test("an unknown host and a closed port have different errors")
    func unreachable() async throws {
        let session = try makeSession()
        let refused = try RefusedPort.unused()
        #expect(await curlewError { _ = try await session.fetch("http://name.invalid/") }?.code == .hostNotFound)
        let refusal = await curlewError { _ = try await session.fetch(refused.url()) }
        #expect(refusal?.code == .connectionRefused)
        #expect(refusal?.message == "could not connect to 127.0.0.1:\(refused.port): connection refused")
        var options = RequestOptions()
        options.route = ConnectionRoute(hosts: [.init(host: "x", port: 1, addresses: [])])
        #expect(
            await curlewError { _ = try await session.fetch("http://x/", options: options) }?.code == .invalidRequest)
        options.route = ConnectionRoute(redirections: [.init(toHost: "a b", toPort: 1)])
        #expect(
            await curlewError { _ = try await session.fetch("http://x/", options: options) }?.code == .invalidRequest)
    }

    @Test("a certificate of an unknown issuer, or for another name, is not trusted")
    func untrusted() async throws {
        let certificate = try HeldCertificate.localhost()
        let other = try HeldCertificate.wrongName()
        for (served, trusted, code) in [
            (certificate, nil, ErrorCode.selfSignedCertificate), (other, other, .hostNameMismatch),
        ] {
            var configuration = MockServer.Configuration()
            configuration.tls = ServerTLS([served])
            let server = try await MockServer.start(configuration) { _ in MockResponse() }
            let session = try makeSession {
                if let trusted { $0.security = .anchors(pem: trusted.certificatePEM) }
            }
            let error = await curlewError { _ = try await session.fetch(server.url()) }
            #expect(error?.code == code)
            await server.shutdown()
        }
    }

    @Test("a server that speaks plain text on a TLS port has its own error")
    func plainText() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try makeSession()
        let error = await curlewError { _ = try await session.fetch("https://127.0.0.1:\(server.port)/") }
        #expect(error?.code == .plainTextOnTLSPort)
    }
}
