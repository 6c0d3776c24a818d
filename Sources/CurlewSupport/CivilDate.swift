/// A day of the Gregorian calendar, and its number counted from the first day of 1970.
///
/// The computation uses years that begin in March, so that a leap day is the last day of its year.
package struct CivilDate: Hashable {
    package let year: Int
    package let month: Int
    package let day: Int

    /// - Parameter year: A year from 1 on.
    /// - Returns: nil for a day that does not exist.
    package init?(year: Int, month: Int, day: Int) {
        guard year > 0, (1...12).contains(month), (1...Self.length(of: month, in: year)).contains(day) else {
            return nil
        }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the day with this number.
    package init(daysSince1970 days: Int) {
        let shifted = days + Self.daysFromYear0
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The number of the day; it is negative before 1970.
    package var daysSince1970: Int {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - Self.daysFromYear0
    }

    /// The days from 1 March of the year 0 to the beginning of 1970.
    private static let daysFromYear0 = 719_468

    private static func length(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
