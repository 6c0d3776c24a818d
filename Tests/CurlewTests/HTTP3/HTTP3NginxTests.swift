import CurlewTesting
import CurlewTestingTraits
import Foundation
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

/// Exchanges with nginx, whose QUIC and HTTP/3 are its own. `make test-http3` runs them with Debian 13's nginx.
@Suite(
    "HTTP/3 with nginx", .serialized, .enabled(if: NginxServer.isAvailable), .noLeaks, .timeLimit(.minutes(2)))
struct HTTP3NginxTests {
    @Test("responses, large bodies in both directions and HEAD work on one connection")
    func bodies() async throws {
        let server = try NginxServer()
        let session = try server.session()
        let content = (0..<3_000_000).map { UInt8($0 % 251) }
        for _ in 0..<2 {
            var request = try CurlewRequest(.put, server.url("/files/large"))
            request.body = .bytes(content)
            let stored = try await session.send(request)
            #expect([.created, .noContent].contains(stored.status) && stored.version == .http3)
            _ = try await stored.body.collect(upTo: 1000)
            #expect(try await session.fetch(server.url("/files/large")) == content)
        }
        let head = try await session.send(CurlewRequest(.head, server.url("/files/large")))
        #expect(head.fields[.contentLength] == "3000000")
        #expect(try await head.body.collect(upTo: 10).isEmpty)
        #expect(try await session.fetch(server.url("/connection")) == Array("6".utf8))
    }

    @Test("64 streams at once share a connection, and each gets its own response")
    func streams() async throws {
        let server = try NginxServer()
        let session = try server.session()
        for _ in 0..<3 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<64 {
                    let url = server.url("/name/\(index)")
                    group.addTask {
                        let bytes = try await session.fetch(url)
                        #expect(bytes == Array("/name/\(index)".utf8))
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(try await session.fetch(server.url("/connection")) == Array("193".utf8))
    }

    @Test("a connection that has carried its last request is replaced, and no request is lost")
    func lastRequests() async throws {
        let server = try NginxServer(keepAliveRequests: 5)
        let session = try server.session()
        for index in 0..<23 {
            var request = try CurlewRequest(.post, server.url("/name/\(index)"))
            request.body = .string("x")
            let bytes = try await session.send(request).body.collect(upTo: 100)
            #expect(bytes == Array("/name/\(index)".utf8))
        }
    }

    @Test("a client certificate is sent, and resumed connections carry no early data")
    func clientCertificate() async throws {
        let server = try NginxServer()
        let held = try HeldCertificate(.init(commonName: "client"), issuer: TestChain.root.get())
        let stranger = try HeldCertificate(.init(commonName: "client"), issuer: TestChain.otherRoot.get())
        for (certificate, expected) in [(held, "SUCCESS"), (stranger, "400"), (nil, "NONE")] {
            let session = try server.session {
                $0.connections.maximumUses = 1
                $0.security.identity = try certificate.map {
                    try ClientIdentity(pem: $0.certificatePEM, key: $0.privateKeyPEM)
                }
            }
            for _ in 0..<3 {
                let response = try await session.get(.raw(server.url("/certificate")))
                let text = String(decoding: try await response.body.collect(upTo: 10_000), as: UTF8.self)
                #expect(response.status == .ok ? text == "\(expected) " : expected == "\(response.status.code)")
            }
        }
    }
}

/// The process of an nginx with HTTP/3. It ends with the object.
private final class NginxServer {
    /// The folder of nginx and its libraries; nil without one. `make test-http3` sets the variable.
    private static let folder = ProcessInfo.processInfo.environment["CURLEW_NGINX"]
    static let isAvailable = folder != nil && Engine.hasHTTP3

    private let port: Int
    private let certificate: HeldCertificate
    private let folder: ScratchFolder
    private let process: pid_t

    /// - Parameter keepAliveRequests: The most requests of a connection.
    init(keepAliveRequests: Int = 1000) throws {
        certificate = try HeldCertificate.localhost()
        folder = try ScratchFolder()
        // nginx takes over a bound socket, which holds the first packets until it reads them.
        let descriptor = DialAttempt.makeDatagramSocket(AF_INET)
        defer { close(descriptor) }
        let any = SocketAddress.ip(HostAddress(IPAddress(ipv4: 0x7F00_0001)), port: 0)
        try #require(any.withSystemForm { bind(descriptor, $0, $1) } == 0)
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutableBytes(of: &address) { bytes in
            _ = getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        _ = try folder.write("server.pem", Array(certificate.certificatePEM.utf8))
        _ = try folder.write("key.pem", Array(certificate.privateKeyPEM.utf8))
        _ = try folder.write("clients.pem", Array(TestChain.root.get().certificatePEM.utf8))
        try FileManager.default.createDirectory(atPath: folder.file("files"), withIntermediateDirectories: true)
        let path = try folder.write(
            "nginx.conf", Array(Self.configuration(folder.file(""), port, keepAliveRequests).utf8))
        process = try Self.start(path, descriptor)
    }

    deinit {
        // A thread of Swift's pool, from which the process was started, blocks other signals.
        kill(process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    private static func configuration(_ folder: String, _ port: Int, _ keepAliveRequests: Int) -> String {
        """
        daemon off; master_process off; pid \(folder)/pid; error_log stderr crit;
        events { worker_connections 512; }
        http {
            access_log off;
            client_body_temp_path \(folder)/b; proxy_temp_path \(folder)/p; fastcgi_temp_path \(folder)/f;
            uwsgi_temp_path \(folder)/u; scgi_temp_path \(folder)/s;
            client_max_body_size 64m; keepalive_requests \(keepAliveRequests);
            server {
                listen 127.0.0.1:\(port) quic;
                ssl_certificate \(folder)/server.pem; ssl_certificate_key \(folder)/key.pem;
                ssl_client_certificate \(folder)/clients.pem; ssl_verify_client optional;
                ssl_protocols TLSv1.3; ssl_early_data off;
                default_type text/plain;
                location /files/ { root \(folder); dav_methods PUT; }
                location /name/ { return 200 "$request_uri"; }
                location /connection { return 200 "$connection_requests"; }
                location /certificate { return 200 "$ssl_client_verify $ssl_early_data"; }
            }
        }

        """
    }

    private static func start(_ path: String, _ socket: Int32) throws -> pid_t {
        let folder = try #require(Self.folder)
        let repository = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL.path()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, socket, 3)
        let program = "\(repository)/.ci/userland"
        let words = [program, "trixie-nginx", "\(folder)/root/usr/sbin/nginx", "-e", "stderr", "-c", path]
        let arguments = NetworkNamespace.cStrings(words)
        // The variable lists the descriptors that nginx takes over.
        let environment = NetworkNamespace.cStrings(
            ProcessInfo.processInfo.environment.map { "\($0)=\($1)" } + ["NGINX=3;"])
        defer { (arguments + environment).forEach { free($0) } }
        var identifier: pid_t = 0
        let status = posix_spawn(&identifier, program, &actions, nil, arguments, environment)
        try #require(status == 0, "nginx cannot be started: errno \(status)")
        return identifier
    }

    func url(_ path: String) -> String { "https://127.0.0.1:\(port)\(path)" }

    /// A session that trusts the server.
    func session(_ adjust: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.security = .anchors(pem: certificate.certificatePEM)
        configuration.versionPolicy = .http3Only
        try adjust(&configuration)
        return try makeSession { $0 = configuration }
    }
}
