import CurlewTesting
import Foundation

/// A server that keeps the bytes of each request, and answers all of them alike.
final class WireServer: Sendable {
    private let server: RawServer
    private let requests: Requests

    static func start() async throws -> WireServer {
        let requests = Requests()
        let server = try await RawServer.start { connection in
            var head = try await connection.readHead()
            if !head.hasSuffix("\r\n\r\n") { head += "\r\n\r\n" }
            var body: [UInt8] = []
            if let length = Self.value("content-length", in: head).flatMap({ Int($0) }) {
                body = try await connection.readExactly(length)
            } else if Self.value("transfer-encoding", in: head) != nil {
                while !String(decoding: body, as: UTF8.self).hasSuffix("0\r\n\r\n") {
                    guard let more = try await connection.read() else { break }
                    body += more
                }
            }
            await requests.add(head, body)
            let content = head.hasPrefix("HEAD") ? "" : "done"
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n\(content)")
            await connection.close()
        }
        return WireServer(server, requests)
    }

    private init(_ server: RawServer, _ requests: Requests) {
        self.server = server
        self.requests = requests
    }

    var port: Int { server.port }

    /// The request of the last program that has ended.
    func take() async -> String? { await requests.take() }

    func shutdown() async { await server.shutdown() }

    private static func value(_ name: String, in head: String) -> String? {
        head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("\(name): ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }

    /// The requests, in a text that does not depend on the order of the fields, the program or the boundary.
    private actor Requests {
        private var texts: [String] = []

        func add(_ head: String, _ body: [UInt8]) {
            var text = String(decoding: body, as: UTF8.self)
            var lines = head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
            let first = lines.removeFirst()
            lines = lines.map { line in
                guard let boundary = line.range(of: "multipart/form-data; boundary=") else { return line }
                let mark = line[boundary.upperBound...].trimmingCharacters(in: CharacterSet(charactersIn: "\""))
                text = text.replacingOccurrences(of: mark, with: "BOUNDARY")
                return "\(line[..<boundary.upperBound])BOUNDARY"
            }
            let isForm = text.contains("BOUNDARY")
            lines = lines.filter { line in
                let name = line.prefix { $0 != ":" }.lowercased()
                // The length depends on that of the boundary.
                return name != "user-agent" && !(isForm && name == "content-length") && name != "host"
            }
            texts.append(([first] + lines.sorted() + ["", text]).joined(separator: "\n"))
        }

        func take() -> String? { texts.isEmpty ? nil : texts.removeFirst() }
    }
}
