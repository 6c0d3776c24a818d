import CurlewTesting
import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The cache of response heads", .timeLimit(.minutes(1)))
struct ResponseHeadCacheTests {
    private static let heads = [
        "HTTP/1.1 200 OK|Server: a|Date: one|Content-Length: 5",
        "HTTP/1.1 200 OK|Server: a|Date: one|Content-Length: 5",
        "HTTP/1.1 200 OK|Server: a|Date: two|Content-Length: 5",
        "HTTP/1.1 200 OK|Server: a|Date: two|Content-Length: 7",
        "HTTP/1.1 200 OK|Server: a|date: two|Content-Length: 7",
        "HTTP/1.1 200 Fine|Server: a|date: two|Content-Length: 7",
        "HTTP/1.0 200 Fine|Server: a|date: two|Content-Length: 7",
        "HTTP/1.1 200 OK|Server: a|date: two",
        "HTTP/1.1 200 OK|Server: a|date: two|Transfer-Encoding: chunked",
        "HTTP/1.1 200 OK|Server: a|date: two|Transfer-Encoding: chunked|More: 1",
        "HTTP/1.1 200 OK|Server: a|date: two|Transfer-Encoding: chunked|Content-Length: 7",
        "HTTP/1.1 200 OK|Server: a|Content-Length: 7|Content-Length: 7",
        "HTTP/1.1 200 OK|Server: a|Content-Length: 7|Content-Length: 8",
        "HTTP/1.1 200 OK|Server: a|Content-Length: 7|Content-Length: 7",
        "HTTP/1.1 200 OK|Server: a| and b|Content-Length: 7",
        "HTTP/1.1 200 OK|Server: a|Content-Length: 7",
        "HTTP/1.1 200 OK|Server: a| and b|Content-Length: 7",
        "HTTP/1.1 200 OK|Server: a| and b|Content-Length: 8",
        "HTTP/1.1 200 OK|Server: a|Set-Cookie: secret=1",
        "HTTP/1.1 200 OK|Server: a|Set-Cookie: secret=1",
        "HTTP/1.1 404 Not Found|Server: a|Content-Length: 7",
        "HTTP/1.1 103 Early Hints|Server: a|Link: x",
        "HTTP/1.1 103 Early Hints|Server: a|Link: x",
        "HTTP/1.1 200 OK|Server: \u{1}|Content-Length: 7",
        "HTTP/1.1 200 OK|Server : a|Content-Length: 7",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200 OK|Empty:|Empty:  |Empty:",
        "HTTP/1.1 200 OK|Empty:|Empty:|Empty:",
    ]

    @Test("a head gives the same fields, framing and errors, whichever heads preceded it")
    func sameAsFresh() {
        let memory = ResponseHeadCache()
        // The list is repeated, so that in the second pass the cache contains all other heads.
        for head in Self.heads + Self.heads {
            #expect(outcome(of: head, memory) == outcome(of: head, ResponseHeadCache()), "\(head)")
        }
    }

    @Test("a cached head still counts towards the field limit")
    func fieldLimit() {
        let memory = ResponseHeadCache()
        let head = "HTTP/1.1 200 OK|A: 1|B: 2|C: 3"
        _ = outcome(of: head, memory)
        #expect(outcome(of: head, memory, fieldCount: 2) == outcome(of: head, ResponseHeadCache(), fieldCount: 2))
    }

    @Test("a head with a cookie, or a very large one, is not cached")
    func notRemembered() {
        let memory = ResponseHeadCache()
        _ = outcome(of: "HTTP/1.1 200 OK|A: 1|Set-Cookie: secret=1", memory)
        _ = outcome(of: "HTTP/1.1 200 OK|B: \(String(repeating: "x", count: CachedHead.sizeLimit))", memory)
        for line in ["A: 1", "B: \(String(repeating: "x", count: CachedHead.sizeLimit))"] {
            let known = Array(line.utf8).withUnsafeBytes { memory.head(status: 200, firstLine: $0) }
            #expect(known == nil)
        }
    }

    @Test("nearly equal heads over a socket are distinguished")
    func overSocket() async throws {
        let values = ["one", "one", "two", "one", "three", "three"]
        let server = try await RawServer.start { connection in
            for value in values {
                _ = try await connection.readHead()
                try await connection.write(
                    "HTTP/1.1 200 OK\r\nServer: test\r\nX-Value: \(value)\r\nContent-Length: \(value.count)\r\n\r\n\(value)"
                )
            }
            try await connection.closed
        }
        let session = try makeSession()
        for value in values {
            let response = try await session.get(.raw(server.url()))
            #expect(response.fields[HTTPField.Name("X-Value")!] == value)
            #expect(response.contentLength == Int64(value.count))
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array(value.utf8))
        }
    }

    /// The parser's result of a head as text.
    private func outcome(of head: String, _ memory: ResponseHeadCache, fieldCount: Int = 100) -> String {
        var limits = CurlewResponse.Limits()
        limits.fieldCount = fieldCount
        var parser = HeadParser(limits: limits, cache: memory)
        for line in head.split(separator: "|") + [""] {
            let event = Array("\(line)\r\n".utf8).withUnsafeBytes { parser.take($0) }
            switch event {
            case .more: continue
            case .invalid(let code, let message): return "\(code): \(message)"
            case .head(let response), .interim(let response):
                let fields = response.headerFields.map { "\($0.name.rawName)=\($0.value)" }
                return "\(parser.version) \(response.status) \(fields) \(parser.framing)"
            case .trailers: return "trailers"
            }
        }
        return "unfinished"
    }
}
