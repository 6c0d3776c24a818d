import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Enforcement of an address policy", .endsServers, .timeLimit(.minutes(2)))
struct AddressEnforcementTests {
    private func server(at address: ServerAddress = .ipv4, tls: ServerTLS? = nil) async throws -> MockServer {
        try await MockServer.start(.init(address: address, tls: tls)) { _ in MockResponse(body: "ok") }
    }

    private func publicOnly() -> RequestOptions {
        var options = RequestOptions()
        options.addressPolicy = .publicOnly
        return options
    }

    @Test(
        "a private address is refused in every notation",
        arguments: [
            "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "0x7f000001", "localhost",
            "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "0.0.0.0", "0",
        ])
    func spellings(_ host: String) async throws {
        let server = try await server()
        let session = try makeSession { $0.addressPolicy = .publicOnly }
        let error = await curlewError { _ = try await session.fetch("http://\(host):\(server.port)/") }
        #expect(error?.code == .addressForbidden)
        #expect(error?.stage == .connecting)
        #expect(error?.message.contains(host) == true)
        #expect(server.connectionCounts.accepted == 0)
        await server.shutdown()
    }

    @Test("a name that resolves to a private address is refused, and the error names both")
    func rebinding() async throws {
        let server = try await server()
        let session = try makeSession {
            $0.addressPolicy = .publicOnly
            $0.route.hosts = [.init(host: "rebound.test", port: server.port, addresses: ["127.0.0.1"])]
        }
        let error = await curlewError { _ = try await session.fetch("http://rebound.test:\(server.port)/") }
        #expect(error?.code == .addressForbidden)
        #expect(error?.message == "the address policy forbids 127.0.0.1 for rebound.test")
        #expect(server.connectionCounts.accepted == 0)
    }

    @Test("a forbidden port or scheme is refused before a connection is opened", arguments: [false, true])
    func portsAndSchemes(proxied: Bool) async throws {
        let server = try await server()
        let proxy = try await MockProxy.start()
        let address = try Proxy(proxy.url)
        let session = try makeSession {
            if proxied { $0.proxy = .proxy(address) }
            $0.addressPolicy = .any.ports(server.port, 80)
        }
        #expect(try await session.fetch(server.url()) == Array("ok".utf8))
        let accepted = server.connectionCounts.accepted + proxy.connectionCounts.accepted
        // The forbidden port has a listener.
        let port = await curlewError { _ = try await session.fetch("http://127.0.0.1:\(proxy.port)/") }
        #expect(port?.code == .addressForbidden && port?.stage == .preparing)
        #expect(port?.message == "the address policy forbids port \(proxy.port) for 127.0.0.1")
        let written = await curlewError { _ = try await session.fetch("https://127.0.0.1/") }
        #expect(written?.message == "the address policy forbids port 443 for 127.0.0.1")
        let options = RequestOptions(addressPolicy: .any.httpsOnly())
        let scheme = await curlewError { _ = try await session.fetch(server.url(), options: options) }
        #expect(scheme?.code == .addressForbidden)
        #expect(scheme?.message == "the address policy forbids http for 127.0.0.1")
        #expect(server.connectionCounts.accepted + proxy.connectionCounts.accepted == accepted)
        #expect(server.requestCount == 1)
    }

    @Test("the port of each redirect hop is checked")
    func redirectedPort() async throws {
        let inner = try await server()
        let outer = try await MockServer.start { _ in redirect(302, to: inner.url()) }
        let session = try makeSession { Redirects() }
        let options = RequestOptions(addressPolicy: .any.ports(outer.port))
        let error = await curlewError { _ = try await session.fetch(outer.url(), options: options) }
        #expect(error?.code == .addressForbidden)
        #expect(outer.requestCount == 1 && inner.connectionCounts.accepted == 0)
        #expect(try await session.fetch(outer.url()) == Array("ok".utf8))
    }

    @Test("the address that a route redirects to is checked")
    func connectTo() async throws {
        let server = try await server()
        let session = try makeSession {
            $0.addressPolicy = .publicOnly
            $0.route.redirections = [.init(toHost: "127.0.0.1", toPort: server.port)]
        }
        #expect(await curlewError { _ = try await session.fetch("http://1.1.1.1/") }?.code == .addressForbidden)
        #expect(server.connectionCounts.accepted == 0)
    }

    @Test(
        "the allowed one of several addresses is used",
        arguments: [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["::1", "127.0.0.1"]])
    func eyeballs(_ addresses: [String]) async throws {
        let server = try await server(at: .ip("0.0.0.0"))
        let only = AddressPolicy.only([try IPNetwork("127.0.0.1")])
        let session = try makeSession {
            $0.addressPolicy = only
            $0.route.hosts = [.init(host: "several.test", port: server.port, addresses: addresses)]
        }
        let response = try await session.get("http://several.test:\(raw: "\(server.port)")/")
        _ = try await response.body.collect(upTo: 10)
        #expect(await response.task?.metrics.last?.remoteAddress == "127.0.0.1")
    }

    @Test("the error names the allowed address that failed, not the forbidden address beside it")
    func refusedBesideForbidden() async throws {
        let refused = try RefusedPort.unused()
        let only = AddressPolicy.only([try IPNetwork("127.0.0.1")])
        let session = try makeSession {
            $0.addressPolicy = only
            $0.route.hosts = [.init(host: "two.test", port: refused.port, addresses: ["127.0.0.2", "127.0.0.1"])]
        }
        let error = await curlewError { _ = try await session.fetch("http://two.test:\(refused.port)/") }
        #expect(error?.code == .connectionRefused)
    }

    @Test(
        "a connection opened under another policy is refused, and the session stays usable",
        arguments: [false, true])
    func reuse(overTLS: Bool) async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await server(tls: overTLS ? ServerTLS([certificate]) : nil)
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        _ = try await session.fetch(server.url("/open"))
        let error = await curlewError { _ = try await session.fetch(server.url("/forbidden"), options: publicOnly()) }
        #expect(error?.code == .addressForbidden)
        #expect(error?.message == "the address policy forbids 127.0.0.1 for 127.0.0.1")
        #expect(server.requestCount == 1)
        #expect(server.connectionCounts.accepted == 1)
        _ = try await session.fetch(server.url("/again"))
        #expect(server.requestCount == 2)
    }

    @Test("another address of the host is used if the connection in the pool is forbidden")
    func otherAddress() async throws {
        let server = try await server(at: .ip("0.0.0.0"))
        let session = try makeSession {
            $0.route.hosts = [.init(host: "twice.test", port: server.port, addresses: ["127.0.0.2", "127.0.0.1"])]
        }
        let url = "http://twice.test:\(server.port)/"
        let first = try await session.get(.raw(url))
        _ = try await first.body.collect(upTo: 10)
        #expect(await first.task?.metrics.last?.remoteAddress == "127.0.0.2")
        var options = RequestOptions()
        options.addressPolicy = .any.denying([try IPNetwork("127.0.0.2")])
        let second = try await session.post(.raw(url), .body(.string("once")), options: options)
        _ = try await second.body.collect(upTo: 10)
        #expect(await second.task?.metrics.last?.remoteAddress == "127.0.0.1")
        // The request is recorded when its body has arrived, which may be after the answer.
        try await server.waitForRequests(2)
        #expect(server.requestCount == 2)
    }

    @Test("a stream on a forbidden HTTP/2 connection is refused, and the other streams continue")
    func multiplexed() async throws {
        let certificate = try HeldCertificate.localhost()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start(.init(tls: ServerTLS([certificate]))) { request in
            if request.path == "/slow" { for await _ in gate { break } }
            return MockResponse(body: "ok")
        }
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        #expect(try await session.get(.raw(server.url())).version == .http2)
        let slow = Task { try await session.fetch(server.url("/slow")) }
        try await server.waitForRequests(2)
        let error = await curlewError { _ = try await session.fetch(server.url("/no"), options: publicOnly()) }
        #expect(error?.code == .addressForbidden)
        open.yield()
        #expect(try await slow.value == Array("ok".utf8))
        #expect(server.requestCount == 2)
    }

    @Test("a request's own policy replaces the session's")
    func override() async throws {
        let server = try await server()
        let session = try makeSession { $0.addressPolicy = .publicOnly }
        var options = RequestOptions()
        options.addressPolicy = .publicOnly.allowing([try IPNetwork("127.0.0.0/8")])
        #expect(try await session.fetch(server.url(), options: options) == Array("ok".utf8))
        #expect(try await session.fetch("http://[::ffff:127.0.0.1]:\(server.port)/", options: options).count == 2)
        // The pooled connection does not bypass the policy.
        #expect(await curlewError { _ = try await session.fetch(server.url()) }?.code == .addressForbidden)
    }

    @Test("a request to a forbidden address does not consume its single-use body")
    func body() async throws {
        let server = try await server()
        let session = try makeSession { $0.addressPolicy = .publicOnly }
        let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
        feed.yield([1, 2, 3])
        feed.finish()
        let error = await curlewError { _ = try await session.post(.raw(server.url()), .body(.once(chunks))) }
        #expect(error?.code == .addressForbidden)
        var left: [[UInt8]] = []
        for await chunk in chunks { left.append(chunk) }
        #expect(left == [[1, 2, 3]])
    }

    @Test("a Unix socket is refused unless it is allowed, for a pooled connection too")
    func unixSocket() async throws {
        let path = "/tmp/curlew-\(UInt64.random(in: 0 ... .max)).sock"
        let server = try await server(at: .unixSocket(path: path))
        let session = try makeSession { $0.route.unixSocket = path }
        let error = await curlewError { _ = try await session.fetch("http://localhost/", options: publicOnly()) }
        #expect(error?.code == .addressForbidden)
        #expect(error?.message == "the address policy forbids the Unix socket \(path) for localhost")
        #expect(try await session.fetch("http://localhost/") == Array("ok".utf8))
        let again = await curlewError { _ = try await session.fetch("http://localhost/", options: publicOnly()) }
        #expect(again?.code == .addressForbidden)
        var options = RequestOptions()
        options.addressPolicy = .publicOnly.allowingUnixSockets()
        #expect(try await session.fetch("http://localhost/", options: options) == Array("ok".utf8))
        #expect(server.requestCount == 2)
    }
}
