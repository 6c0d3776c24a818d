import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("The route and the limits of a request", .timeLimit(.minutes(1)))
struct CarriageTests {
    private func server(at address: ServerAddress = .ipv4) async throws -> MockServer {
        var configuration = MockServer.Configuration()
        configuration.address = address
        return try await MockServer.start(configuration) { request in
            MockResponse(body: .string(request.fields[HTTPField.Name("Host")!] ?? "-"))
        }
    }

    @Test("resolve sets the address of a host for one request")
    func resolve() async throws {
        let server = try await server()
        let probe = ProbeDriver()
        let url = "http://service.test:\(server.port)/"
        let answer = try await probe.fetch(url, #""resolve":["service.test:\#(server.port):127.0.0.1"]"#)
        #expect(answer.bodyText == "service.test:\(server.port)")
        #expect(answer.string("url") == url)
        #expect(try await probe.fetch(url, #""session":"other""#).code == "host-not-found")
        let six = try await self.server(at: .ipv6)
        for address in ["::1", "[::1]", "127.0.0.1,::1"] {
            let resolve = #""resolve":["six.test:\#(six.port):\#(address)"]"#
            #expect(try await probe.fetch("http://six.test:\(six.port)/", resolve)["status"] == .integer(200))
        }
        await server.shutdown()
        await six.shutdown()
    }

    @Test(
        "connect_to connects elsewhere: an empty pattern matches any host or port, an empty target keeps the request's")
    func connectTo() async throws {
        let server = try await server()
        let probe = ProbeDriver()
        let elsewhere = "http://elsewhere.test/"
        for text in ["elsewhere.test:80", ":80", "elsewhere.test:", ":"] {
            let members = #""connect_to":["\#(text):127.0.0.1:\#(server.port)"]"#
            #expect(try await probe.fetch(elsewhere, members).bodyText == "elsewhere.test")
        }
        let samePort = #""connect_to":["::127.0.0.1:"]"#
        let answer = try await probe.fetch("http://elsewhere.test:\(server.port)/", samePort)
        #expect(answer.bodyText == "elsewhere.test:\(server.port)")
        let sameHost = try await probe.fetch("http://127.0.0.1:1/", #""connect_to":[":::\#(server.port)"]"#)
        #expect(sameHost.bodyText == "127.0.0.1:1")
        let other = #""session":"s","connect_to":["other.test:80:127.0.0.1:\#(server.port)"]"#
        #expect(try await probe.fetch("http://elsewhere.invalid/", other).code == "host-not-found")
        let both = #""connect_to":["::b.test:\#(server.port)"],"resolve":["b.test:\#(server.port):127.0.0.1"]"#
        #expect(try await probe.fetch("http://a.test/", both).bodyText == "a.test")
        await server.shutdown()
    }

    @Test("a request goes over the Unix socket that the line names")
    func unixSocket() async throws {
        let path = TemporaryFile.freePath("socket")
        let server = try await server(at: .unixSocket(path: path))
        let answer = try await ProbeDriver().fetch("http://localhost/", #""unix_socket":"\#(path)""#)
        #expect(answer.bodyText == "localhost")
        await server.shutdown()
    }

    @Test("each of the three time limits has its own error code")
    func limits() async throws {
        let probe = ProbeDriver()
        let stalled = try StalledListener()
        #expect(try await probe.fetch(stalled.url(), #""connect_timeout_ms":100"#).code == "connect-timeout")
        let server = try await silentServer()
        #expect(try await probe.fetch(server.url(), #""idle_timeout_ms":99.5"#).code == "idle-timeout")
        #expect(try await probe.fetch(server.url(), #""timeout_ms":1e2"#).code == "total-timeout")
        await server.shutdown()
    }

    @Test("a time limit that expires during the body ends the body with an error")
    func bodyTimeout() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
            try await connection.closed
        }
        // The timeout is long enough for the head to arrive first on a busy machine.
        let answer = try await ProbeDriver().fetch(server.url(), #""idle_timeout_ms":1500"#)
        #expect(answer.code == "idle-timeout")
        #expect(answer.bodyText == "hello")
        #expect(answer["body_error"] != nil)
        await server.shutdown()
    }

    @Test("HTTP/2 without TLS is spoken with prior knowledge")
    func priorKnowledge() async throws {
        let server = try await server()
        let answer = try await ProbeDriver().fetch(server.url(), #""http_version":"2-prior-knowledge""#)
        #expect(answer.string("http_version") == "2")
        #expect(answer.string("reason") == "")
        #expect(try await ProbeDriver().fetch(server.url()).string("http_version") == "1.1")
        await server.shutdown()
    }
}
