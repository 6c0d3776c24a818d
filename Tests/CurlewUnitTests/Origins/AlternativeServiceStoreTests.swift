import Foundation
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The store of alternatives")
struct AlternativeServiceStoreTests {
    private let uri: CurlewURI
    private let store = AlternativeServices.Store { 1_000_000_000 }

    init() throws { uri = try CurlewURI("https://H.example./a") }

    private func noted(_ fields: String...) -> [String] {
        store.note(fields.map { Array($0.utf8) }, from: uri)
        return store.services(for: uri).map {
            "\($0.protocol) \($0.host) \($0.port) \($0.expirySeconds - 1_000_000_000)\($0.persists ? " persists" : "")"
        }
    }

    @Test("entries are parsed in order, with their parameters, from all fields of a response")
    func reading() {
        #expect(
            noted(
                "h9=\":443\"; ma=5, h2=\"Alt.example:8000\";ma=60;persist=1 , w%3Dx%3Ay#z=\"a:1\"",
                "http%2f1.1=\"[2001:DB8::1]:80\"; ma=\"7\"; future=\"a,b;c\", h2=\":1\"") == [
                    "h2 alt.example 8000 60 persists", "http/1.1 [2001:db8::1] 80 7", "h2 h.example 1 86400",
                ])
        #expect(noted("h2=\":2\"; persist=2") == ["h2 h.example 2 86400"])
        #expect(noted("h2=\":3\"; ma=99999999999999999999999") == ["h2 h.example 3 2592000"])
        // RFC 7838 §3 uses the port syntax of RFC 3986 §3.2.3.
        #expect(noted("h2=\":000443\"") == ["h2 h.example 443 86400"])
    }

    @Test(
        "an invalid field changes nothing",
        arguments: [
            "", ",,", "h2", "h2=", "h2=:443", "h2=\"443\"", "h2=\":\"", "h2=\":0\"", "h2=\":65536\"", "h2=\":00000\"",
            "h2=\"a b:443\"", "h2=\"user@a:443\"", "h2=\"a/b:443\"", "h2=\"[::1:443\"", "h%2=\":443\"", "=\":443\"",
            "h2=\":443\" ma=1", "h2=\":443\"; ma=-1", "h2=\":443\"; ma", "h2=\":443\"; =1", "Clear", "\"",
            "h2=\"\u{0}:1\"",
        ])
    func garbage(_ text: String) {
        #expect(noted("h2=\"kept.example:443\"").count == 1)
        #expect(noted(text) == ["h2 kept.example 443 86400"])
    }

    @Test("an invalid entry is skipped, and the others are stored")
    func partly() {
        #expect(noted("nonsense, h2=\":443\"; ma=x, h2=\":444\"") == ["h2 h.example 444 86400"])
        #expect(noted(String(repeating: "h2=\":1\",", count: 3000)) == ["h2 h.example 444 86400"])
        #expect(noted(String(repeating: "h2=\":1\",", count: 1000)).count == 8)
    }

    @Test("a field replaces stored entries: an unknown protocol alone, clear or an age of zero leaves none")
    func replacing() {
        #expect(noted("h2=\":1\"").count == 1)
        #expect(noted("h9=\":443\"") == [] && !store.isFilled)
        if !Engine.hasHTTP3 { #expect(noted("h3=\":443\"") == [] && !store.isFilled) }
        #expect(noted("h2=\":1\"").count == 1)
        #expect(noted("clear") == [])
        #expect(noted("h2=\":1\"").count == 1)
        store.note([Array("h2=\":1\"; ma=100".utf8)], from: uri, age: 40)
        #expect(store.services(for: uri).first?.expirySeconds == 1_000_000_060)
        store.note([Array("h2=\":1\"; ma=100".utf8)], from: uri, age: 100)
        #expect(store.services(for: uri).isEmpty)
        #expect(noted("h2=\":1\"; ma=0") == [])
    }

    @Test("a network change keeps persistent entries")
    func networkChange() throws {
        #expect(noted("h2=\":1\", h2=\":2\"; persist=1").count == 2)
        let service = try #require(store.services(for: uri).last)
        store.failed(service, for: uri)
        store.networkChanged()
        #expect(store.services(for: uri) == [service])
        #expect(store.service(for: uri) { _ in true } == service)
        store.remove(for: uri)
        #expect(!store.isFilled)
    }

    @Test("origins differ by host and port, and a full store evicts the entry that expires first")
    func origins() throws {
        let store = AlternativeServices.Store(limits: .init(origins: 2)) { 0 }
        for (host, age) in [("a", 20), ("b", 10), ("c", 30)] {
            store.note([Array("h2=\":1\"; ma=\(age)".utf8)], from: try CurlewURI("https://\(host).example/"))
        }
        func count(_ url: String) throws -> Int { store.services(for: try CurlewURI(url)).count }
        #expect(try count("https://a.example/") == 1)
        #expect(try count("https://a.example:444/") == 0)
        #expect(try count("https://b.example/") == 0)
        #expect(try count("https://c.example/") == 1)
        store.note([Array("h2=\":1\"".utf8)], from: try CurlewURI("http://d.example/"))
        #expect(try count("http://d.example/") == 0)
        store.removeAll()
        #expect(!store.isFilled)
    }

    @Test("alternatives are written in curl's file format, and read again")
    func file() async throws {
        let folder = try ScratchFolder()
        let path = folder.file("altsvc.txt")
        #expect(noted("h2=\"alt.example:8443\"; ma=86400; persist=1, http%2F1.1=\"[::1]:80\"; ma=1").count == 2)
        try await store.save(to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(
            text.split(separator: "\n").dropFirst() == [
                "h1 h.example 443 h2 alt.example 8443 \"20010910 01:46:40\" 1 0",
                "h1 h.example 443 h1 [::1] 80 \"20010909 01:46:41\" 0 0",
            ])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let other = AlternativeServices.Store { 1_000_000_000 }
        #expect(try await other.load(from: path) == [])
        #expect(other.services(for: uri) == store.services(for: uri))
    }

    @Test("invalid lines are skipped and reported; lines for HTTP/3 or expired ones are not reported")
    func brokenFile() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write(
            "altsvc.txt",
            Array(
                """
                # comment
                h2 a.example 443 h2 b.example 8443 "20300101 00:00:00" 1 0
                h1 a.example 443 h2 b.example 8443 "20300101 00:00:00" 1 0
                h1 a.example 443 h3 c.example 443 "20300101 00:00:00" 0 0
                h1 d.example 443 h2 c.example 443 "19990101 00:00:00" 0 0
                h1 d.example 443 h2 c.example 0 "20300101 00:00:00" 0 0
                h1 d.example 443 h2 c.example 443 "tomorrow" 0 0
                h4 d.example 443 h2 c.example 443 "20300101 00:00:00" 0 0
                h1 d.example 443 h2 c.example 443 "20300101 00:00:00"
                h1 d.example 443 h2 c/d 443 "20300101 00:00:00" 0 0
                h1 kept.example 443 h2 c.example 443 "20300101 00:00:00" 0 0
                garbage
                """.utf8))
        let kept = try CurlewURI("https://kept.example/")
        store.note([Array("h2=\":1\"".utf8)], from: kept)
        #expect(try await store.load(from: path) == [6, 7, 8, 9, 10, 12])
        let services = store.services(for: try CurlewURI("https://a.example/"))
        #expect(services.count == 1 && services.first?.host == "b.example" && services.first?.persists == true)
        #expect(services.first?.expirySeconds == 1_002_592_000)
        #expect(store.services(for: kept).map(\.port) == [1])
        #expect(store.services(for: try CurlewURI("https://d.example/")).isEmpty)
        let error = await curlewError { try await store.load(from: folder.file("none")) }
        #expect(error?.code == .originFileFailed)
    }
}
