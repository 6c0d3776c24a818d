import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("MockProxy", .noLeaks, .timeLimit(.minutes(1)))
struct ProxyTests {
    private let get = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    @Test("CONNECT opens a tunnel")
    func connect() async throws {
        let (server, proxy) = try await self.pair()
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send("CONNECT some.name:\(server.port) HTTP/1.1\r\nHost: some.name\r\n\r\n")
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        try await client.send(self.get)
        #expect(String(decoding: try await client.receiveAll(), as: UTF8.self).hasSuffix("hello"))
        let asked = try #require(await proxy.takeRequest())
        #expect(asked.target == "some.name:\(server.port)")
    }

    @Test("a request in absolute form is forwarded in origin form")
    func absoluteForm() async throws {
        let (server, proxy) = try await self.pair()
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send("GET http://localhost:\(server.port)/p?q HTTP/1.1\r\nHost: x\r\nProxy-X: 1\r\n\r\n")
        #expect(String(decoding: try await client.receiveAll(), as: UTF8.self).hasSuffix("hello"))
        let request = try #require(await server.takeRequest())
        #expect(request.target == "/p?q")
        #expect(request.fields.contains(HTTPField.Name("Proxy-X")!) == false)
    }

    @Test("Basic credentials are requested with 407")
    func basic() async throws {
        let (server, proxy) = try await self.pair(.init(credentials: .init(user: "Aladdin", password: "open sesame")))
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send("CONNECT localhost:\(server.port) HTTP/1.1\r\n\r\n")
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 407"))
        let authorization = "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        try await client.send("CONNECT localhost:\(server.port) HTTP/1.1\r\n\(authorization)\r\n\r\n")
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        #expect(await proxy.takeRequest()?.isAccepted == false)
        #expect(await proxy.takeRequest()?.credentials?.password == "open sesame")
    }

    @Test("SOCKS5 connects by name, with user and password")
    func socks() async throws {
        let (server, proxy) = try await self.pair(.init(kind: .socks5, credentials: .init(user: "u", password: "pw")))
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send([5, 2, 0, 2])
        #expect(try await client.receive(count: 2) == [5, 2])
        try await client.send([1, 1] + Array("u".utf8) + [2] + Array("pw".utf8))
        #expect(try await client.receive(count: 2) == [1, 0])
        let port = [UInt8(server.port >> 8), UInt8(server.port & 0xff)]
        try await client.send([5, 1, 0, 3, 4] + Array("name".utf8) + port)
        #expect(try await client.receive(count: 10)[1] == 0)
        try await client.send(self.get)
        #expect(String(decoding: try await client.receiveAll(), as: UTF8.self).hasSuffix("hello"))
        #expect(await proxy.takeRequest()?.target == "name:\(server.port)")
    }

    @Test("a fault can apply to a tunnel before it is open")
    func fault() async throws {
        let (server, proxy) = try await self.pair()
        try proxy.inject(Fault(.atResponseStart, .close))
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send("CONNECT localhost:\(server.port) HTTP/1.1\r\n\r\n")
        #expect(try await client.receiveAll() == [])
    }

    @Test("a proxy can be reached over TLS")
    func tls() async throws {
        let (server, proxy) = try await self.pair(.init(tls: ServerTLS([try .selfSigned()])))
        #expect(proxy.url == "https://127.0.0.1:\(proxy.port)")
        let client = try await WireClient.connect(port: proxy.port, tls: NIOSSLClient.untrusting)
        try await client.send("CONNECT localhost:\(server.port) HTTP/1.1\r\n\r\n")
        #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        try await client.send(self.get)
        #expect(try await client.receive(through: "hello").hasSuffix("hello"))
        #expect(await proxy.takeRequest()?.isAccepted == true)
        // The proxy closes the tunnel, so the TLS connection in it ends without close_notify.
        await #expect(throws: (any Error).self) { _ = try await client.receiveAll() }
    }

    @Test("a proxy refuses with its protocol's error, and no request reaches the server")
    func refusal() async throws {
        let (server, proxy) = try await self.pair(.init(refusal: 403))
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send("CONNECT localhost:\(server.port) HTTP/1.1\r\n\r\n")
        #expect(String(decoding: try await client.receiveAll(), as: UTF8.self).hasPrefix("HTTP/1.1 403 "))
        #expect(await proxy.takeRequest()?.isAccepted == false)
        await proxy.shutdown()

        let socks = try await MockProxy.start(.init(kind: .socks5, refusal: 2))
        #expect(try await self.socksReply(through: socks, to: server.port).1 == 2)
        #expect(await socks.takeRequest()?.isAccepted == false)
        #expect(server.connectionCounts.accepted == 0)
    }

    @Test("wrong credentials and an unreachable server are refused with the error of the proxy's protocol")
    func failures() async throws {
        let (server, proxy) = try await self.pair(.init(kind: .socks5, credentials: .init(user: "u", password: "pw")))
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send([5, 1, 2])
        #expect(try await client.receive(count: 2) == [5, 2])
        try await client.send([1, 1, 117, 1, 120])
        #expect(try await client.receive(count: 2) == [1, 1])
        #expect(try await client.receiveAll() == [])
        let asked = await proxy.takeRequest()
        #expect(asked?.isAccepted == false && asked?.credentials == .init(user: "u", password: "x"))
        let plain = try await WireClient.connect(port: proxy.port)
        try await plain.send([5, 1, 0])
        #expect(try await plain.receiveAll() == [5, 0xff])
        await proxy.shutdown()
        await server.shutdown()

        let refused = try RefusedPort.unused()
        let open = try await MockProxy.start()
        let connecting = try await WireClient.connect(port: open.port)
        try await connecting.send("CONNECT localhost:\(refused.port) HTTP/1.1\r\n\r\n")
        #expect(try await connecting.receive(through: "\r\n").hasPrefix("HTTP/1.1 502"))
        await open.shutdown()
        let socks = try await MockProxy.start(.init(kind: .socks5))
        #expect(try await self.socksReply(through: socks, to: refused.port).1 == 5)
    }

    /// A client that has been greeted and has requested a tunnel, and the code of the reply.
    private func socksReply(through proxy: MockProxy, to port: Int) async throws -> (WireClient, UInt8) {
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send([5, 1, 0])
        _ = try await client.receive(count: 2)
        try await client.send([5, 1, 0, 1, 127, 0, 0, 1, UInt8(port >> 8), UInt8(port & 0xff)])
        return (client, try await client.receive(count: 10)[1])
    }

    private func pair(_ configuration: MockProxy.Configuration = .init()) async throws -> (MockServer, MockProxy) {
        (try await MockServer.start { _ in MockResponse(body: "hello") }, try await MockProxy.start(configuration))
    }
}
