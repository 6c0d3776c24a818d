/// A writer for dates in the three forms of HTTP, which counts years and months one by one.
struct PlainDate {
    private var year = 1
    private var month = 0
    private var day: Int64
    private let weekday: Int
    private let second: Int64

    init(_ secondsSince1970: Int64) {
        let seconds = secondsSince1970 + 719_162 * 86_400
        day = seconds / 86_400
        second = seconds % 86_400
        // The first day of the year 1 was a Monday.
        weekday = Int(day % 7)
        // The calendar repeats itself after 400 years.
        year += Int(day / 146_097) * 400
        day %= 146_097
        while day >= Self.days(in: year) {
            day -= Self.days(in: year)
            year += 1
        }
        while day >= Self.days(in: month, of: year) {
            day -= Self.days(in: month, of: year)
            month += 1
        }
    }

    var fixed: String {
        "\(Self.names[weekday].prefix(3)), \(two(day + 1)) \(Self.months[month]) \(four(year)) \(time) GMT"
    }

    var obsolete: String {
        "\(Self.names[weekday]), \(two(day + 1))-\(Self.months[month])-\(two(Int64(year % 100))) \(time) GMT"
    }

    var asctime: String {
        let number = day + 1 < 10 ? " \(day + 1)" : "\(day + 1)"
        return "\(Self.names[weekday].prefix(3)) \(Self.months[month]) \(number) \(time) \(four(year))"
    }

    private var time: String { "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))" }

    private func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private func four(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func days(in year: Int) -> Int64 { isLeap(year) ? 366 : 365 }

    private static func days(in month: Int, of year: Int) -> Int64 {
        month == 1 && isLeap(year) ? 29 : [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
    }

    private static let names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
