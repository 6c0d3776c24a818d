import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Rate limit fields")
struct RateLimitFieldsTests {
    private func quota(_ fields: [(String, String)]) -> ServerQuota? {
        var made = HTTPFields()
        for (name, value) in fields { made.append(HTTPField(name: .init(name)!, value: value)) }
        return ServerQuota(made, now: HTTPDate(secondsSince1970: 1_800_000_000))
    }

    @Test("a list of policies gives the remainder of the strictest one")
    func policies() {
        #expect(quota([("RateLimit", #""default";r=50;t=30"#)]) == ServerQuota(remaining: 50, reset: .seconds(30)))
        #expect(
            quota([("RateLimit", #""day";r=500;t=4000, "burst";r=3;t=1"#)])
                == ServerQuota(remaining: 3, reset: .seconds(1)))
        #expect(
            quota([("RateLimit", #""a";r=0;t=5"#), ("RateLimit", #""b";r=0;t=9"#)])
                == ServerQuota(remaining: 0, reset: .seconds(9)))
        #expect(
            quota([("RateLimit", #""a";r=7"#), ("RateLimit-Policy", #""a";q=100;w=60"#)])
                == ServerQuota(remaining: 7, reset: .seconds(60)))
    }

    @Test("a single dictionary, and two fields with and without X-, are parsed too")
    func olderForms() {
        #expect(
            quota([("RateLimit", "limit=100, remaining=50, reset=30")])
                == ServerQuota(remaining: 50, reset: .seconds(30)))
        #expect(
            quota([("RateLimit-Limit", "100"), ("RateLimit-Remaining", "5"), ("RateLimit-Reset", "7")])
                == ServerQuota(remaining: 5, reset: .seconds(7)))
        #expect(
            quota([("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1800000060")])
                == ServerQuota(remaining: 0, reset: .seconds(60)))
        #expect(
            quota([("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1700000000")])
                == ServerQuota(remaining: 0, reset: .zero))
        #expect(quota([("X-RateLimit-Remaining", "3")]) == ServerQuota(remaining: 3, reset: nil))
    }

    @Test("extreme numbers are limited")
    func large() {
        #expect(
            quota([("RateLimit-Remaining", "9223372036854775807"), ("RateLimit-Reset", "999999999")])
                == ServerQuota(remaining: .max, reset: .seconds(86_400)))
        #expect(
            quota([("RateLimit", #""a";r=999999999999999;t=999999999999999"#)])
                == ServerQuota(remaining: 999_999_999_999_999, reset: .seconds(86_400)))
    }

    @Test(
        "an invalid field is ignored",
        arguments: [
            [("RateLimit", "")], [("RateLimit", "x")], [("RateLimit", #""a";r=-1;t=5"#)],
            [("RateLimit", #""a";r=1;t=-5"#)],
            [("RateLimit", #""a";r=9223372036854775808"#)], [("RateLimit", #""a";r=1.5;t=2"#)],
            [("RateLimit", #"("a" "b");r=1;t=1"#)], [("RateLimit", "limit=1, reset=5")], [("RateLimit", "remaining=x")],
            [("RateLimit-Remaining", "9223372036854775808")], [("RateLimit-Remaining", "-1")],
            [("RateLimit-Remaining", "1 2")], [("RateLimit-Remaining", "1"), ("RateLimit-Reset", "soon")],
            [("X-RateLimit-Remaining", "")], [("RateLimit-Policy", #""a";q=1;w=1"#)], [],
        ])
    func nonsense(_ fields: [(String, String)]) {
        #expect(quota(fields) == nil)
    }
}
