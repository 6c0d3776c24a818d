internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for Retry-After and HTTP dates. A wait must never be negative, digits must mean seconds, and a date
/// written in any of the three forms must be read as the same date.
///
/// The input is the lines of Retry-After fields; the last nine bytes make a separate date.
@main
struct FuzzRetryAfter: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        checkWriting(choices.word(), choices.number(below: 3))
        var fields = HTTPFields()
        for line in choices.rest.split(separator: .lineFeed) {
            fields.append(HTTPField(name: .retryAfter, lenientValue: line))
        }
        let now = HTTPDate(secondsSince1970: 1_800_000_000)
        let wait = RetryAfter.wait(fields, now: now)
        require(wait.map { $0 >= .zero && $0 <= RetryAfter.longest } ?? true, "a wait is out of bounds")
        for value in fields[values: .retryAfter] { check(value, wait, now) }
    }

    private static func check(_ value: String, _ wait: Duration?, _ now: HTTPDate) {
        if !value.isEmpty, value.utf8.allSatisfy(\.isDigit) {
            let seconds = min(.seconds(Int64(value) ?? .max), RetryAfter.longest)
            require(wait.map { $0 >= seconds } ?? false, "seconds are not waited for")
        }
        if let number = SecondsText.roundedUp(Array(value.utf8)[...]) {
            let seconds = min(.seconds(number), RetryAfter.longest)
            require(wait.map { $0 >= seconds } ?? false, "a number with a fraction or a unit is not waited for")
        }
        guard let date = HTTPDate(value, now: now) else { return }
        for text in [value.lowercased(), value.uppercased()] {
            requireEqual(HTTPDate(text, now: now), date, "a date is another in another case")
        }
        require(value.utf8.count >= 24 && value.utf8.count <= 33, "a date is too short or too long: \(value)")
        requireEqual(date, HTTPDate(PlainDate(date.secondsSince1970).fixed), "a date is another when it is written")
    }

    /// Checks dates of the years 1 to 9999; for the form with two-digit years, only dates that are unambiguous.
    private static func checkWriting(_ word: UInt64, _ form: Int) {
        let first: Int64 = -62_135_596_800
        let seconds = first + Int64(word % UInt64(253_402_300_800 - first))
        let date = PlainDate(seconds)
        let now = HTTPDate(secondsSince1970: seconds)
        let text = [date.fixed, date.obsolete, date.asctime][form]
        if form == 1, seconds < 0 { return }
        requireEqual(HTTPDate(text, now: now)?.secondsSince1970, seconds, "\(text) is read as another date")
    }
}
