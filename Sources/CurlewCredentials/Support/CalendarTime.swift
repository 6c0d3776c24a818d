internal import FoundationEssentials

/// A moment in UTC by the parts of the Gregorian calendar, to the second.
struct CalendarTime: Hashable, Sendable {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int
}

extension CalendarTime {
    /// The moment of a date, within the years 1 to 9999. Fractions of a second are left out.
    init(_ date: Date) {
        let seconds = Self.wholeSeconds(of: date)
        let secondOfDay = Int((seconds % 86_400 + 86_400) % 86_400)
        let days = Int((seconds - Int64(secondOfDay)) / 86_400)
        (year, month, day) = Self.parts(ofDay: days)
        hour = secondOfDay / 3600
        minute = secondOfDay / 60 % 60
        second = secondOfDay % 60
    }

    /// Seconds since 1970, rounded down, within the years 1 to 9999.
    static func wholeSeconds(of date: Date) -> Int64 {
        // Of NaN `min` makes the end.
        Int64(max(-62_135_596_800, min(253_402_300_799, date.timeIntervalSince1970)).rounded(.down))
    }

    /// The date; nil for a day that does not exist.
    var date: Date? {
        guard (1...12).contains(month), (1...9999).contains(year), day >= 1, day <= Self.length(month: month, of: year),
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        let seconds = Self.day(year, month, day) * 86_400 + hour * 3600 + minute * 60 + min(second, 59)
        return Date(timeIntervalSince1970: Double(seconds))
    }

    /// `20150830T123600Z`
    var compactText: String { "\(compactDay)T\(Self.two(hour))\(Self.two(minute))\(Self.two(second))Z" }

    /// `20150830`
    var compactDay: String {
        let digits = String(year)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits + Self.two(month) + Self.two(day)
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    // MARK: Calendar

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func length(month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970. The year is taken to begin in March, so that the day of a leap year comes last.
    private static func day(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }

    private static func parts(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let year = yearOfEra + era * 400
        return (month < 10 ? year : year + 1, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
    }
}
