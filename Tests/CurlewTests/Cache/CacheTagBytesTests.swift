import CurlewTesting
import CurlewTestingTraits
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// The bytes of entity tags (RFC 9110 §8.8.3), which need not be text.
@Suite("Entity tags with unusual bytes", .noLeaks, .timeLimit(.minutes(2)))
struct CacheTagBytesTests {
    private static func session() throws -> (HTTPSession, TurnableClock) {
        let clock = TurnableClock()
        let cache = HTTPCache { clock.now }
        return (try HTTPSession(eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare) { cache }, clock)
    }

    @Test("a stale response whose entity tag has a control character is requested again")
    func tagWithControlCharacter() async throws {
        let server = try await RawServer.start { connection in
            for number in 1... {
                _ = try await connection.readHead()
                let fields = "Cache-Control: max-age=10\r\nContent-Length: 1\r\nETag: \"a\u{1}\""
                try await connection.write("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(number)")
            }
        }
        let (api, clock) = try Self.session()
        for number in 1...2 {
            let response = try await api.get(.raw("http://127.0.0.1:\(server.port)/"))
            #expect(try await response.body.collect(upTo: 10) == Array("\(number)".utf8))
            clock.advance(20)
        }
    }

    @Test("§4.3.1: an entity tag is validated with its bytes, also if they are not UTF-8")
    func tagBytes() async throws {
        let requests = Guarded<[[UInt8]]>([])
        let server = try await RawServer.start { connection in
            while true {
                var request: [UInt8] = []
                while !request.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                    guard let bytes = try await connection.read() else { return }
                    request += bytes
                }
                let number = requests.withLock { requests in
                    requests.append(request)
                    return requests.count
                }
                // The tags of the second and the third response differ only in a byte that is not ASCII.
                let status = number == 1 ? "200 OK" : number < 4 ? "304 Not Modified" : "200 OK"
                let head = "HTTP/1.1 \(status)\r\nCache-Control: max-age=10\r\nContent-Length: 1\r\nETag: \"caf"
                try await connection.write(
                    Array(head.utf8) + [number < 3 ? 0xE9 : 0xE8] + Array("\"\r\n\r\n".utf8)
                        + (status == "200 OK" ? Array("\(number)".utf8) : []))
            }
        }
        let (api, clock) = try Self.session()
        var seen: [String] = []
        for _ in 0..<3 {
            let response = try await api.get(.raw("http://127.0.0.1:\(server.port)/"))
            let bytes = try await response.body.collect(upTo: 10)
            seen.append("\(String(decoding: bytes, as: UTF8.self)) \(response.cacheStatus?.rawValue ?? "-")")
            clock.advance(20)
        }
        #expect(seen == ["1 miss", "1 revalidated", "4 miss"])
        let condition = Array("If-None-Match: \"caf".utf8) + [0xE9, UInt8(ascii: "\"")]
        #expect(
            requests.withLock { requests in requests.map { $0.contains(condition) } } == [false, true, true, false])
    }
}
