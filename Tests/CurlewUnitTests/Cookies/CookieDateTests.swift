import Testing

@testable import CurlewCore

private let dates: [(String, Int64)] = [
    ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894), ("Wednesday, 09-Jun-21 10:18:14 GMT", 1_623_233_894),
    ("Wed Jun  9 10:18:14 2021", 1_623_233_894), ("2021 jun 9 10:18:14", 1_623_233_894),
    ("10:18:14 09 Jun 2021", 1_623_233_894), ("9/June/2021;10:18:14", 1_623_233_894),
    ("[9]_(Juneteenth)~2021{10:18:14}", 1_623_233_894), ("Mon, 10-Dec-2007 17:02:24 GMT", 1_197_306_144),
    ("Mon, 09-Dec-2007 17:02:24 -0500", 1_197_219_744), ("09th Jun 2021th 10:18:14pm", 1_623_233_894),
    ("1 jan 1970 0:0:0", 0), ("1 jan 1970 00:00:01", 1), ("31 dec 1969 23:59:59", -1),
    ("1 jan 70 0:0:0", 0), ("1 jan 99 0:0:0", 915_148_800), ("1 jan 69 0:0:0", 3_124_224_000),
    ("1 jan 00 0:0:0", 946_684_800), ("29 feb 2000 0:0:0", 951_782_400), ("1 jan 1601 0:0:0", -11_644_473_600),
    ("31 dec 9999 23:59:59", 253_402_300_799), ("1 jan 2020 3:04:05", 1_577_847_845),
    // The first token of a kind applies, and a token that was parsed as a day cannot be a year.
    ("10:18:14 09 Jun 2021 11:19:15 10 Jul 2022", 1_623_233_894), ("21 Jun 09 10:18:14", 1_245_579_494),
    ("009 Jun 21 10:18:14", 1_245_579_494),
    // A second time is parsed as a day, because it begins like one.
    ("00:00:00 1:2:3 jan 1970", 0), ("1 jan 070 0:0:0", 0), ("1 jan 002 0:0:0", 1_009_843_200),
]

@Suite("The dates of Expires")
struct CookieDateTests {
    @Test(
        "a date is parsed in every order and punctuation that RFC 6265 allows",
        arguments: dates)
    func valid(_ text: String, _ seconds: Int64) {
        #expect(CookieDate.seconds(Array(text.utf8)[...]) == seconds)
    }

    @Test(
        "a text that is not a date is rejected",
        arguments: [
            "", "0", "-1", "never", "Wed, 09 Jun 2021", "Jun 2021 10:18:14", "09 2021 10:18:14", "09 Jun 10:18:14",
            "09 Jun 2021 10:18", "09 Jun 2021 10:18:", "09 Jun 2021 24:00:00", "09 Jun 2021 23:60:00",
            "09 Jun 2021 23:59:60", "00 Jun 2021 10:18:14", "32 Jun 2021 10:18:14", "31 Jun 2021 10:18:14",
            "29 Feb 2021 10:18:14", "29 Feb 1900 10:18:14", "30 Feb 2000 10:18:14", "09 Jun 1600 10:18:14",
            "09 Jun 20210 10:18:14", "09 Jun 1 10:18:14", "09 Ju 2021 10:18:14",
            "09 Jun 2021 010:18:14", "09 Jun 2021 10:018:14", "09 Jun 2021 10:18:014", "09 Jun 2021 1018:14",
            "09 Jün 2021 10:18:14", "09Jun2021 10:18:14", "Wed,09:Jun:2021 10:18:14",
        ])
    func invalid(_ text: String) {
        #expect(CookieDate.seconds(Array(text.utf8)[...]) == nil)
    }
}
