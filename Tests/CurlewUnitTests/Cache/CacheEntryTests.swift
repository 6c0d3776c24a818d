import HTTPTypes
import SeededNumbers
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("Entries of a cache")
struct CacheEntryTests {
    private func entry(range: Range<Int64>? = nil) -> HTTPCache.Entry {
        HTTPCache.Entry(
            id: HTTPCache.Entry.ID(), key: HTTPCache.Entry.Key(uri: "http://a:80/b?c", partition: "7"),
            uri: "http://a/b?c",
            head: HTTPResponse(
                status: .init(code: 299, reasonPhrase: "Fine"),
                headerFields: [.server: "s", .vary: "Accept", .contentType: "text/plain"]),
            trailers: [.eTag: "\"t\""], version: .http2,
            selectors: [.init(name: "accept", value: "*/*"), .init(name: "range", value: nil)], requestTime: 5,
            responseTime: 7, range: range, bodySize: range.map { $0.upperBound - $0.lowerBound } ?? 12)
    }

    @Test("an entry survives encoding and decoding unchanged", arguments: [nil, Int64(3)..<9])
    func roundTrip(_ range: Range<Int64>?) throws {
        let entry = entry(range: range)
        #expect(try HTTPCache.Entry(encoded: entry.encoded) == entry)
    }

    @Test("an entry with a changed, missing or additional byte is rejected")
    func damage() {
        let encoded = entry().encoded
        for index in encoded.indices {
            var damaged = encoded
            damaged[index] ^= 0x10
            #expect(throws: CurlewError.self) { try HTTPCache.Entry(encoded: damaged) }
        }
        for count in 0..<encoded.count {
            #expect(throws: CurlewError.self) { try HTTPCache.Entry(encoded: Array(encoded.prefix(count))) }
        }
        #expect(throws: CurlewError.self) { try HTTPCache.Entry(encoded: encoded + [0]) }
    }

    @Test("values keep their bytes beyond ASCII")
    func bytes() throws {
        let fields = HTTPFields([HTTPField(name: .server, lenientValue: [0xE4, 0x09, 0xFF])])
        let entry = entry().updating(head: HTTPResponse(status: .ok, headerFields: fields))
        let read = try HTTPCache.Entry(encoded: entry.encoded)
        #expect(read.head.headerFields.map { $0.withUnsafeBytesOfValue { Array($0) } } == [[0xE4, 0x09, 0xFF]])
    }

    @Test("names of entries are 32 hexadecimal digits, and are unique")
    func names() {
        let names = (0..<1000).map { _ in HTTPCache.Entry.ID() }
        #expect(Set(names).count == 1000)
        #expect(names.allSatisfy { HTTPCache.Entry.ID($0.description) == $0 })
        for text in ["", "../../etc/passwd", String(repeating: "g", count: 32), String(repeating: "A", count: 32)] {
            #expect(HTTPCache.Entry.ID(text) == nil)
        }
    }

    @Test(
        "requests that a server can distinguish have different keys, and equivalent requests have equal keys",
        arguments: [
            ("http://example.com/", "http://EXAMPLE.com:80/#f", true),
            ("http://user:secret@example.com/", "http://example.com/", true),
            ("http://example.com/", "https://example.com/", false),
            ("http://example.com/", "http://example.com:8080/", false),
            ("http://example.com/a/../b", "http://example.com/b", false),
            ("http://example.com/%41", "http://example.com/A", false),
            ("http://example.com/?", "http://example.com/", false),
            ("http://example.com/?a&b", "http://example.com/?b&a", false),
            ("http://example.com/A", "http://example.com/a", false),
        ])
    func keys(_ one: String, _ other: String, _ isSame: Bool) throws {
        let keys = try [one, other].map { CacheRequest(try CurlewRequest(.get, $0), at: 0).key }
        #expect((keys[0] == keys[1]) == isSame)
        #expect(!keys[0].uri.contains("secret"))
    }

    @Test("a Host field, a route and a partition of the request each change the key")
    func otherKeys() throws {
        let plain = try CurlewRequest(.get, "http://example.com/")
        var host = plain
        host.fields[HTTPField.Name("Host")!] = "other.example"
        var socket = plain
        socket.options.route = ConnectionRoute(unixSocket: "/run/a")
        var other = plain
        other.options.route = ConnectionRoute(unixSocket: "/run/b")
        var partition = plain
        partition.options.cachePartition = "7"
        let keys = [plain, host, socket, other, partition].map { CacheRequest($0, at: 0).key }
        #expect(Set(keys).count == 5)
    }
}
