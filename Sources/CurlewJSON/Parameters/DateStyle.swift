internal import CurlewSupport
public import FoundationEssentials

extension ParameterValue {
    /// The form of dates.
    public struct DateStyle: Sendable {
        enum Kind: Sendable {
            case description
            case iso8601
            case iso8601WithMilliseconds
            case seconds
            case milliseconds
            case custom(@Sendable (Date) throws -> ParameterValue)
        }

        let kind: Kind

        /// `2001-01-01 00:00:00 +0000`: Foundation's description of a date. Whole seconds, rounded down.
        public static let description = ParameterValue.DateStyle(kind: .description)

        /// `2001-01-01T00:00:00Z` (RFC 3339). Whole seconds, rounded down.
        public static let iso8601 = ParameterValue.DateStyle(kind: .iso8601)

        /// `2001-01-01T00:00:00.000Z`, rounded down.
        public static let iso8601WithMilliseconds = ParameterValue.DateStyle(kind: .iso8601WithMilliseconds)

        /// Seconds since 1970 as a number, with up to six decimals.
        public static let secondsSince1970 = ParameterValue.DateStyle(kind: .seconds)

        /// Milliseconds since 1970 as a whole number, rounded to the nearest.
        public static let millisecondsSince1970 = ParameterValue.DateStyle(kind: .milliseconds)

        /// The result of a closure. It must be text, a number, a boolean or null.
        public static func custom(_ write: @escaping @Sendable (Date) throws -> ParameterValue)
            -> ParameterValue.DateStyle
        {
            ParameterValue.DateStyle(kind: .custom(write))
        }

        /// The text or number to write. The forms of text are limited to the years 1 to 9999.
        package func value(of date: Date) throws(ParameterFailure) -> ParameterValue {
            switch kind {
            case .description: return .string(try CalendarDate(date).described)
            case .iso8601: return .string(try CalendarDate(date).iso8601)
            case .iso8601WithMilliseconds: return .string(try CalendarDate(date).iso8601WithMilliseconds)
            case .seconds: return ParameterValue(try Self.seconds(date))
            case .milliseconds: return ParameterValue(Int64((try Self.seconds(date) * 1000).rounded()))
            case .custom(let write): return try Self.custom(write, date)
            }
        }

        private static func seconds(_ date: Date) throws(ParameterFailure) -> Double {
            let seconds = date.timeIntervalSince1970
            guard abs(seconds) < 1e15 else { throw ParameterFailure("is a date too far away to be counted in seconds") }
            // Dates count from 2001; the rounding corrects the loss of precision near 1970.
            return abs(seconds) < 9e9 ? (seconds * 1_000_000).rounded() / 1_000_000 : seconds
        }

        private static func custom(
            _ write: @Sendable (Date) throws -> ParameterValue, _ date: Date
        ) throws(ParameterFailure) -> ParameterValue {
            let value: ParameterValue
            do { value = try write(date) } catch {
                throw ParameterFailure("is a date that the custom style could not write", underlying: error)
            }
            switch value {
            case .null, .boolean, .number, .string: return value
            case .data, .date, .array, .dictionary, .set:
                throw ParameterFailure("is a date of which the custom style made neither text nor a number")
            }
        }
    }
}

/// A date of the Gregorian calendar in UTC, with the time of day.
package struct CalendarDate {
    let year: Int
    let month: Int
    let day: Int
    /// The milliseconds since midnight.
    let time: Int

    /// - Throws: ``ParameterFailure`` for a date outside the years 1 to 9999, which four digits can express.
    package init(_ date: Date) throws(ParameterFailure) {
        let seconds = date.timeIntervalSince1970
        guard seconds >= -62_135_596_800, seconds < 253_402_300_800 else {
            throw ParameterFailure("is a date outside the years 1 to 9999")
        }
        // Dates count from 2001, so a millisecond near 1970 may be slightly too early: round to the nearest microsecond
        // first.
        let milliseconds = Int(((seconds * 1_000_000).rounded() / 1000).rounded(.down))
        let days = milliseconds.floorDivided(by: 86_400_000)
        time = milliseconds - days * 86_400_000
        let date = CivilDate(daysSince1970: days)
        (year, month, day) = (date.year, date.month, date.day)
    }

    /// `2001-01-01 00:00:00 +0000`, Foundation's description of a date.
    var described: String { "\(date) \(clock) +0000" }

    /// `2001-01-01T00:00:00Z` (RFC 3339).
    package var iso8601: String { "\(date)T\(clock)Z" }

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

extension ParameterValue {
    /// The form of bytes where only text is possible.
    public struct DataStyle: Sendable {
        enum Kind: Sendable {
            case base64
            case base64URL
            case hexadecimal
            case custom(@Sendable ([UInt8]) throws -> String)
        }

        let kind: Kind

        /// Base 64 with padding (RFC 4648 §4).
        public static let base64 = ParameterValue.DataStyle(kind: .base64)

        /// Base 64 with `-` and `_`, without padding (RFC 4648 §5).
        public static let base64URL = ParameterValue.DataStyle(kind: .base64URL)

        /// Two lower-case hexadecimal digits a byte.
        public static let hexadecimal = ParameterValue.DataStyle(kind: .hexadecimal)

        /// The result of a closure.
        public static func custom(_ write: @escaping @Sendable ([UInt8]) throws -> String)
            -> ParameterValue.DataStyle
        {
            ParameterValue.DataStyle(kind: .custom(write))
        }

        package func text(of bytes: [UInt8]) throws(ParameterFailure) -> String {
            switch kind {
            case .base64: return Data(bytes).base64EncodedString()
            case .base64URL: return Self.base64URL(bytes)
            case .hexadecimal: return Self.hexadecimal(bytes)
            case .custom(let write):
                do { return try write(bytes) } catch {
                    throw ParameterFailure("is data that the custom style could not write", underlying: error)
                }
            }
        }

        private static func base64URL(_ bytes: [UInt8]) -> String {
            let text = Data(bytes).base64EncodedString().utf8.compactMap { byte -> UInt8? in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                case UInt8(ascii: "="): nil
                default: byte
                }
            }
            return String(decoding: text, as: UTF8.self)
        }

        private static func hexadecimal(_ bytes: [UInt8]) -> String {
            let digits = Array("0123456789abcdef".utf8)
            return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
        }
    }
}
