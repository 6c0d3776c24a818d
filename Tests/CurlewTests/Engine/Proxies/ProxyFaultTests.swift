import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Proxies that refuse, hang or fail", .endsServers, .timeLimit(.minutes(2)))
struct ProxyFaultTests {
    private func session(_ proxy: Proxy, connect: Duration = .seconds(10)) throws -> HTTPSession {
        try makeSession {
            $0.proxy = .proxy(proxy, except: "127.0.0.1")
            $0.timeouts.connect = connect
        }
    }

    private func error(
        _ proxy: String, _ url: String = "https://origin.test/", connect: Duration = .seconds(10)
    ) async throws -> CurlewError? {
        let session = try session(Proxy(proxy), connect: connect)
        let error = await curlewError { _ = try await session.fetch(url) }
        #expect(error?.description.contains("s3cret") == false)
        try await session.expectUsable()
        return error
    }

    @Test("an unreachable proxy and an unreachable origin have different errors")
    func unreachable() async throws {
        let refused = try RefusedPort.unused()
        for url in ["http://origin.test/", "https://origin.test/"] {
            let refusal = try await error("http://u:s3cret@127.0.0.1:\(refused.port)", url)
            #expect(refusal?.code == .proxyFailed)
            #expect(
                refusal?.message
                    == "could not connect to the proxy 127.0.0.1:\(refused.port): connection refused")
            #expect(refusal?.stage == .connecting)
        }
        for scheme in ["http", "socks5h", "socks4"] {
            let unknown = try await error("\(scheme)://u:s3cret@name.invalid:1")
            #expect(unknown?.code == .proxyNotFound)
            #expect(unknown?.message.contains("name.invalid:1") == true)
        }
        let proxy = try await MockProxy.start(.init(kind: .socks5))
        let target = try await error("socks5://127.0.0.1:\(proxy.port)", "http://name.invalid/")
        #expect(target?.code == .hostNotFound)
        await proxy.shutdown()
        let socks = try await error("socks5h://127.0.0.1:\(refused.port)")
        #expect(socks?.code == .proxyFailed)
    }

    @Test("a tunnel without valid credentials has its own error; a 407 in absolute form is a response")
    func credentials() async throws {
        let proxy = try await MockProxy.start(.init(credentials: .init(user: "user", password: "right")))
        for part in ["", "user:s3cret@"] {
            let tunnel = try await error("http://\(part)127.0.0.1:\(proxy.port)")
            #expect(tunnel?.code == .proxyAuthenticationRequired)
            #expect(tunnel?.message.contains("127.0.0.1:\(proxy.port)") == true)
            let session = try session(Proxy("http://\(part)127.0.0.1:\(proxy.port)"))
            let response = try await session.get("http://origin.test/")
            #expect(response.status == .proxyAuthenticationRequired)
            #expect(response.fields[.proxyAuthenticate] == "Basic realm=\"test\"")
        }
    }

    @Test("a SOCKS proxy that rejects credentials has another error than one that cannot connect")
    func socks() async throws {
        let proxy = try await MockProxy.start(
            .init(kind: .socks5, credentials: .init(user: "user", password: "right")))
        for part in ["", "user:s3cret@"] {
            let refusal = try await error("socks5h://\(part)127.0.0.1:\(proxy.port)")
            #expect(refusal?.code == .proxyAuthenticationRequired)
        }
        await proxy.shutdown()
        let forbidding = try await MockProxy.start(.init(kind: .socks5, refusal: 2))
        let forbidden = try await error(forbidding.url)
        #expect(forbidden?.code == .proxyFailed)
        #expect(forbidden?.message.hasSuffix("not allowed by its rules") == true)
        await forbidding.shutdown()
        let rejecting = try await MockProxy.start(.init(kind: .socks4, refusal: 91))
        #expect(try await error(rejecting.url)?.code == .proxyFailed)
        await rejecting.shutdown()
        let none = try await rawAnswer("HTTP/1.1 400 Bad Request\r\n\r\n")
        #expect(try await error("socks5h://127.0.0.1:\(none.port)", connect: .seconds(2))?.code != nil)
    }

    @Test("a proxy that refuses a tunnel is an error with the proxy's status", arguments: [403, 502, 301])
    func status(_ status: Int) async throws {
        let proxy = try await MockProxy.start(.init(refusal: status))
        let refusal = try await error(proxy.url)
        #expect(refusal?.code == .proxyFailed)
        #expect(refusal?.message.hasSuffix("answered CONNECT with \(status)") == true)
    }

    @Test(
        "a proxy that hangs ends in a connect timeout that names it", arguments: ["http", "socks5h", "https"])
    func hanging(_ scheme: String) async throws {
        let proxy = try await RawServer.start { try await $0.closed }
        let timeout = try await error("\(scheme)://127.0.0.1:\(proxy.port)", connect: .milliseconds(300))
        #expect(timeout?.code == .connectTimeout)
        #expect(timeout?.message.hasPrefix("no connection through the proxy 127.0.0.1:\(proxy.port) within") == true)
        await proxy.shutdown()
        let stalled = try StalledListener()
        let unreached = try await error("\(scheme)://127.0.0.1:\(stalled.port)", connect: .milliseconds(300))
        #expect(unreached?.message.contains("the proxy 127.0.0.1:\(stalled.port)") == true)
    }

    @Test(
        "a proxy that breaks off while it opens the tunnel has its own error",
        arguments: [
            "", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nA: b\r\n", "garbage\r\n\r\n", "garbage", "\0\u{1}\u{2}\r\n\r\n",
            "HTTP/1.1 999999 X\r\n\r\n", "HTTP/1.1 200\0 OK\r\n\r\n",
        ])
    func dying(_ answer: String) async throws {
        let proxy = try await rawAnswer(answer)
        let broken = try await error("http://u:s3cret@127.0.0.1:\(proxy.port)", connect: .seconds(5))
        let codes: [ErrorCode] = answer.contains("200\0") ? [.tlsHandshakeFailed, .proxyFailed] : [.proxyFailed]
        #expect(broken.map { codes.contains($0.code) } == true, "\(broken?.description ?? "")")
        await proxy.shutdown()
    }

    @Test("a proxy that resets the connection has its own error")
    func reset() async throws {
        for kind in [MockProxy.Kind.http, .socks5, .socks4] {
            let proxy = try await MockProxy.start(.init(kind: kind))
            try proxy.inject(Fault(.atRequestStart, .reset), at: .every)
            #expect(try await error(proxy.url)?.code == .proxyFailed)
            await proxy.shutdown()
        }
    }

    @Test("an endless head of a proxy is refused", arguments: [true, false])
    func hugeHead(inOneLine: Bool) async throws {
        let proxy = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\n")
            let piece =
                inOneLine ? String(repeating: "a", count: 16_000) : "A: \(String(repeating: "a", count: 99))\r\n"
            while true { try await connection.write(piece) }
        }
        let broken = try await error("http://127.0.0.1:\(proxy.port)", connect: .milliseconds(500))
        #expect([ErrorCode.proxyFailed, .connectTimeout].contains(broken?.code))
    }

    @Test("an interim response to CONNECT is an error that names it", arguments: [100, 103])
    func interimConnect(_ status: Int) async throws {
        let proxy = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 \(status) Interim\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
            try await connection.closed
        }
        let refused = try await error("http://127.0.0.1:\(proxy.port)")
        #expect(refused?.code == .proxyFailed)
        #expect(refused?.message == "the proxy 127.0.0.1:\(proxy.port) answered CONNECT with \(status)")
    }

    @Test("a SOCKS reply of fewer than ten bytes is a connect timeout that names the proxy and the cause")
    func shortReply() async throws {
        let proxy = try await RawServer.start { connection in
            _ = try await connection.readExactly(3)
            try await connection.write([5, 0])
            _ = try await connection.readExactly(4)
            try await connection.write([5, 0, 0, 3, 1, 0x61, 0, 80])
            try await connection.closed
        }
        // Within this time a busy machine, too, lets the proxy reply.
        let late = try await error("socks5h://127.0.0.1:\(proxy.port)", connect: .seconds(3))
        #expect(late?.code == .connectTimeout)
        #expect(
            late?.message
                == "the proxy 127.0.0.1:\(proxy.port) answered, but no connection was ready within 3 s: it is slow, "
                + "or its SOCKS reply has fewer than the ten bytes that libcurl reads")
    }

    /// libcurl reads such an answer before it watches the connection.
    @Test("a SOCKS proxy that answers before it is asked is named as a proxy that answered")
    func earlyReply() async throws {
        let proxy = try await RawServer.start { connection in
            try await connection.write([5, 0, 5, 0, 0, 3, 1, 0x61, 0, 80])
            try await connection.closed
        }
        for _ in 1...20 {
            let late = try await error("socks5h://127.0.0.1:\(proxy.port)", connect: .milliseconds(100))
            #expect(late?.message.hasPrefix("the proxy 127.0.0.1:\(proxy.port) answered") == true)
        }
    }

    @Test("a proxy that answers 407 forever ends in an error", arguments: ["", ", stale=true"])
    func endlessChallenges(_ stale: String) async throws {
        let proxy = try await RawServer.start { connection in
            for round in 0... {
                _ = try await connection.readHead()
                try await connection.write(
                    "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n"
                        + "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\(round)\", qop=\"auth\"\(stale)\r\n\r\n")
            }
        }
        let digest = try Proxy("http://127.0.0.1:\(proxy.port)").authenticated(
            user: "user", password: "s3cret", by: .digest)
        let session = try session(digest, connect: .milliseconds(500))
        let tunnel = await curlewError { _ = try await session.fetch("https://origin.test/") }
        #expect([ErrorCode.proxyAuthenticationRequired, .connectTimeout].contains(tunnel?.code))
        // In absolute form a challenge that libcurl does not answer any more is the response.
        do {
            #expect(try await session.get("http://origin.test/").status == .proxyAuthenticationRequired)
        } catch let error as CurlewError {
            #expect(error.code == .proxyFailed)
        }
    }

    @Test("a failure behind a tunnel has the error of the origin")
    func origin() async throws {
        let certificate = try HeldCertificate.localhost()
        let server = try await MockServer.start(.init(tls: ServerTLS([certificate]))) { _ in MockResponse() }
        let proxy = try await MockProxy.start()
        let untrusted = try await error(proxy.url, "https://localhost:\(server.port)/")
        #expect(untrusted?.code == .selfSignedCertificate)
        await server.shutdown()
        let plain = try await MockServer.start { _ in MockResponse() }
        #expect(try await error(proxy.url, "https://localhost:\(plain.port)/")?.code == .plainTextOnTLSPort)
        try plain.inject(Fault(.atResponseStart, .reset), at: .every)
        let socks = try await MockProxy.start(.init(kind: .socks5))
        #expect(try await error(socks.url, "http://localhost:\(plain.port)/")?.code == .connectionLost)
    }
}
