import Testing

@testable import CurlewCore

@Suite("The three forms of HTTP dates")
struct HTTPDateTests {
    /// 1 July 2026.
    private let now = HTTPDate(secondsSince1970: 1_782_864_000)

    private func seconds(_ text: String) -> Int64? { HTTPDate(text, now: now)?.secondsSince1970 }

    @Test(
        "the three forms of one moment are equal",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func forms(_ text: String) {
        #expect(seconds(text) == 784_111_777)
    }

    @Test("a date is parsed in any letter case (RFC 9111 §4.2)")
    func cases() {
        for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            let alternating = date.enumerated().map { $0.isMultiple(of: 2) ? $1.lowercased() : $1.uppercased() }
            for text in [date.lowercased(), date.uppercased(), alternating.joined()] {
                #expect(seconds(text) == 784_111_777, "\(text)")
            }
        }
        for (number, month) in "jan feb mar apr may jun jul aug sep oct nov dec".split(separator: " ").enumerated() {
            for (day, name) in "mon tue wed thu fri sat sun".split(separator: " ").enumerated() {
                let long = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"][day]
                let expected = seconds("Mon, 01 \(month.prefix(1).uppercased() + month.dropFirst()) 2024 00:00:00 GMT")
                #expect(expected.map { ($0 - 1_704_067_200) / 86_400 / 28 } == Int64(number), "\(month)")
                #expect(seconds("\(name), 01 \(month) 2024 00:00:00 gmt") == expected)
                #expect(seconds("\(long.uppercased()), 01-\(month.uppercased())-24 00:00:00 Gmt") == expected)
                #expect(seconds("\(name.uppercased()) \(month)  1 00:00:00 2024") == expected)
            }
        }
    }

    @Test(
        "days are counted as in the calendar",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Sat, 29 Feb 2020 00:00:00 GMT", 1_582_934_400), ("Thu, 31 Dec 2020 23:59:59 GMT", 1_609_459_199),
            ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800), ("Fri Nov 16 00:00:00 2001", 1_005_868_800),
        ])
    func calendar(_ text: String, _ expected: Int64) {
        #expect(seconds(text) == expected)
    }

    @Test(
        "a two-digit year is at most 50 years ahead",
        arguments: [
            ("Monday, 01-Jan-76 00:00:00 GMT", "Wed, 01 Jan 2076 00:00:00 GMT"),
            ("Monday, 01-Jan-77 00:00:00 GMT", "Sat, 01 Jan 1977 00:00:00 GMT"),
            ("Monday, 01-Jan-26 00:00:00 GMT", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("Monday, 01-Jan-00 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"),
        ])
    func shortYears(_ short: String, _ long: String) throws {
        let expected = try #require(seconds(long))
        #expect(seconds(short) == expected)
    }

    @Test("a leap second is read as the second before it")
    func leapSecond() {
        #expect(seconds("Sat, 31 Dec 2016 23:59:60 GMT") == seconds("Sat, 31 Dec 2016 23:59:59 GMT"))
    }

    @Test(
        "a malformed HTTP date is refused",
        arguments: [
            "", "0", "soon", "Sun", "Sun,", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT ",
            " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
            "Son, 06 Nov 1994 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 utc", "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sat, 01 Jan 0000 00:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
            "Sun, 29 Feb 2100 08:49:37 GMT",
            "Sun, 30 Feb 2024 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
            "Sunday, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
            "Sun Nov 06 08:49:37 1994 GMT", "Sun, 06 Nov 1994 08:49:37 GMTSun", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
            "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 -8:49:37 GMT",
        ])
    func garbage(_ text: String) {
        #expect(seconds(text) == nil)
    }

    @Test("dates are ordered by time, and the current date is after a fixed past one")
    func order() {
        #expect(HTTPDate(secondsSince1970: 1) < HTTPDate(secondsSince1970: 2))
        #expect(HTTPDate.now > HTTPDate(secondsSince1970: 1_700_000_000))
    }
}
