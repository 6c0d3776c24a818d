import Testing

@testable import CurlewCore

private let secure = "https://h.example/d/e"
private let plain = "http://h.example/d/e"

private let sameSites: [(String, CookieJar.Cookie.SameSite?)] = [
    ("a=b; samesite=Strict", CookieJar.Cookie.SameSite.strict), ("a=b; SameSite=LAX", .lax),
    ("a=b; samesite=other", nil),
    ("a=b; samesite", nil), ("a=b", nil), ("a=b; samesite=lax; samesite=strict", .strict),
    ("a=b; samesite=lax; samesite=x", nil), ("a=b; samesite=none; secure", CookieJar.Cookie.SameSite.none),
]

private let lifetimes: [(String, Int64?)] = [
    ("a=b", nil), ("a=b; max-age=10", 10), ("a=b; max-age=34560000", 34_560_000),
    ("a=b; max-age=34560001", 34_560_000), ("a=b; max-age=99999999999999999999999999", 34_560_000),
    ("a=b; max-age=10; expires=Thu, 01 Jan 1970 00:00:00 GMT", 10),
    ("a=b; expires=Thu, 01 Jan 1970 00:00:00 GMT; max-age=10", 10), ("a=b; max-age=10; max-age=20", 20),
    ("a=b; max-age=10; max-age=x", 10), ("a=b; max-age=", nil), ("a=b; max-age=-", nil),
    ("a=b; max-age=+10", nil), ("a=b; max-age=1.5", nil), ("a=b; max-age=\"10\"", nil),
    ("a=b; max-age=10s", nil), ("a=b; max-age=007", 7), ("a=b; expires=Tue, 14 Nov 2023 22:13:30 GMT", 10),
    ("a=b; expires=Fri, 01 Jan 2038 00:00:00 GMT", 34_560_000), ("a=b; expires=someday", nil),
    ("a=b; expires=1 jan 1999 0:0:0; expires=Tue, 14 Nov 2023 22:13:30 GMT", 10),
    ("a=b; expires=Tue, 14 Nov 2023 22:13:30 GMT; expires=x", 10),
]

@Suite("Rules for storing, keeping and sending cookies")
struct CookieRuleTests {
    typealias Script = CookieScript

    @Test(
        "secure cookies are set and sent only over https, to localhost too",
        arguments: [
            Script("a=b; secure", "a=b", from: secure), Script("a=b; secure", nil, from: secure, to: plain),
            Script("a=b; secure", nil, from: plain, to: secure), Script("a=b", "a=b", from: secure, to: plain),
            Script("a=b; secure", nil, from: "http://localhost/", to: "https://localhost/"),
            Script("a=b; secure", nil, from: "https://localhost/", to: "http://localhost/"),
            Script("a=b; secure", nil, from: "http://127.0.0.1/", to: "https://127.0.0.1/"),
        ])
    func secureCookies(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test("an insecure connection cannot replace secure cookies")
    func overlay() throws {
        let jar = CookieJar()
        let safe = try CurlewURI("https://www.h.example/login/en")
        let open = try CurlewURI("http://www.h.example/login/en")
        #expect(jar.store("a=1; secure; path=/login", from: safe))
        for field in [
            "a=2; path=/login", "a=2; path=/login/en", "a=2; domain=h.example; path=/login", "a=2",
            "a=; max-age=0; path=/login",
        ] {
            #expect(!jar.store(field, from: open), "\(field)")
        }
        #expect(!jar.store("a=2; path=/login", from: try CurlewURI("http://x.www.h.example/")))
        #expect(!jar.store("a=2; domain=h.example; path=/login", from: try CurlewURI("http://other.h.example/")))
        #expect(try jar.field(for: "https://www.h.example/login") == "a=1")
        // Other names, paths outside the cookie's path, and other hosts are not protected.
        #expect(jar.store("b=2; path=/login", from: open))
        #expect(jar.store("a=2; path=/", from: open))
        #expect(jar.store("a=2; path=/logins", from: open))
        #expect(jar.store("a=2; path=/login", from: try CurlewURI("http://other.h.example/")))
        // A secure connection may replace the cookie.
        #expect(jar.store("a=3; path=/login", from: safe))
        #expect(jar.store("a=4; path=/login", from: open))
        #expect(try jar.field(for: "http://www.h.example/login") == "a=4; b=2; a=2")
    }

    @Test(
        "prefixes apply in any letter case, and to values without a name",
        arguments: [
            Script("__Secure-a=1; secure", "__Secure-a=1", from: secure), Script("__Secure-a=1", nil, from: secure),
            Script("__SECURE-a=1", nil, from: secure), Script("__secure-a=1; secure", nil, from: plain, to: secure),
            Script("__Secure-a=1; secure; domain=h.example", "__Secure-a=1", from: secure),
            Script("__Host-a=1; secure; path=/", "__Host-a=1", from: secure),
            Script("__HoSt-a=1; secure; path=/", "__HoSt-a=1", from: secure),
            Script("__Host-a=1; secure", nil, from: "https://h.example/"),
            Script("__Host-a=1; secure; path=/d", nil, from: secure), Script("__Host-a=1; path=/", nil, from: secure),
            Script("__host-a=1; secure; path=/; domain=h.example", nil, from: secure),
            Script("__Host-a=1; secure; path=/; domain=", "__Host-a=1", from: secure),
            Script("__Host-a=1; secure; path=", nil, from: secure),
            Script("__Host-a=1; secure; path=x", "__Host-a=1", from: "https://h.example/"),
            Script("=__Secure-a=1; secure", nil, from: secure), Script("__Host-a; secure; path=/", nil, from: secure),
            Script("=__hOST-a=1; secure; path=/", nil, from: secure), Script("__Hosta=1", "__Hosta=1", from: secure),
            Script("__Host=1", "__Host=1", from: secure), Script("a=__Host-b", "a=__Host-b", from: secure),
        ])
    func prefixes(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test(
        "the last SameSite attribute applies, and None needs Secure",
        arguments: sameSites)
    func sameSite(_ field: String, _ expected: CookieJar.Cookie.SameSite?) throws {
        let jar = CookieJar()
        #expect(jar.store(field, from: try CurlewURI(secure)))
        #expect(jar.cookies[0].sameSite == expected)
        #expect(!jar.store("b=c; samesite=none", from: try CurlewURI(secure)))
    }

    @Test(
        "Max-Age overrides Expires, both are limited to 400 days, and invalid values are ignored",
        arguments: lifetimes)
    func lifetime(_ field: String, _ expected: Int64?) throws {
        let jar = CookieJar { 1_700_000_000 }
        #expect(jar.store(field, from: try CurlewURI(plain)))
        #expect(jar.cookies[0].expirySeconds.map { $0 - 1_700_000_000 } == expected)
    }

    @Test(
        "a date in the past deletes the cookie",
        arguments: [
            "max-age=0", "max-age=-1", "max-age=-0", "max-age=-99999999999999999999999",
            "expires=Thu, 01 Jan 1970 00:00:00 GMT", "expires=Tue, 14 Nov 2023 22:13:20 GMT",
            "expires=1 1 jan 1601 0:0:0",
            "max-age=0; expires=Fri, 01 Jan 2038 00:00:00 GMT",
        ])
    func deletion(_ attributes: String) throws {
        let jar = CookieJar { 1_700_000_000 }
        let uri = try CurlewURI(plain)
        #expect(!jar.store("a=b; \(attributes)", from: uri))
        #expect(jar.store("a=b", from: uri) && jar.store("c=d", from: uri))
        #expect(!jar.store("a=b; \(attributes)", from: uri))
        #expect(try jar.field(for: plain) == "c=d")
    }

    @Test("a cookie expires exactly to the second")
    func expiry() throws {
        let time = SetTime()
        let jar = CookieJar { time.seconds }
        jar.store("a=b; max-age=10", from: try CurlewURI(plain))
        time.advance(by: 9)
        #expect(try jar.field(for: plain) == "a=b")
        time.advance(by: 1)
        #expect(try jar.field(for: plain) == nil)
        #expect(jar.cookies.isEmpty)
        // A clock that is set back does not restore the cookie.
        time.advance(by: -5)
        #expect(jar.cookies.isEmpty)
    }

    @Test("an expired cookie neither blocks a new one nor passes on its creation time")
    func afterExpiry() throws {
        let time = SetTime()
        let jar = CookieJar { time.seconds }
        jar.store("a=1; secure; max-age=10", from: try CurlewURI(secure))
        jar.store("b=1; max-age=10", from: try CurlewURI(secure))
        jar.store("c=1", from: try CurlewURI(secure))
        time.advance(by: 10)
        #expect(jar.store("a=2; domain=h.example", from: try CurlewURI("http://x.h.example/d/")))
        #expect(jar.store("b=2", from: try CurlewURI(plain)))
        #expect(try jar.field(for: plain) == "c=1; a=2; b=2")
    }
}
