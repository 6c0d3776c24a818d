import Foundation
import HTTPTypes

/// A process of `wsproto_peer.py`.
final class WsprotoPeer {
    struct Command: Encodable {
        var op: String
        var input: Data?
        var deflate: WireParameters?
        var subprotocol: String?
        var subprotocols: [String]?
        var size: Int?
        var send: [WireItem]?

        private enum CodingKeys: CodingKey { case op, input, deflate, subprotocol, subprotocols, size, send }

        /// The script expects null for an absent value.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(op, forKey: .op)
            try container.encode(input, forKey: .input)
            try container.encode(deflate, forKey: .deflate)
            try container.encode(subprotocol, forKey: .subprotocol)
            try container.encode(subprotocols, forKey: .subprotocols)
            try container.encode(size, forKey: .size)
            try container.encode(send, forKey: .send)
        }
    }

    struct Answer: Decodable {
        let output: Data
        var offered: [String]?
        var events: [WireItem]?
        var subprotocol: String?
        var deflate: WireParameters?
    }

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var rest = Data()

    init(python: String) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "wsproto_peer.py")
        process.executableURL = URL(filePath: python)
        process.arguments = [script.path()]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    func run(_ command: Command) throws -> Answer {
        var line = try JSONEncoder().encode(command)
        line.append(0x0A)
        try input.fileHandleForWriting.write(contentsOf: line)
        while true {
            if let end = rest.firstIndex(of: 0x0A) {
                let answer = rest[..<end]
                rest = Data(rest[(end + 1)...])
                return try JSONDecoder().decode(Answer.self, from: answer)
            }
            // `read(upToCount:)` would wait for all of the bytes.
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
            rest += more
        }
    }
}

/// The text of HTTP/1.1 heads, for valid input only.
enum PlainHead {
    static func request(_ fields: HTTPFields) -> [UInt8] {
        let lines = fields.map { "\($0.name): \($0.value)\r\n" }
        return Array("GET / HTTP/1.1\r\nHost: example.com\r\n\(lines.joined())\r\n".utf8)
    }

    static func response(_ response: HTTPResponse) -> [UInt8] {
        let lines = response.headerFields.map { "\($0.name): \($0.value)\r\n" }
        return Array("HTTP/1.1 101 Switching Protocols\r\n\(lines.joined())\r\n".utf8)
    }

    private static func parse(_ bytes: [UInt8]) -> (start: String, fields: HTTPFields) {
        let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
        var fields = HTTPFields()
        for line in lines.dropFirst() where !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard let name = HTTPField.Name(String(parts[0])) else { continue }
            fields.append(HTTPField(name: name, value: parts[1].trimmingCharacters(in: .whitespaces)))
        }
        return (lines[0], fields)
    }

    static func parsedRequest(_ bytes: [UInt8]) -> HTTPRequest {
        let (_, fields) = parse(bytes)
        var request = HTTPRequest(method: .get, scheme: "http", authority: "example.com", path: "/")
        request.headerFields = fields
        return request
    }

    static func parsedResponse(_ bytes: [UInt8]) -> HTTPResponse {
        let (start, fields) = parse(bytes)
        let code = start.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return HTTPResponse(status: .init(code: code), headerFields: fields)
    }
}
