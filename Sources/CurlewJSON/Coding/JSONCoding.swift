internal import CurlewSupport
public import FoundationEssentials

/// The JSON dialect of an API: the names of keys, the forms of dates, data and numbers, and the encoder and decoder.
///
/// The same coding encodes and decodes: it reads the text that it writes.
///
/// ```swift
/// let coding = JSONCoding(keys: .snakeCase, dates: .secondsSince1970)
/// let text = try coding.encode(Reading(takenAt: date))
/// let reading = try coding.decode(Reading.self, from: text)
/// ```
public struct JSONCoding: Sendable {
    /// The names of the keys of types in JSON. The keys of dictionaries are not changed.
    public struct Keys: Sendable, Hashable {
        enum Kind { case asWritten, snakeCase }

        let kind: Kind

        /// The names in the types, unchanged.
        public static let asWritten = Keys(kind: .asWritten)
        /// Snake case: `userName` is `user_name`, `baseURLText` is `base_url_text`.
        ///
        /// The decoder converts the names of the type, not those of the text, so every written name is read back:
        /// `user_url` is read for `userURL`. A name of the text that equals the type's own name is read as well.
        public static let snakeCase = Keys(kind: .snakeCase)

        package var naming: ParameterEncoder.KeyNaming { kind == .snakeCase ? .snakeCase : .asWritten }
    }

    /// The form of dates.
    public struct Dates: Sendable, Hashable {
        enum Kind { case iso8601, iso8601WithMilliseconds, secondsSince1970, millisecondsSince1970, secondsSince2001 }

        let kind: Kind

        /// `2026-11-22T08:30:00Z` (RFC 3339). Dates are written in whole seconds, and read with any offset and
        /// fraction.
        public static let iso8601 = Dates(kind: .iso8601)
        /// `2026-11-22T08:30:00.000Z`; read like ``iso8601``.
        public static let iso8601WithMilliseconds = Dates(kind: .iso8601WithMilliseconds)
        /// Seconds since 1970 as a number.
        public static let secondsSince1970 = Dates(kind: .secondsSince1970)
        /// Milliseconds since 1970 as a number.
        public static let millisecondsSince1970 = Dates(kind: .millisecondsSince1970)
        /// Seconds since 2001 as a number, the default of Foundation's coders.
        public static let secondsSince2001 = Dates(kind: .secondsSince2001)
    }

    /// The form of bytes, such as those of a `Data`.
    public struct DataForm: Sendable, Hashable {
        enum Kind { case base64, base64URL }

        let kind: Kind

        /// Base 64 with padding (RFC 4648 §4).
        public static let base64 = DataForm(kind: .base64)
        /// Base 64 with `-` and `_`, written without padding and read with or without it (RFC 4648 §5).
        public static let base64URL = DataForm(kind: .base64URL)
    }

    /// An encoder that replaces Curlew's own. The rules of the coding do not apply to it.
    public protocol Encoder: Sendable {
        func encode(json value: some Encodable) throws -> [UInt8]
    }

    /// A decoder that replaces Curlew's own. Of the rules of the coding only ``JSONCoding/reading`` applies to it.
    public protocol Decoder: Sendable {
        func decode<Value: Decodable>(json: [UInt8], as type: Value.Type) throws -> Value
    }

    /// The names of keys. ``Keys/asWritten`` by default.
    public var keys: Keys
    /// The form of dates. ``Dates/iso8601`` by default.
    public var dates: Dates
    /// The form of bytes. ``DataForm/base64`` by default.
    public var data: DataForm
    /// The treatment of infinity and NaN. ``ParameterValue/NonFiniteStyle/refused`` by default.
    public var nonFinite: ParameterValue.NonFiniteStyle
    /// The rules for reading text. By default the top may be any value.
    public var reading: JSONCoding.ReadingOptions
    /// The encoder of values; nil, the default, is Curlew's own.
    public var encoder: (any Encoder)?
    /// The decoder of values; nil, the default, is Curlew's own.
    public var decoder: (any Decoder)?

    public init(
        keys: Keys = .asWritten, dates: Dates = .iso8601, data: DataForm = .base64,
        nonFinite: ParameterValue.NonFiniteStyle = .refused, reading: JSONCoding.ReadingOptions = .anyValue,
        encoder: (any Encoder)? = nil, decoder: (any Decoder)? = nil
    ) {
        self.keys = keys
        self.dates = dates
        self.data = data
        self.nonFinite = nonFinite
        self.reading = reading
        self.encoder = encoder
        self.decoder = decoder
    }

    /// The coding with the default rules.
    package static let standard = JSONCoding()

    /// Encodes a value as JSON. The `encode(to:)` of a value runs twice if it throws, or if it writes to a
    /// container before a nested one has ended.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/encodingFailed`` and the path of the value. An
    ///   error of ``encoder`` is the underlying error.
    public func encode(_ value: some Encodable) throws -> [UInt8] {
        if let encoder {
            do { return try encoder.encode(json: value) } catch {
                throw JSONCoding.Failure(writing: "the value cannot be written as JSON", at: nil, underlying: error)
            }
        }
        var tree = ParameterEncoder()
        tree.keyNaming = keys.naming
        return try JSONEncoding(encoder: tree, style: style).bytes(of: value)
    }

    /// Decodes a value from JSON in UTF-8, or in UTF-16 or UTF-32, which are detected as in RFC 4627 §3.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/decodingFailed`` for text that is not JSON by
    ///   ``reading``; the decoder's error for text that is not a value of the type.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, from json: [UInt8]) throws -> Value {
        try JSONReader(options: reading, coding: self).decode(type, from: json)
    }

    package var style: JSONCoding.Style {
        var style = JSONCoding.Style()
        style.options = [.fragmentsAllowed, .withoutEscapingSlashes]
        style.nonFinite = nonFinite
        style.data = data == .base64URL ? .base64URL : .base64
        switch dates.kind {
        case .iso8601: style.dates = .iso8601
        case .iso8601WithMilliseconds: style.dates = .iso8601WithMilliseconds
        case .secondsSince1970: style.dates = .secondsSince1970
        case .millisecondsSince1970: style.dates = .millisecondsSince1970
        case .secondsSince2001: style.dates = .custom { ParameterValue($0.timeIntervalSinceReferenceDate) }
        }
        return style
    }
}

/// Foundation's encoder with its own settings. The settings must not change while a coding uses it.
extension JSONEncoder: JSONCoding.Encoder {
    public func encode(json value: some Encodable) throws -> [UInt8] { Array(try encode(value)) }
}

/// Foundation's decoder with its own settings. The settings must not change while a coding uses it.
extension JSONDecoder: JSONCoding.Decoder {
    public func decode<Value: Decodable>(json: [UInt8], as type: Value.Type) throws -> Value {
        try decode(type, from: Data(json))
    }
}

extension JSONCoding.Dates {
    /// The date of a text; nil if the text is not a date in this form.
    func date(from text: String) -> Date? {
        switch kind {
        case .iso8601, .iso8601WithMilliseconds: RFC3339Date.read(text)
        case .secondsSince1970, .millisecondsSince1970, .secondsSince2001: nil
        }
    }

    /// The date of a number; nil if numbers are not dates in this form.
    func date(from number: Double) -> Date? {
        switch kind {
        case .iso8601, .iso8601WithMilliseconds: nil
        case .secondsSince1970: Date(timeIntervalSince1970: number)
        case .millisecondsSince1970: Date(timeIntervalSince1970: number / 1000)
        case .secondsSince2001: Date(timeIntervalSinceReferenceDate: number)
        }
    }
}

extension JSONCoding.DataForm {
    /// The bytes of a text; nil if the text is not valid in this form.
    func bytes(from text: String) -> Data? {
        guard kind == .base64URL else { return Data(base64Encoded: text) }
        var standard = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8.slash
            default: byte
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: String(decoding: standard, as: UTF8.self))
    }
}

/// Reads timestamps (RFC 3339 §5.6).
enum RFC3339Date {
    /// The date; nil if the text is not a timestamp. A leap second is read as the last second of its minute.
    static func read(_ text: String) -> Date? {
        var reader = Reader(bytes: Array(text.utf8))
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T") || reader.take("t") || reader.take(" "),
            let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), reader.take(":"),
            let second = reader.number(2), let fraction = reader.fraction(), let offset = reader.offset(),
            reader.isAtEnd, hour < 24, minute < 60, second <= 60,
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        let seconds = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + min(second, 59) - offset
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { position == bytes.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        /// A number with exactly `count` digits.
        mutating func number(_ count: Int) -> Int? {
            guard position + count <= bytes.count else { return nil }
            var value = 0
            for byte in bytes[position..<position + count] {
                guard byte.isDigit else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            position += count
            return value
        }

        /// The fraction of a second; 0 without a point. Digits beyond the ninth are ignored.
        mutating func fraction() -> Double? {
            guard take(".") else { return 0 }
            let start = position
            while position < bytes.count, bytes[position].isDigit { position += 1 }
            guard position > start else { return nil }
            return Double("0." + String(decoding: bytes[start..<position].prefix(9), as: UTF8.self))
        }

        /// The offset from UTC in seconds: `Z` or `+02:00`.
        mutating func offset() -> Int? {
            if take("Z") || take("z") { return 0 }
            let sign = take("+") ? 1 : take("-") ? -1 : 0
            guard sign != 0, let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            return sign * (hours * 3600 + minutes * 60)
        }
    }
}
