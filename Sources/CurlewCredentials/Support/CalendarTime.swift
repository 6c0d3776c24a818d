internal import Curlew
internal import FoundationEssentials

/// A moment in UTC, in the Gregorian calendar, with a precision of one second.
struct CalendarTime: Hashable, Sendable {
    /// The seconds since 1970, within the years 1 to 9999.
    let seconds: Int64

    /// The moment of a date, within the years 1 to 9999. Fractions of a second are dropped.
    init(_ date: Date) { seconds = Self.wholeSeconds(of: date) }

    /// The moment of a day and a time; nil if it does not exist. A leap second counts as the second before it.
    init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard year <= 9999, let date = CivilDate(year: year, month: month, day: day),
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        seconds = Int64(date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + min(second, 59))
    }

    /// The seconds since 1970, rounded down, within the years 1 to 9999.
    static func wholeSeconds(of date: Date) -> Int64 {
        // The result of `min` for NaN is the upper bound.
        Int64(max(-62_135_596_800, min(253_402_300_799, date.timeIntervalSince1970)).rounded(.down))
    }

    var date: Date { Date(timeIntervalSince1970: Double(seconds)) }

    private var secondOfDay: Int { Int((seconds % 86_400 + 86_400) % 86_400) }

    /// The compact form: `20150830T123600Z`.
    var compactText: String {
        let parts = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60]
        return "\(compactDay)T\(parts.map { Self.padded($0, 2) }.joined())Z"
    }

    /// The compact form of the day: `20150830`.
    var compactDay: String {
        let day = CivilDate(daysSince1970: (Int(seconds) - secondOfDay) / 86_400)
        return Self.padded(day.year, 4) + Self.padded(day.month, 2) + Self.padded(day.day, 2)
    }

    private static func padded(_ number: Int, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}
