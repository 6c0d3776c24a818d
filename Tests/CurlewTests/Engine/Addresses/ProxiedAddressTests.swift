import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("An address policy with a proxy", .endsServers, .timeLimit(.minutes(2)))
struct ProxiedAddressTests {
    private func session(
        _ proxy: Proxy, _ policy: AddressPolicy = .publicOnly, _ route: ConnectionRoute = ConnectionRoute()
    ) throws -> HTTPSession {
        try makeSession {
            $0.proxy = .proxy(proxy)
            $0.addressPolicy = policy
            $0.route = route
        }
    }

    @Test(
        "a forbidden target address is refused before the proxy receives a request",
        arguments: [
            "127.0.0.1", "127.1", "2130706433", "localhost", "a.localhost.", "[::1]", "[64:ff9b::7f00:1]",
            "\u{FF11}\u{FF12}\u{FF17}.0.0.1", "127\u{3002}0\u{3002}0\u{3002}1",
        ])
    func literal(_ host: String) async throws {
        let proxy = try await MockProxy.start()
        let session = try session(Proxy(proxy.url))
        for scheme in ["http", "https"] {
            let error = await curlewError { _ = try await session.fetch("\(scheme)://\(host)/") }
            #expect(error?.code == .addressForbidden)
        }
        #expect(proxy.connectionCounts.accepted == 0)
        await proxy.shutdown()
    }

    @Test("the target of a redirect is checked behind a proxy too")
    func redirected() async throws {
        let proxy = try await MockProxy.start()
        let route = ConnectionRoute(redirections: [.init(host: "public.test", toHost: "10.0.0.1", toPort: 80)])
        let session = try session(Proxy(proxy.url), .publicOnly, route)
        #expect(await curlewError { _ = try await session.fetch("http://public.test/") }?.code == .addressForbidden)
        #expect(proxy.connectionCounts.accepted == 0)
    }

    @Test("the proxy's own address is not checked, and names are resolved by the proxy")
    func trusted() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let proxy = try await MockProxy.start()
        let session = try session(Proxy(proxy.url))
        #expect(try await session.fetch("http://named.test:\(server.port)/") == Array("ok".utf8))
    }

    @Test("a name that libcurl would resolve locally for a SOCKS proxy is refused", arguments: ["socks4", "socks5"])
    func unseen(_ scheme: String) async throws {
        let proxy = try await MockProxy.start(.init(kind: .socks5))
        let session = try session(Proxy("\(scheme)://127.0.0.1:\(proxy.port)"))
        #expect(await curlewError { _ = try await session.fetch("http://named.test/") }?.code == .unsupported)
        #expect(await curlewError { _ = try await session.fetch("http://127.0.0.1/") }?.code == .addressForbidden)
        #expect(proxy.connectionCounts.accepted == 0)
    }
}
