import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import Testing

@Suite("Requests as curl commands", .endsServers, .timeLimit(.minutes(1)))
struct CurlCommandTests {
    private static var hasCurl: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/curl") }

    /// Runs a command in a shell, with this input.
    private func run(_ command: String, input: [UInt8] = []) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "\(command) >/dev/null 2>&1"]
        let pipe = Pipe()
        process.standardInput = pipe
        try process.run()
        try pipe.fileHandleForWriting.write(contentsOf: Data(input))
        try pipe.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(command)")
    }

    @Test("the command contains method, fields, options and target")
    func text() throws {
        var options = RequestOptions()
        options.versionPolicy = .negotiated
        options.totalTimeout = .milliseconds(1500)
        options.connectTimeout = .seconds(3)
        options.route = ConnectionRoute(
            hosts: [.init(host: "a.test", port: 443, addresses: ["192.0.2.1", "::1"])],
            redirections: [
                .init(host: "a.test", port: 443, toHost: "b.test", toPort: 8443), .init(toHost: "c", toPort: 1),
            ],
            unixSocket: "/run/it's.sock", localInterface: "eth0", addressFamily: .ipv6)
        let request = try CurlewRequest(
            .put, "https://a.test/x?y=[1]#z", fields: [.accept: "a/b", .userAgent: ""], body: .string("it's"),
            options: options)
        #expect(
            request.curlCommand() == """
                curl --request PUT --http2 --connect-timeout 3 --max-time 1.5 --resolve a.test:443:192.0.2.1,::1 \
                --connect-to a.test:443:b.test:8443 --connect-to ::c:1 --unix-socket '/run/it'\\''s.sock' \
                --interface eth0 --ipv6 --header 'Accept: a/b' --header 'User-Agent;' --header Content-Type: \
                --data-raw 'it'\\''s' --globoff 'https://a.test/x?***'
                """)
        let get = try CurlewRequest(.get, "http://a.test/", options: options).curlCommand()
        #expect(get.contains("--http1.1"))
        #expect(
            try CurlewRequest(.head, "http://a.test/").curlCommand()
                == "curl --head --header User-Agent: http://a.test/")
    }

    @Test("secrets are masked by default")
    func secrets() throws {
        let names = ["Authorization", "proxy-authorization", "Cookie", "X-API-Key"]
        var fields = HTTPFields()
        for name in names { fields[try #require(HTTPField.Name(name))] = "hidden hidden2" }
        fields.append(HTTPField(name: .authorization, value: "Bearer hidden3"))
        let request = try CurlewRequest(.get, "https://me:hidden4@a.test/", fields: fields)
        #expect(!request.curlCommand().contains("hidden"))
        #expect(request.curlCommand().contains("'Authorization: Bearer ***'"))
        let open = request.curlCommand(maskingSecrets: false)
        #expect(open.contains("hidden2") && open.contains("hidden3"))
        var presigned = try CurlewRequest(.get, "https://a.test/x?signature=hidden5#z")
        #expect(presigned.curlCommand().hasSuffix("'https://a.test/x?***'"))
        #expect(presigned.curlCommand(maskingSecrets: false).hasSuffix("'https://a.test/x?signature=hidden5'"))
        presigned.options.showsQueries = true
        #expect(presigned.curlCommand().hasSuffix("'https://a.test/x?signature=hidden5'"))
        let plain = try CurlewRequest(.get, "https://me:hidden4@a.test/")
        #expect(plain.curlCommand().contains("--user '***'"))
        #expect(plain.curlCommand(maskingSecrets: false).contains("--user me:hidden4"))
        let combining = try CurlewRequest(.get, "https://me:%CC%81pw@a.test/")
        // The colons of "User-Agent:", of the password and of "https:".
        let command = combining.curlCommand(maskingSecrets: false)
        #expect(command.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 3)
    }

    @Test("a command contains no terminal control characters")
    func terminal() throws {
        for text in ["\u{1B}[2J", "\u{7}", "a\u{202E}b", "\u{85}", "\u{200B}"] {
            let command = try CurlewRequest(.post, "http://a.test/", body: .string(text)).curlCommand()
            #expect(!command.contains(text))
            #expect(command.contains("base64 --decode | curl"))
        }
    }

    @Test("curl sends an equal request", .enabled(if: hasCurl))
    func sameRequest() async throws {
        let server = try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse()
        }
        let url = server.url("/a%20b?c=$(id)&d='e'&f=\u{60}g\u{60}")
        let file = try TemporaryFile(bytes: 1000)
        let nasty = "-d @/etc/passwd \"$HOME\" `id` $(id) 'q' \\ !! %s\n\ttail"
        let bodies: [CurlewRequest.Body] = [
            .none, .bytes([]), .string(nasty), .string("@file"), .bytes(Array(0...255)), .file(file.path),
            .file(file.path, offset: 100), .file(file.path, offset: 100, length: 50),
        ]
        for method: HTTPRequest.Method in [.post, .put, .delete, .get] {
            for body in bodies {
                var fields: HTTPFields = [.accept: "*/*", .ifMatch: "\"$x\" 'y' \\", .userAgent: "t"]
                fields[try #require(HTTPField.Name("X-Empty"))] = ""
                let request = try CurlewRequest(method, url, fields: fields, body: body)
                _ = try await makeSession().send(request).body.collect(upTo: 1000)
                let own = try #require(await server.takeRequest())
                try run(request.curlCommand(maskingSecrets: false))
                let other = try #require(await server.takeRequest())
                #expect(own.method == other.method)
                #expect(own.target == other.target)
                #expect(own.body == other.body)
                #expect(Set(own.fields) == Set(other.fields))
            }
        }
    }

    @Test("a stream, or a body that is too large, is piped into the command", .enabled(if: hasCurl))
    func piped() async throws {
        let server = try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse()
        }
        let bytes = Array(repeating: UInt8(ascii: "x"), count: 100_000)
        let stream = CurlewRequest.Body.stream { AsyncStream<[UInt8]> { $0.finish() } }
        for body in [.bytes(bytes), stream] {
            try run(CurlewRequest(.post, server.url(), body: body).curlCommand(), input: bytes)
            #expect(await server.takeRequest()?.body == bytes)
        }
    }
}
