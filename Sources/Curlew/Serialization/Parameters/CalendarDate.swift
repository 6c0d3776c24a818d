internal import FoundationEssentials

/// A point in time as a date of the Gregorian calendar in UTC.
struct CalendarDate {
    private let year: Int
    private let month: Int
    private let day: Int
    /// Milliseconds since midnight.
    private let time: Int

    /// - Throws: ``ParameterFailure`` for what is not in the years 1 to 9999, which four digits can tell.
    init(_ date: Date) throws(ParameterFailure) {
        let seconds = date.timeIntervalSince1970
        guard seconds >= -62_135_596_800, seconds < 253_402_300_800 else {
            throw ParameterFailure("is a date outside the years 1 to 9999")
        }
        // Dates count from 2001, so that a millisecond of 1970 comes a little too early: to the nearest microsecond first.
        let milliseconds = Int(((seconds * 1_000_000).rounded() / 1000).rounded(.down))
        let days = milliseconds.floorDivided(by: 86_400_000)
        time = milliseconds - days * 86_400_000
        // The civil calendar from a count of days, with years that begin in March, so that a leap day comes last.
        let shifted = days + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// `2001-01-01 00:00:00 +0000`, as Foundation describes a date.
    var described: String { "\(date) \(clock) +0000" }

    /// `2001-01-01T00:00:00Z` (RFC 3339).
    var iso8601: String { "\(date)T\(clock)Z" }

    /// `2001-01-01T00:00:00.000Z`.
    var iso8601WithMilliseconds: String { "\(date)T\(clock).\(Self.digits(time % 1000, 3))Z" }

    private var date: String { "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))" }

    private var clock: String {
        let seconds = time / 1000
        return "\(Self.digits(seconds / 3600, 2)):\(Self.digits(seconds / 60 % 60, 2)):\(Self.digits(seconds % 60, 2))"
    }

    private static func digits(_ value: Int, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}

extension Int {
    fileprivate func floorDivided(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
