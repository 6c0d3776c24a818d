internal import CurlewPlatform

/// A date and time in HTTP's precision of one second (RFC 9110 §5.6.7).
package struct HTTPDate: Hashable, Comparable, Sendable {
    /// The seconds since 1970 without leap seconds; negative before 1970.
    package let secondsSince1970: Int64

    package init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

    /// Parses a date in one of the three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, and the obsolete forms `Sunday,
    /// 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    ///
    /// The case of names is ignored: RFC 9110 only allows one case, but RFC 9111 §4.2 requires caches to accept any.
    /// The name of the day must be valid, but need not match the date. The zone must be GMT. A day that does not exist,
    /// such as 30 February, is invalid. A leap second counts as the second before it.
    /// - Parameters:
    ///   - text: The value of the field, without surrounding spaces.
    ///   - now: The reference for a year of two digits, which is at most 50 years later.
    package init?(_ text: String, now: HTTPDate = .now) {
        var reader = HTTPDateReader(text)
        guard let seconds = reader.read(yearNow: now.approximateYear) else { return nil }
        secondsSince1970 = seconds
    }

    /// The present time of this machine's clock.
    package static var now: HTTPDate { HTTPDate(secondsSince1970: Int64(time(nil))) }

    package static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.secondsSince1970 < right.secondsSince1970 }

    /// The year; it may be wrong within some hours of the turn of the year.
    private var approximateYear: Int { 1970 + Int(secondsSince1970 / 31_556_952) }
}

/// A parser for the three forms, from left to right.
private struct HTTPDateReader {
    private var rest: ArraySlice<UInt8>

    /// The longest date has 33 bytes.
    init(_ text: String) { rest = Array(text.utf8.prefix(64))[...] }

    /// The parts of a date and its time.
    private struct Parts {
        var year = 0
        var month = 0
        var day = 0
        var secondOfDay = 0
    }

    /// The seconds since 1970.
    mutating func read(yearNow: Int) -> Int64? {
        let dayName = name()
        let isShort = Self.days.contains { dayName.isEqual(ignoringCase: $0) }
        let parts: Parts?
        if isShort, take(", ") {
            parts = fixed()
        } else if Self.longDays.contains(where: { dayName.isEqual(ignoringCase: $0) }), take(", ") {
            parts = obsolete(yearNow: yearNow)
        } else if isShort, take(" ") {
            parts = asctime()
        } else {
            return nil
        }
        guard let parts, rest.isEmpty else { return nil }
        return Self.seconds(parts)
    }

    /// The form `06 Nov 1994 08:49:37 GMT`.
    private mutating func fixed() -> Parts? {
        var parts = Parts()
        guard let day = number(2), take(" "), let month = month(), take(" "), let year = number(4), take(" "),
            let second = secondOfDay(), zone()
        else { return nil }
        (parts.day, parts.month, parts.year, parts.secondOfDay) = (day, month, year, second)
        return parts
    }

    /// The form `06-Nov-94 08:49:37 GMT`.
    private mutating func obsolete(yearNow: Int) -> Parts? {
        var parts = Parts()
        guard let day = number(2), take("-"), let month = month(), take("-"), let year = number(2), take(" "),
            let second = secondOfDay(), zone()
        else { return nil }
        (parts.day, parts.month, parts.secondOfDay) = (day, month, second)
        let latest = yearNow + 50
        let offset = (latest - year) % 100
        parts.year = latest - (offset < 0 ? offset + 100 : offset)
        return parts
    }

    /// The form `Nov  6 08:49:37 1994`.
    private mutating func asctime() -> Parts? {
        var parts = Parts()
        guard let month = month(), take(" ") else { return nil }
        guard let day = take(" ") ? number(1) : number(2) else { return nil }
        guard take(" "), let second = secondOfDay(), take(" "), let year = number(4) else { return nil }
        (parts.day, parts.month, parts.year, parts.secondOfDay) = (day, month, year, second)
        return parts
    }

    private mutating func secondOfDay() -> Int? {
        guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
            let second = number(2), second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + min(second, 59)
    }

    private mutating func month() -> Int? {
        let name = name()
        return Self.months.firstIndex { name.isEqual(ignoringCase: $0) }.map { $0 + 1 }
    }

    /// A date with another zone is invalid (RFC 9111 §4.2).
    private mutating func zone() -> Bool { take(" ") && name().isEqual(ignoringCase: "gmt") }

    // MARK: Parts

    private mutating func name() -> ArraySlice<UInt8> {
        let letters = rest.prefix(while: \.isLetter)
        rest = rest.dropFirst(letters.count)
        return letters
    }

    private mutating func number(_ digits: Int) -> Int? {
        let text = rest.prefix(digits)
        guard text.count == digits, text.allSatisfy(\.isDigit) else { return nil }
        rest = rest.dropFirst(digits)
        return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    // MARK: Calendar

    private static func seconds(_ parts: Parts) -> Int64? {
        guard let date = CivilDate(year: parts.year, month: parts.month, day: parts.day) else { return nil }
        return Int64(date.daysSince1970) * 86_400 + Int64(parts.secondOfDay)
    }

    private static let months: [StaticString] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let days: [StaticString] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let longDays: [StaticString] = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]
}
