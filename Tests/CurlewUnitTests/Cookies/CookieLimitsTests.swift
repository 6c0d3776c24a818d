import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The limits of a cookie jar", .timeLimit(.minutes(1)))
struct CookieLimitsTests {
    private func names(_ jar: CookieJar) -> [String] { jar.cookies.map(\.name) }

    @Test("a full domain evicts its least recently used cookie")
    func perDomain() throws {
        let jar = CookieJar(limits: CookieJar.Limits(perDomain: 3))
        let uri = try CurlewURI("https://h.example/")
        for name in ["a", "b", "c"] { jar.store("\(name)=1; path=/\(name)", from: uri) }
        jar.store("x=1", from: try CurlewURI("https://other.example/"))
        // A sent cookie counts as used, a cookie that is only looked up does not.
        #expect(jar.cookiesToSend(to: try CurlewURI("https://h.example/a")).count == 1)
        _ = jar.cookies(for: try CurlewURI("https://h.example/b"))
        jar.store("d=1", from: uri)
        #expect(names(jar) == ["a", "c", "x", "d"])
        jar.store("c=2; path=/c", from: uri)
        jar.store("e=1", from: uri)
        #expect(names(jar) == ["c", "x", "d", "e"])
    }

    @Test("a full domain evicts expired cookies first, then insecure ones")
    func order() throws {
        let time = SetTime()
        let jar = CookieJar(limits: CookieJar.Limits(perDomain: 3)) { time.seconds }
        let uri = try CurlewURI("https://h.example/")
        jar.store("a=1; secure", from: uri)
        jar.store("b=1", from: uri)
        jar.store("c=1; max-age=5; secure", from: uri)
        time.advance(by: 5)
        jar.store("d=1; secure", from: uri)
        #expect(names(jar) == ["a", "b", "d"])
        jar.store("e=1; secure", from: uri)
        #expect(names(jar) == ["a", "d", "e"])
        // The domain is full of secure cookies, so the new insecure cookie is evicted.
        #expect(!jar.store("f=1", from: uri))
        #expect(names(jar) == ["a", "d", "e"])
        jar.store("g=1; secure", from: uri)
        #expect(names(jar) == ["d", "e", "g"])
    }

    @Test("a full jar evicts the least recently used cookies of all domains")
    func total() throws {
        let time = SetTime()
        let jar = CookieJar(limits: CookieJar.Limits(total: 3)) { time.seconds }
        jar.store("a=1; secure", from: try CurlewURI("https://a.example/"))
        jar.store("b=1", from: try CurlewURI("https://b.example/"))
        jar.store("c=1; max-age=5", from: try CurlewURI("https://c.example/"))
        _ = jar.cookiesToSend(to: try CurlewURI("https://a.example/"))
        jar.store("d=1", from: try CurlewURI("https://d.example/"))
        #expect(names(jar) == ["a", "c", "d"])
        time.advance(by: 5)
        jar.store("e=1", from: try CurlewURI("https://e.example/"))
        #expect(names(jar) == ["a", "d", "e"])
    }

    @Test("cookies with equal times are evicted only as far as necessary")
    func sameAge() throws {
        let jar = CookieJar(limits: CookieJar.Limits(total: 4))
        let uri = try CurlewURI("https://a.example/")
        for name in ["a", "b", "c"] { jar.store("\(name)=1", from: uri) }
        #expect(jar.cookiesToSend(to: uri).count == 3)
        for host in ["b", "c", "d"] {
            jar.store("x=1", from: try CurlewURI("https://\(host).example/"))
            #expect(jar.cookies.count == 4)
        }
        #expect(jar.cookies.map(\.domain).sorted() == ["a.example", "b.example", "c.example", "d.example"])
    }

    @Test("limits of zero or less leave one cookie")
    func silly() throws {
        let jar = CookieJar(limits: CookieJar.Limits(perDomain: -1, total: 0, changeBufferSize: -1))
        for index in 0..<10 { jar.store("a\(index)=1", from: try CurlewURI("https://h\(index % 2).example/")) }
        #expect(jar.cookies.count == 1)
    }

    @Test("the default limits are 50 cookies per domain and 3,000 per jar, and many host names do not slow it down")
    func defaults() throws {
        let jar = CookieJar()
        for index in 0..<3600 {
            let uri = try CurlewURI("https://h\(index % 72).example/")
            jar.store("c\(index)=1", from: uri)
        }
        #expect(jar.cookies.count == 3000)
        let many = try CurlewURI("https://" + String(repeating: "a.", count: 500) + "example/")
        #expect(jar.store("a=b; domain=a.a.example", from: many))
        #expect(jar.cookies(for: many).count == 1)
    }

    @Test("the Cookie field has a size limit, and the first cookies are sent")
    func fieldSize() throws {
        let jar = CookieJar(limits: CookieJar.Limits(fieldSize: 20))
        let uri = try CurlewURI("https://h.example/")
        for field in ["a=12345678", "b=12345678", "c=1"] { jar.store(field, from: uri) }
        #expect(try jar.field(for: "https://h.example/") == "a=12345678")
        let wide = CookieJar(limits: CookieJar.Limits(fieldSize: 22))
        for field in ["a=12345678", "b=12345678", "c=1"] { wide.store(field, from: uri) }
        #expect(try wide.field(for: "https://h.example/") == "a=12345678; b=12345678")
        #expect(CookieJar.Limits().fieldSize == .kibibytes(8))
    }
}
