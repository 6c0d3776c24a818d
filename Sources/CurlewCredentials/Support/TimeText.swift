internal import Curlew
internal import FoundationEssentials

/// Parsers of the two forms of dates that peers send.
enum TimeText {
    /// Parses a value of the field Date (RFC 9110 §5.6.7); nil for invalid text.
    static func httpDate(_ text: String) -> Date? {
        HTTPDate(text).map { Date(timeIntervalSince1970: Double($0.secondsSince1970)) }
    }

    /// Parses `2025-01-31T10:20:30Z`, optionally with a fraction of a second or an offset such as `+01:00` (RFC 3339).
    static func internetDate(_ text: String) -> Date? {
        let bytes = Array(text.utf8.prefix(64))
        guard bytes.count >= 20, bytes[4] == .minus, bytes[7] == .minus, bytes[10].lowercasedASCII == UInt8(ascii: "t"),
            bytes[13] == .colon, bytes[16] == .colon,
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]),
            let second = number(bytes[17..<19]),
            let date = CalendarTime(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second
            )?.date
        else { return nil }
        var rest = bytes[19...]
        if rest.first == .dot {
            let fraction = rest.dropFirst().prefix(while: \.isDigit)
            guard !fraction.isEmpty else { return nil }
            rest = rest.dropFirst(1 + fraction.count)
        }
        return offset(rest).map { date.addingTimeInterval(-Double($0)) }
    }

    /// The offset of a zone from UTC in seconds.
    private static func offset(_ zone: ArraySlice<UInt8>) -> Int? {
        if zone.count == 1, zone.first?.lowercasedASCII == UInt8(ascii: "z") { return 0 }
        let bytes = Array(zone)
        guard bytes.count == 6, bytes[3] == .colon, let hours = number(bytes[1..<3]),
            let minutes = number(bytes[4..<6]),
            hours < 24, minutes < 60
        else { return nil }
        switch bytes[0] {
        case .plus: return hours * 3600 + minutes * 60
        case .minus: return -(hours * 3600 + minutes * 60)
        default: return nil
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.allSatisfy(\.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
