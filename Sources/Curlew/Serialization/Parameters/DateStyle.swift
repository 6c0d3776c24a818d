public import FoundationEssentials

/// How points in time are written.
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

    /// `2001-01-01 00:00:00 +0000`: what AFNetworking writes into forms and queries. Whole seconds, rounded down.
    public static let description = DateStyle(kind: .description)

    /// `2001-01-01T00:00:00Z` (RFC 3339). Whole seconds, rounded down.
    public static let iso8601 = DateStyle(kind: .iso8601)

    /// `2001-01-01T00:00:00.000Z`, rounded down.
    public static let iso8601WithMilliseconds = DateStyle(kind: .iso8601WithMilliseconds)

    /// Seconds since 1970 as a number, with up to six places after the point.
    public static let secondsSince1970 = DateStyle(kind: .seconds)

    /// Milliseconds since 1970 as a whole number, rounded to the nearest.
    public static let millisecondsSince1970 = DateStyle(kind: .milliseconds)

    /// Whatever the closure makes of a date. It must be text, a number, a boolean or null.
    public static func custom(_ write: @escaping @Sendable (Date) throws -> ParameterValue) -> DateStyle {
        DateStyle(kind: .custom(write))
    }

    /// The text or number to write. Forms of text reach over the years 1 to 9999.
    func value(of date: Date) throws(ParameterFailure) -> ParameterValue {
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
        // Dates count from 2001; what 0.1 seconds after 1970 loses by that is put right.
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
