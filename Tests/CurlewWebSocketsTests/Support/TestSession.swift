import Curlew
import CurlewTesting
import Testing

/// A session on a separate loop. Its limits are short enough for tests of failure and long enough for slow machines.
func makeSession(
    baseURL: String? = nil, chain: StandardChain.Options? = .bare,
    _ adjust: (inout SessionConfiguration) -> Void = { _ in }
) throws -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(20), total: .seconds(50))
    configuration.userAgent = nil
    adjust(&configuration)
    return try HTTPSession(
        baseURL: baseURL, configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: chain
    )
}

/// A route to a server.
struct Way: Sendable, CustomTestStringConvertible {
    let name: String
    var isSecure = false
    var proxy: MockProxy.Kind?
    var isProxySecure = false
    var usesUnixSocket = false

    var testDescription: String { name }

    static let plain = Way(name: "plain")
    static let tls = Way(name: "TLS", isSecure: true)
    static let all = [
        plain, tls, Way(name: "Unix socket", usesUnixSocket: true),
        Way(name: "CONNECT", proxy: .http), Way(name: "CONNECT and TLS", isSecure: true, proxy: .http),
        Way(name: "SOCKS 5", proxy: .socks5), Way(name: "SOCKS 4", proxy: .socks4),
        Way(name: "SOCKS 5 and TLS", isSecure: true, proxy: .socks5),
        Way(name: "proxy of https", proxy: .http, isProxySecure: true),
        Way(name: "proxy of https and TLS", isSecure: true, proxy: .http, isProxySecure: true),
    ]
}

/// A raw server, and a session that reaches it over a route.
struct WayStage {
    let server: RawServer
    let session: HTTPSession
    let proxy: MockProxy?

    init(
        _ way: Way, chain: StandardChain.Options? = .bare, _ adjust: (inout SessionConfiguration) -> Void = { _ in },
        handler: @escaping RawServer.Handler
    ) async throws {
        let certificate = try HeldCertificate.localhost()
        let path = "/tmp/curlew-upgrade-\(UInt32.random(in: 0 ... .max)).sock"
        server = try await RawServer.start(
            at: way.usesUnixSocket ? .unixSocket(path: path) : .ipv4,
            tls: way.isSecure ? ServerTLS([certificate], applicationProtocols: ["h2", "http/1.1"]) : nil,
            handler: handler)
        var made: MockProxy?
        if let kind = way.proxy {
            made = try await MockProxy.start(
                .init(
                    kind: kind, credentials: .init(user: "u", password: "p"),
                    tls: way.isProxySecure ? ServerTLS([certificate]) : nil))
        }
        proxy = made
        let url = made?.url
        session = try makeSession(
            baseURL: way.usesUnixSocket ? "http://docker.test/" : server.url("/"), chain: chain
        ) {
            $0.security = .anchors(pem: certificate.certificatePEM)
            if way.usesUnixSocket { $0.route.unixSocket = path }
            if let url, var proxy = try? Proxy(url) {
                if way.isProxySecure { proxy.anchorsPEM = certificate.certificatePEM }
                if let known = try? proxy.authenticated(user: "u", password: "p") { $0.proxy = .proxy(known) }
            }
            adjust(&$0)
        }
    }
}
