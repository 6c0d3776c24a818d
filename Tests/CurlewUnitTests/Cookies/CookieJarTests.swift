import Foundation
import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("A cookie jar", .timeLimit(.minutes(1)))
struct CookieJarTests {
    private let uri: CurlewURI

    init() throws { uri = try CurlewURI("https://h.example/d/e") }

    private func cookie(_ name: String, _ value: String = "1", path: String = "/", expiry: Int64? = nil) throws
        -> CookieJar.Cookie
    {
        try CookieJar.Cookie(name: name, value: value, domain: "h.example", path: path, expirySeconds: expiry)
    }

    @Test("the caller can set, list, look up and delete cookies")
    func access() throws {
        let jar = CookieJar { 1000 }
        #expect(try jar.set(cookie("a")) && jar.set(cookie("b", path: "/d")))
        #expect(try jar.set(cookie("c", expiry: 1001)) && jar.set(cookie("a", path: "/d")))
        #expect(!jar.set(try cookie("d", expiry: 1000)))
        #expect(
            jar.cookies.map(\.description) == [
                "a for h.example/", "b for h.example/d", "c for h.example/", "a for h.example/d",
            ])
        #expect(jar.cookies(for: uri).map(\.name) == ["b", "a", "a", "c"])
        #expect(jar.cookies(for: try CurlewURI("https://other.example/")).isEmpty)
        #expect(jar.remove(name: "a", path: "/d") == 1)
        #expect(jar.remove(name: "a", domain: "other.example") == 0)
        #expect(jar.remove(name: "a", domain: ".H.example") == 1)
        #expect(try jar.remove(cookie("b", "any", path: "/d")) && !jar.remove(cookie("b")))
        #expect(jar.set(try cookie("s")))
        #expect(jar.removeSessionCookies() == 1)
        #expect(jar.cookies.map(\.name) == ["c"])
        jar.removeAll()
        #expect(jar.cookies.isEmpty)
    }

    @Test("a cookie for all hosts of a public suffix is refused from the caller too")
    func publicSuffix() throws {
        let jar = CookieJar()
        #expect(!jar.set(try CookieJar.Cookie(name: "a", value: "b", domain: "co.uk", isHostOnly: false)))
        #expect(jar.set(try CookieJar.Cookie(name: "a", value: "b", domain: "co.uk")))
        #expect(jar.set(try CookieJar.Cookie(name: "a", value: "b", domain: ".Shop.co.uk", isHostOnly: false)))
        #expect(try jar.field(for: "http://www.shop.co.uk/") == "a=b")
    }

    @Test("a cookie that no server could set cannot be created")
    func validity() throws {
        let makers: [() throws -> CookieJar.Cookie] = [
            { try CookieJar.Cookie(name: "", value: "", domain: "h.example") },
            { try CookieJar.Cookie(name: "a\r\nb", value: "", domain: "h.example") },
            { try CookieJar.Cookie(name: "a", value: "b;c", domain: "h.example") },
            { try CookieJar.Cookie(name: "a=b", value: "c", domain: "h.example") },
            { try CookieJar.Cookie(name: " a", value: "c", domain: "h.example") },
            { try CookieJar.Cookie(name: "a", value: "c\t", domain: "h.example") },
            { try CookieJar.Cookie(name: "a", value: String(repeating: "b", count: 4096), domain: "h.example") },
            { try CookieJar.Cookie(name: "a", value: "b", domain: "") },
            { try CookieJar.Cookie(name: "a", value: "b", domain: "h.example/x") },
            { try CookieJar.Cookie(name: "a", value: "b", domain: "h.example", path: "x") },
            { try CookieJar.Cookie(name: "a", value: "b", domain: "h.example", path: "/\u{0}") },
            { try CookieJar.Cookie(name: "a", value: "b", domain: "h.example", path: "/;x") },
            {
                try CookieJar.Cookie(
                    name: "a", value: "b", domain: "h.example", path: "/" + String(repeating: "p", count: 1024))
            },
            { try CookieJar.Cookie(name: "__Host-a", value: "b", domain: "h.example") },
            { try CookieJar.Cookie(name: "__secure-a", value: "b", domain: "h.example") },
            {
                try CookieJar.Cookie(
                    name: "a", value: "b", domain: "h.example", sameSite: CookieJar.Cookie.SameSite.none)
            },
        ]
        for (index, make) in makers.enumerated() {
            do {
                _ = try make()
                Issue.record("\(index) can be made")
            } catch let error as CurlewError {
                #expect(error.code == .invalidRequest)
            }
        }
        #expect(try CookieJar.Cookie(name: "", value: "b", domain: "h.example").name.isEmpty)
    }

    @Test("a cookie's description does not contain its value")
    func secrets() throws {
        let cookie = try cookie("name", "secret")
        let change = CookieJar.Change(.added, cookie)
        let texts = ["\(cookie)", String(reflecting: cookie), "\([cookie])", "\(change)", String(reflecting: [change])]
        for text in texts {
            #expect(text.contains("name"))
            #expect(!text.contains("secret") && !text.contains("\(Array("secret".utf8))"))
        }
    }

    @Test("a cookie is encoded and decoded with its bytes, and invalid text is rejected")
    func coding() throws {
        let jar = CookieJar { 1000 }
        for field in ["a=ü; domain=example.org; path=/x; secure; httponly; samesite=none; max-age=10", "b"] {
            #expect(jar.store(field, from: try CurlewURI("https://home.example.org/")))
        }
        var cookies = jar.cookies
        let odd = CookieJar.Cookie(
            unchecked: [0xFF], [0xFC, 0x22], domain: "h.example", isHostOnly: true, path: "/", expirySeconds: nil,
            isSecure: false, isHTTPOnly: false, sameSite: nil)
        cookies.append(odd)
        let data = try JSONEncoder().encode(cookies)
        #expect(try JSONDecoder().decode([CookieJar.Cookie].self, from: data) == cookies)
        let good = try #require(String(data: JSONEncoder().encode(cookies[1]), encoding: .utf8))
        for bad in [good.replacingOccurrences(of: "\"b\"", with: "\"b;c\""), "{}", "[]"] {
            #expect(bad != good)
            #expect(throws: (any Error).self) { try JSONDecoder().decode(CookieJar.Cookie.self, from: Data(bad.utf8)) }
        }
    }

    @Test("changes are published in order, and end with the jar")
    func changes() async throws {
        var jar: CookieJar? = CookieJar(limits: CookieJar.Limits(perDomain: 2)) { 1000 }
        let changes = try #require(jar).changes
        var iterator = changes.makeAsyncIterator()
        jar?.store("a=1", from: uri)
        jar?.store("a=2", from: uri)
        jar?.store("b=1", from: uri)
        jar?.store("c=1", from: uri)
        jar?.store("b=; max-age=0", from: uri)
        jar?.store("x=; max-age=0", from: uri)
        jar?.removeAll()
        jar = nil
        var seen: [String] = []
        while let change = await iterator.next() {
            seen.append("\(change.kind.rawValue) \(change.cookie.name)=\(change.cookie.value)")
        }
        #expect(
            seen == ["added a=1", "updated a=2", "added b=1", "added c=1", "evicted a=2", "removed b=1", "removed c=1"])
        var late = changes.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test("the expiry of a cookie is published at the next access to the jar")
    func expired() async throws {
        let time = SetTime()
        let jar = CookieJar { time.seconds }
        var iterator = jar.changes.makeAsyncIterator()
        jar.store("a=1; max-age=5", from: uri)
        time.advance(by: 5)
        _ = jar.cookies(for: uri)
        #expect(await iterator.next()?.kind == .added)
        #expect(await iterator.next()?.kind == .expired)
    }

    @Test("a slow listener keeps the newest changes")
    func slowListener() async throws {
        let jar = CookieJar(limits: CookieJar.Limits(changeBufferSize: 3))
        var iterator = jar.changes.makeAsyncIterator()
        for index in 0..<10 { jar.store("a\(index)=1", from: uri) }
        for index in 7..<10 { #expect(await iterator.next()?.cookie.name == "a\(index)") }
    }

    @Test("a jar can be used from all threads at once")
    func concurrency() async throws {
        let jar = CookieJar(limits: CookieJar.Limits(perDomain: 40, total: 100))
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        guard let uri = try? CurlewURI("https://h\(round % 7).example/") else { continue }
                        jar.store("c\(index)x\(round)=\(round)", from: uri)
                        if round % 5 == 0 { jar.remove(name: "c\(index)x\(round)") }
                        _ = jar.cookies(for: uri)
                    }
                }
            }
        }
        let cookies = jar.cookies
        #expect(cookies.count == 100)
        #expect(Set(cookies).count == 100)
        for index in 0..<7 { #expect(cookies.count { $0.domain == "h\(index).example" } <= 40) }
    }
}
