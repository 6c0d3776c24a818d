import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// RFC 9111 §4.2, as functions of fields and times.
@Suite("The freshness of stored responses")
struct CacheFreshnessTests {
    static let now: Int64 = 1_800_000_000

    private func entry(_ fields: HTTPFields, _ code: Int = 200, asked: Int64 = now, came: Int64 = now)
        -> HTTPCache.Entry
    {
        HTTPCache.Entry(
            id: HTTPCache.Entry.ID(), key: HTTPCache.Entry.Key(uri: "http://a/"), uri: "http://a/",
            head: HTTPResponse(status: .init(code: code), headerFields: fields), requestTime: asked, responseTime: came,
            bodySize: 0)
    }

    private func lifetime(_ fields: HTTPFields, _ mode: HTTPCache.Mode = .private, code: Int = 200) -> Int64 {
        Freshness(of: entry(fields, code), at: Self.now, mode: mode, heuristicLimit: 86_400).lifetime
    }

    private func age(_ fields: HTTPFields, asked: Int64 = 0, came: Int64 = 0, after: Int64 = 0) -> Int64 {
        let entry = entry(fields, asked: Self.now + asked, came: Self.now + came)
        return Freshness(of: entry, at: Self.now + came + after, mode: .private, heuristicLimit: 86_400).age
    }

    @Test("§4.2.1: s-maxage precedes max-age in a shared cache, and max-age precedes Expires")
    func order() {
        let fields: HTTPFields = [
            .cacheControl: "max-age=60, s-maxage=120", .expires: httpDate(Self.now + 30), .date: httpDate(Self.now),
        ]
        #expect(lifetime(fields) == 60)
        #expect(lifetime(fields, .shared) == 120)
        #expect(lifetime([.expires: httpDate(Self.now + 30), .date: httpDate(Self.now - 10)]) == 40)
        #expect(lifetime([.expires: httpDate(Self.now + 30)]) == 30)
    }

    @Test(
        "§4.2.1: an invalid max-age, or two different ones, make a response stale",
        arguments: [
            ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age=60, max-age=60", 60),
            ("max-age=60, max-age=90", 0), ("max-age=-1", 0), ("max-age=1.5", 0), ("max-age=", 0), ("max-age", 0),
            ("max-age=60s", 0), ("max-age =60", 0), ("max-age= 60", 0), ("x=\"max-age=5\"", 0), ("max-age=60;", 0),
            ("foo, max-age=60, bar=\"a,b\"", 60), ("max-age=99999999999999999999", 1 << 31), (",,max-age=60,,", 60),
        ] as [(String, Int64)])
    func maxAge(_ text: String, _ expected: Int64) {
        #expect(lifetime([.cacheControl: text]) == expected)
    }

    @Test(
        "§5.3: an Expires that is not a date lies in the past",
        arguments: ["0", "-1", "", "now", "Thu, 01 Jan 1970 00:00:00", "Thu, 31 Feb 2026 00:00:00 GMT", "2026-11-22"])
    func wrongExpires(_ text: String) {
        #expect(lifetime([.expires: text, .lastModified: httpDate(Self.now - 1000)]) == 0)
    }

    @Test("§5.3: dates at both ends of the calendar neither trap nor last forever")
    func ends() {
        #expect(lifetime([.expires: "Fri, 31 Dec 9999 23:59:59 GMT"]) == 1 << 31)
        #expect(lifetime([.expires: "Mon, 01 Jan 0001 00:00:00 GMT"]) == 0)
        #expect(lifetime([.expires: httpDate(Self.now), .date: "Fri, 31 Dec 9999 23:59:59 GMT"]) == 0)
        #expect(age([.date: "Mon, 01 Jan 0001 00:00:00 GMT"]) == 1 << 31)
    }

    @Test("§4.2.2: the default lifetime is a tenth of the time since the last change, within a limit")
    func heuristic() {
        #expect(lifetime([.date: httpDate(Self.now), .lastModified: httpDate(Self.now - 1000)]) == 100)
        #expect(lifetime([.date: httpDate(Self.now), .lastModified: httpDate(Self.now - 100_000_000)]) == 86_400)
        #expect(lifetime([.date: httpDate(Self.now), .lastModified: httpDate(Self.now + 1000)]) == 0)
        #expect(lifetime([:]) == 0)
        #expect(lifetime([.lastModified: httpDate(Self.now - 1000)], code: 302) == 0)
        #expect(lifetime([.lastModified: httpDate(Self.now - 1000), .cacheControl: "public"], code: 302) == 100)
    }

    @Test("RFC 9213: CDN-Cache-Control replaces Cache-Control and Expires in a shared cache")
    func targeted() {
        let fields: HTTPFields = [
            .cdnCacheControl: "max-age=300", .cacheControl: "max-age=60", .expires: httpDate(Self.now + 10),
        ]
        #expect(lifetime(fields, .shared) == 300)
        #expect(lifetime(fields) == 60)
        #expect(lifetime([.cdnCacheControl: "must-revalidate", .expires: httpDate(Self.now + 10)], .shared) == 0)
        // A malformed structured field counts as absent, and so does a value of the wrong type.
        #expect(lifetime([.cdnCacheControl: "max-age=300, =", .cacheControl: "max-age=60"], .shared) == 60)
        #expect(lifetime([.cdnCacheControl: "", .cacheControl: "max-age=60"], .shared) == 60)
        #expect(lifetime([.cdnCacheControl: "max-age=\"300\", x", .cacheControl: "max-age=60"], .shared) == 0)
    }

    @Test("§4.2.3: the age is the maximum from Age, Date and the delay, plus the time since then")
    func ages() {
        #expect(age([.date: httpDate(Self.now - 20)]) == 20)
        #expect(age([.date: httpDate(Self.now), .age: "30"]) == 30)
        #expect(age([.date: httpDate(Self.now - 20), .age: "30"], after: 5) == 35)
        #expect(age([.date: httpDate(Self.now), .age: "30"], asked: -4, came: 0) == 34)
        #expect(age([.date: httpDate(Self.now + 500)], after: 7) == 7)
        #expect(age([:], after: 9) == 9)
    }

    @Test(
        "§5.1: an Age that is not a number is ignored, and an excessive one is limited to the largest value",
        arguments: [
            ("abc", 0), ("-1", 0), ("", 0), ("9223372036854775808", 1 << 31), ("99999999999999999999", 1 << 31),
            ("10, 20", 10), (" 10", 10), ("7200.0", 0), ("7200.", 0), ("7200s", 0), ("7200 s", 0), ("+7200", 0),
            ("7 200", 0), ("0x10", 0), ("1e3", 0), ("\"7200\"", 0), ("abc, 20", 0), (", 20", 0), ("10 ,20", 10),
            ("7200;x", 0), ("٧", 0), ("0007", 7),
        ] as [(String, Int64)])
    func wrongAge(_ text: String, _ expected: Int64) {
        #expect(age([.age: text, .date: httpDate(Self.now)]) == expected)
    }

    @Test("dates in another letter case are valid in a cache (RFC 9111 §4.2)")
    func lowerCaseDates() {
        let (date, expires) = (httpDate(Self.now), httpDate(Self.now + 60))
        #expect(lifetime([.date: date.lowercased(), .expires: expires.uppercased()]) == 60)
        #expect(age([.date: httpDate(Self.now - 20).lowercased()]) == 20)
    }

    @Test(
        "an unterminated quoted string hides no later directive",
        arguments: [
            "no-cache=\"set-cookie, no-store", "private=\"x, no-store", "x=\"a\\\", no-store",
            "no-cache=\", no-store, x",
        ])
    func unendedQuotes(_ text: String) { #expect(CacheDirectives([.cacheControl: text]).noStore) }

    @Test("directives are parsed in linear time, whatever their quotes")
    func manyQuotes() {
        for pattern in ["\"\\", "=\"", "a=\"\\\"", "a=\"b,"] {
            let text = String(repeating: pattern, count: 1 << 16)
            #expect(CacheDirectives([.cacheControl: text]).maxAge == nil)
        }
    }

    @Test(
        "an invalid min-fresh matches no stored response",
        arguments: ["min-fresh", "min-fresh=", "min-fresh=x", "min-fresh=1.5", "min-fresh=-1"])
    func minFresh(_ text: String) {
        #expect(CacheDirectives([.cacheControl: text]).minFresh == CacheDirectives.longest)
        #expect(CacheDirectives([.cacheControl: "min-fresh=5"]).minFresh == 5)
    }

    @Test("a response from the future, after the clock was set back, is not fresh")
    func clockSetBack() {
        let entry = entry([.cacheControl: "max-age=100000"])
        let judge = { Freshness(of: entry, at: $0, mode: .private, heuristicLimit: 0).isFresh }
        #expect(judge(Self.now))
        #expect(judge(Self.now - 30))
        #expect(!judge(Self.now - 3600))
    }

    @Test("a response is fresh as long as its lifetime is longer than its age")
    func border() {
        let entry = entry([.cacheControl: "max-age=10", .date: httpDate(Self.now)])
        let fresh = { Freshness(of: entry, at: Self.now + $0, mode: .private, heuristicLimit: 0).isFresh }
        #expect(fresh(9))
        #expect(!fresh(10))
    }
}
