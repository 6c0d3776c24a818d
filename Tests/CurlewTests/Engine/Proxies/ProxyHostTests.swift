import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Synchronization
import Testing

/// libcurl stores with a connection whether its first host was an IPv6 address, and writes the Host field accordingly.
@Suite("The Host field through a proxy", .noLeaks, .timeLimit(.minutes(1)))
struct ProxyHostTests {
    private static let urls = [
        "http://[2001:db8::1]/a", "http://h.example/b", "http://[2001:db8::2]:8080/c", "http://192.0.2.1/d",
        "http://h.example:81/e",
    ]

    @Test(
        "the Host field over a pooled proxy connection is that of the request",
        arguments: [urls, urls.reversed()])
    func host(_ urls: [String]) async throws {
        let heads = Mutex<[String]>([])
        let proxy = try await RawServer.start { connection in
            while true {
                let head = try await connection.readHead()
                heads.withLock { $0.append(head) }
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let address = try Proxy(proxy.url())
        let session = try makeSession { $0.proxy = .proxy(address) }
        for url in urls { #expect(try await session.fetch(url) == Array("ok".utf8)) }
        #expect(proxy.accepted == 1)
        let fields = heads.withLock { $0 }.map { head in
            head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("host:") }.map(String.init)
        }
        #expect(fields == (try urls.map { ["Host: \(try CurlewURI($0).authority)"] }))
    }

    @Test("a caller's own Host field is sent to the proxy, once")
    func ownHost() async throws {
        let heads = Mutex<[String]>([])
        let proxy = try await RawServer.start { connection in
            let head = try await connection.readHead()
            heads.withLock { $0.append(head) }
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let address = try Proxy(proxy.url())
        let session = try makeSession { $0.proxy = .proxy(address) }
        _ = try await session.get("http://h.example/", fields: [.init("Host")!: "other.example"])
        let lines = heads.withLock { $0 }[0].split(separator: "\r\n").filter { $0.lowercased().hasPrefix("host:") }
        #expect(lines == ["Host: other.example"])
    }
}
