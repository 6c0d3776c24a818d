import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Equal fields over both versions of HTTP", .endsServers, .timeLimit(.minutes(1)))
struct RequestFieldTests {
    /// Values and their sent form: spaces around a value do not belong to it (RFC 9110 §5.5, RFC 9113 §8.2.1).
    static let values: [(String, String)] = [
        ("v", "v"), ("v ", "v"), (" v", "v"), ("v\t", "v"), ("\tv", "v"), (" \t v \t ", "v"), ("a \t b ", "a \t b"),
        ("\u{E9} ", "\u{E9}"), ("a, ", "a,"), (" ;", ";"), ("\" \" ", "\" \""), ("", ""), (" ", ""), ("\t", ""),
        (" \t ", ""),
    ]
    /// Names that libcurl may treat specially.
    static let names = [
        "X-Value", "Accept", "User-Agent", "Authorization", "Cookie", "Referer", "Content-Type", "Range",
    ]

    private func fields(_ name: String, _ value: String) throws -> HTTPFields {
        var fields = HTTPFields()
        fields.append(HTTPField(name: try #require(HTTPField.Name(name)), lenientValue: Array(value.utf8)))
        return fields
    }

    /// The lines of a head whose name is `name`, each without the name.
    private func lines(_ head: String, _ name: String) -> [[UInt8]] {
        head.utf8.split(separator: 0x0A).map { $0.last == 0x0D ? $0.dropLast() : $0 }
            .filter { String(decoding: $0, as: UTF8.self).hasPrefix("\(name):") }
            .map { Array($0.dropFirst(name.utf8.count + 1)) }
    }

    @Test("a value is trimmed over HTTP/1.1, and an empty one is sent", arguments: names)
    func oldVersion(_ name: String) async throws {
        let server = try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(head.utf8.count)\r\n\r\n\(head)")
            }
        }
        let session = try makeSession()
        for (value, sent) in Self.values {
            let answer = try await session.get(.raw(server.url()), fields: try fields(name, value))
            let head = String(decoding: try await answer.body.collect(upTo: 10_000), as: UTF8.self)
            // libcurl adds the space after the colon.
            let expected = sent.isEmpty ? [] : Array(" \(sent)".utf8)
            #expect(lines(head, name) == [expected], "\(name): \(Array(value.utf8))")
        }
    }

    @Test("a value is trimmed over HTTP/2, and an empty one is sent", arguments: names)
    func newVersion(_ name: String) async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        let key = try #require(HTTPField.Name(name))
        for (value, sent) in Self.values {
            _ = try await session.get(.raw(server.url()), fields: try fields(name, value))
            let recorded = try #require(await server.takeRequest())
            #expect(recorded.version == .http2)
            let bytes = recorded.fields[fields: key].map { field in field.withUnsafeBytesOfValue { Array($0) } }
            #expect(bytes == [Array(sent.utf8)], "\(name): \(Array(value.utf8))")
        }
    }

    @Test("a trailer is trimmed, and an empty one is sent")
    func trailers() async throws {
        let server = try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                var rest: [UInt8] = []
                while String(decoding: rest, as: UTF8.self).hasSuffix("\r\n\r\n") == false {
                    guard let bytes = try await connection.read() else { return }
                    rest += bytes
                }
                _ = head
                try await connection.write(
                    Array("HTTP/1.1 200 OK\r\nContent-Length: \(rest.count)\r\n\r\n".utf8) + rest)
            }
        }
        let session = try makeSession()
        for (value, sent) in Self.values {
            var request = try CurlewRequest(.post, server.url())
            request.body = .string("body")
            request.trailers = try fields("X-Value", value)
            let answer = try await session.send(request)
            let text = String(decoding: try await answer.body.collect(upTo: 10_000), as: UTF8.self)
            #expect(lines(text, "X-Value") == [Array(" \(sent)".utf8)], "\(Array(value.utf8))")
        }
    }

    @Test("a field that the transport evaluates is trimmed first")
    func readFields() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try makeSession()
        let host = "127.0.0.1:\(server.port)"
        for (name, value, sent) in [
            ("Content-Length", " 3 ", "3"), ("Expect", "100-Continue\t", "100-continue"), ("Host", " \(host) ", host),
        ] {
            _ = try await session.post(.raw(server.url()), .body(.bytes([1, 2, 3])), fields: try fields(name, value))
            let recorded = try #require(await server.takeRequest())
            #expect(recorded.fields[values: try #require(HTTPField.Name(name))] == [sent])
        }
        for (name, value) in [("Content-Length", " "), ("Expect", " "), ("Host", "\t"), ("Content-Length", "1 2")] {
            let error = await curlewError {
                _ = try await session.post(.raw(server.url()), .body(.bytes([1])), fields: try fields(name, value))
            }
            #expect(error?.code == .invalidRequest, "\(name)")
        }
    }

    @Test("a control character in a value is refused over both versions", arguments: [UInt8](1...31) + [127])
    func controlCharacters(_ byte: UInt8) async throws {
        // CR and LF become spaces in swift-http-types; the tab is white space.
        guard byte != 0x0A, byte != 0x0D, byte != 0x09 else { return }
        for version in [HTTPVersionPolicy.http11, .http2PriorKnowledge] {
            let session = try makeSession { $0.versionPolicy = version }
            var fields = HTTPFields()
            fields.append(HTTPField(name: .accept, lenientValue: [0x61, byte, 0x62]))
            let made = fields
            let error = await curlewError { _ = try await session.get(.raw("http://127.0.0.1:1/"), fields: made) }
            #expect(error?.code == .invalidRequest)
        }
    }
}
