import CurlewTesting
import Foundation
import Glibc
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

/// The process of `http3_server.py`, an HTTP/3 server with aioquic. It ends with the object.
///
/// Foundation's `Process` keeps descriptors of its thread's run loop, which a check for leaks would find.
final class HTTP3Server {
    /// The Python with aioquic; nil without one. `make test-http3` installs it and sets the variable.
    static let python = ProcessInfo.processInfo.environment["CURLEW_HTTP3_PYTHON"]
    /// True if there is a server, and libcurl has a usable HTTP/3.
    static let isAvailable = python != nil && Engine.hasHTTP3

    /// The options of the server; `http3_server.py` documents them.
    struct Options: Encodable {
        enum ClientCertificate: String, Encodable { case asked, required }

        var retry = false
        var versions: [UInt32]?
        var idle: Double?
        var maxData: Int?
        var maxStreamData: Int?
        var fixedWindow: Bool?
        var `protocol`: String?
        var beginning: String?
        var certificate: ClientCertificate?
        var relay: Relay?
    }

    /// The faults of a UDP relay before the server; `http3_relay.py` documents them.
    struct Relay: Encodable, CustomTestStringConvertible {
        enum Foreign: String, Encodable { case copies, only }

        var seed = 20_261_126
        var drop: Double?
        var duplicate: Double?
        var reorder: Double?
        var corrupt: Double?
        var silences: Int?
        var foreign: Foreign?
        var rebind: Int?

        var testDescription: String {
            (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }

    /// The numbers of events on all connections of a server.
    struct Counts: Decodable {
        let connections: Int
        let requests: Int
        let resets: Int
        let resumed: Int
        let early: Int
        /// The numbers of the connections that the client has closed.
        let closed: [Int]
        /// The numbers of the connections that ended by their idle timeout.
        let expired: [Int]
        /// The number of requests for `/wait`.
        let waiting: Int
    }

    /// The port of the relay, if there is one.
    let port: Int
    let certificate: HeldCertificate
    private var process: pid_t?
    /// The standard input of the process.
    private let input: FileHandle
    private let file: URL

    /// - Parameter port: The port; 0 is any.
    init(_ certificate: HeldCertificate? = nil, port: Int = 0, options: Options = Options()) throws {
        self.certificate = try certificate ?? HeldCertificate.localhost()
        file = URL(filePath: "/tmp/curlew-http3-\(UInt32.random(in: 0 ... .max)).pem")
        try Data((self.certificate.privateKeyPEM + self.certificate.certificatePEM).utf8).write(to: file)
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "http3_server.py").path()
        let text = String(decoding: try JSONEncoder().encode(options), as: UTF8.self)
        let (input, output) = (Pipe(), Pipe())
        self.input = input.fileHandleForWriting
        // Python must not write its cache of modules into the folder of the sources.
        let words = [try #require(Self.python), "-B", script, file.path(), "\(port)", text]
        process = try Self.start(words, input, output)
        try output.fileHandleForWriting.close()
        var line = Data()
        while line.last != 0x0A {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
            line += more
        }
        self.port = try JSONDecoder().decode([String: Int].self, from: line)["port"] ?? 0
    }

    deinit { stop() }

    private static func start(_ words: [String], _ input: Pipe, _ output: Pipe) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.fileHandleForReading.fileDescriptor, 0)
        posix_spawn_file_actions_adddup2(&actions, output.fileHandleForWriting.fileDescriptor, 1)
        // The child must not hold the parent's ends open.
        posix_spawn_file_actions_addclose(&actions, input.fileHandleForWriting.fileDescriptor)
        posix_spawn_file_actions_addclose(&actions, output.fileHandleForReading.fileDescriptor)
        let arguments = NetworkNamespace.cStrings(words)
        defer { arguments.forEach { free($0) } }
        var identifier: pid_t = 0
        let status = posix_spawn(&identifier, words[0], &actions, nil, arguments, environ)
        try #require(status == 0, "the server cannot be started: errno \(status)")
        return identifier
    }

    /// Ends the server, without a frame to its clients.
    func kill() {
        // A thread of Swift's pool, from which the process was started, blocks other signals.
        if let process { Glibc.kill(process, SIGKILL) }
        stop()
    }

    private func stop() {
        try? input.close()
        if let process {
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
        }
        process = nil
        try? FileManager.default.removeItem(at: file)
    }

    func url(_ path: String = "/") -> String { "https://127.0.0.1:\(port)\(path)" }

    /// A session that trusts the server.
    func session(
        _ policy: HTTPVersionPolicy = .http3Only, _ adjust: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> HTTPSession {
        try makeSession {
            $0.security = .anchors(pem: certificate.certificatePEM)
            $0.versionPolicy = policy
            adjust(&$0)
        }
    }

    func counts(_ session: HTTPSession) async throws -> Counts {
        try JSONDecoder().decode(Counts.self, from: Data(try await session.fetch(url("/counts"))))
    }
}

/// True if an operation takes less than a limit in one of five runs: a busy machine delays some runs, and a timeout
/// delays all of them.
func isQuicker(than limit: Duration, _ run: () async throws -> Void) async throws -> Bool {
    for _ in 0..<5 {
        let start = ContinuousClock.now
        try await run()
        if start.duration(to: .now) < limit { return true }
    }
    return false
}

/// A UDP socket that never answers.
final class SilentDatagrams {
    private let descriptor: Int32
    private var ports: Set<UInt16> = []

    /// - Parameter port: The port on 127.0.0.1.
    init(port: Int) throws {
        descriptor = DialAttempt.makeDatagramSocket(AF_INET)
        let address = SocketAddress.ip(HostAddress(IPAddress(ipv4: 0x7F00_0001)), port: UInt16(port))
        let status = address.withSystemForm { bind(descriptor, $0, $1) }
        try #require(status == 0, "the port \(port) is in use for UDP")
    }

    deinit { close(descriptor) }

    /// The ports from which datagrams have come so far. Each QUIC connection has a port of its own.
    func sources() -> Set<UInt16> {
        while true {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            var byte: UInt8 = 0
            let count = withUnsafeMutablePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, &byte, 1, Int32(MSG_DONTWAIT), $0, &length)
                }
            }
            guard count >= 0 else { return ports }
            ports.insert(UInt16(bigEndian: address.sin_port))
        }
    }
}
