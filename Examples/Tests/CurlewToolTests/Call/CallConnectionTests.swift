import CurlewTesting
import Foundation
import HTTPTypes
import Testing

@Suite("The connection of a call", .timeLimit(.minutes(1)))
struct CallConnectionTests {
    @Test("a certificate is trusted by --cacert, refused without it, and accepted with --insecure")
    func trust() async throws {
        let root = try HeldCertificate.root()
        var configuration = MockServer.Configuration()
        configuration.tls = ServerTLS([try HeldCertificate.localhost(issuedBy: root)])
        let server = try await MockServer.start(configuration) { _ in MockResponse(body: "hello") }
        let folder = try TemporaryFolder()
        try Data(root.certificatePEM.utf8).write(to: URL(fileURLWithPath: folder.path("root.pem")))
        #expect(try await ToolProcess.run(server.url()).status == 60)
        #expect((try await ToolProcess.run("--cacert", folder.path("root.pem"), server.url())).is(0, "hello", ""))
        #expect((try await ToolProcess.run("-k", server.url())).is(0, "hello", ""))
        #expect(try await ToolProcess.run("--cacert", folder.path("none.pem"), server.url()).status == 58)
        let timing = try await ToolProcess.run("--timing", "-k", server.url())
        #expect(timing.complaints.contains("HTTP/2") && timing.complaints.contains("TLS"))
        await server.shutdown()
    }

    @Test("a client certificate is sent with --cert and --key, its passphrase after a colon")
    func clientCertificate() async throws {
        let root = try HeldCertificate.root()
        let client = try HeldCertificate(HeldCertificate.Options(commonName: "ada"), issuer: root)
        var tls = ServerTLS([try HeldCertificate.localhost(issuedBy: root)])
        tls.clientCertificates = .required(trusting: [root])
        var configuration = MockServer.Configuration()
        configuration.tls = tls
        let server = try await MockServer.start(configuration) { _ in MockResponse(body: "hello") }
        let folder = try TemporaryFolder()
        for (name, pem) in [("cert", client.certificatePEM), ("key", client.privateKeyPEM)] {
            try Data(pem.utf8).write(to: URL(fileURLWithPath: folder.path(name)))
        }
        let words = ["-k", "--cert", folder.path("cert"), "--key", folder.path("key"), server.url()]
        #expect((await (try ToolProcess(words)).end()).is(0, "hello", ""))
        #expect(try await ToolProcess.run("-k", server.url()).status == 56)
        #expect(try await ToolProcess.run("-k", "--cert", folder.path("none"), server.url()).status == 58)
        let command = try await ToolProcess.run("--curl", "--cert", "\(folder.path("none")):hunter2", server.url())
        #expect(command.output.contains("none:***") && !command.output.contains("hunter2"))
        await server.shutdown()
    }

    @Test("a Unix socket and HTTP/2 without TLS are reached, and a head goes into a file")
    func routes() async throws {
        let folder = try TemporaryFolder()
        var configuration = MockServer.Configuration()
        configuration.address = .unixSocket(path: folder.path("socket"))
        let server = try await MockServer.start(configuration) { request in
            MockResponse(body: .string("\(request.version) \(request.fields[.init("Host")!] ?? "none")"))
        }
        let words = ["--unix-socket", folder.path("socket"), "http://bird.test/"]
        #expect(try await ToolProcess.run(words[0], words[1], words[2]).output.hasPrefix("HTTP/1.1"))
        let second = try await ToolProcess.run(
            "--http2-prior-knowledge", "-D", folder.path("head"), words[0], words[1], words[2])
        #expect(second.output.hasPrefix("HTTP/2"), "\(second)")
        #expect(folder.text("head").hasPrefix("HTTP/2 200"), "\(folder.text("head"))")
        await server.shutdown()
    }

    @Test("credentials do not follow a redirect to another origin")
    func redirectedCredentials() async throws {
        let other = try await MockServer.start { request in
            MockResponse(body: .string(request.fields[.authorization] ?? "none"))
        }
        let target = other.url()
        let server = try await MockServer.start { _ in MockResponse(status: .found, fields: [.location: target]) }
        #expect((try await ToolProcess.run("-L", "-u", "me:secret", server.url())).is(0, "none", ""))
        #expect((try await ToolProcess.run("-L", "-H", "Authorization: Bearer secret", server.url())).is(0, "none", ""))
        await server.shutdown()
        await other.shutdown()
    }

    @Test("a failure with --retry is tried again, and a POST only without an answer")
    func retries() async throws {
        let server = try await MockServer.start { request in
            request.exchangeIndex == 0 && request.connectionIndex == 0
                ? MockResponse(status: .serviceUnavailable) : MockResponse(body: "hello")
        }
        #expect((try await ToolProcess.run("-f", "--retry", "2", server.url())).is(0, "hello", ""))
        #expect(server.requestCount == 2)
        await server.shutdown()
        let unsteady = try await MockServer.start { _ in MockResponse(status: .serviceUnavailable) }
        #expect(try await ToolProcess.run("-f", "--retry", "2", "-d", "a=b", unsteady.url()).status == 22)
        #expect(unsteady.requestCount == 1)
        #expect(try await ToolProcess.run("-f", "--timing", unsteady.url()).status == 22)
        await unsteady.shutdown()
    }

    @Test("the status 500 is tried again with --retry, as by curl")
    func internalServerError() async throws {
        let server = try await MockServer.start { request in
            request.exchangeIndex == 0 && request.connectionIndex == 0
                ? MockResponse(status: .internalServerError) : MockResponse(body: "hello")
        }
        #expect((try await ToolProcess.run("--retry", "1", server.url())).is(0, "hello", ""))
        await server.shutdown()
    }

    @Test("a proxy that refuses connections is the failure of a connection, and --noproxy replaces no_proxy")
    func refusedProxy() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        let proxy = "http://127.0.0.1:\(try RefusedPort.unused().port)"
        #expect(try await ToolProcess.run("-x", proxy, server.url()).status == 7)
        let variables = ["http_proxy": proxy, "no_proxy": "other.test"]
        #expect(try await ToolProcess.run(server.url(), variables: variables).status == 7)
        #expect(
            (try await ToolProcess.run("--noproxy", "127.0.0.1", server.url(), variables: variables)).is(0, "hello", "")
        )
        await server.shutdown()
    }

    @Test("a proxy is taken from --proxy and from the environment")
    func proxy() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        let proxy = try await MockProxy.start()
        #expect((try await ToolProcess.run("-x", proxy.url, server.url())).is(0, "hello", ""))
        #expect((try await ToolProcess.run(server.url(), variables: ["http_proxy": proxy.url])).is(0, "hello", ""))
        #expect(
            try await ToolProcess.run("--noproxy", "*", server.url(), variables: ["http_proxy": proxy.url]).status == 0)
        #expect(await proxy.takeRequest()?.isAccepted == true)
        #expect(await proxy.takeRequest()?.isAccepted == true)
        #expect(proxy.connectionCounts.accepted == 2)
        await proxy.shutdown()
        await server.shutdown()
    }
}
