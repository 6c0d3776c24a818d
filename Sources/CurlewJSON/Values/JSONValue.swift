internal import CurlewSupport

/// A JSON value as a tree, for data without a known type.
///
/// ```swift
/// let value = try JSONValue(parsing: Array(#"{"name": "Numenius", "eggs": [4, 3]}"#.utf8))
/// value["name"]?.stringValue  // Numenius
/// value["eggs"]?[0]?.intValue  // 4
/// ```
public enum JSONValue: Sendable, Hashable {
    /// The value `null`.
    case null
    /// The value `true` or `false`.
    case bool(Bool)
    /// A number.
    case number(JSONValue.Number)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONValue.Object)

    /// Creates the tree of a JSON text in UTF-8, UTF-16 or UTF-32, with or without a byte order mark.
    /// - Parameters:
    ///   - bytes: The text.
    ///   - options: The rules for reading; by default the top may be any value.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/decodingFailed``. It contains the position of
    ///   the error, and no part of the text.
    public init(parsing bytes: [UInt8], options: JSONCoding.ReadingOptions = .anyValue) throws {
        self = try JSONTape(JSONSource.utf8(bytes), options: options).value()
    }
}

/// The values of the cases; nil for a value of another case.
extension JSONValue {
    /// True if the value is `null`.
    public var isNull: Bool { self == .null }

    /// The boolean; nil if the value is not `true` or `false`.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number; nil if the value is not a number.
    public var numberValue: JSONValue.Number? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The number as an integer; nil if the value is not an integer in the range of `Int`.
    public var intValue: Int? { numberValue?.integer() }

    /// The number as a double; nil if the value is not a number, or is beyond the range of doubles.
    public var doubleValue: Double? { numberValue?.double }

    /// The string; nil if the value is not a string.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements; nil if the value is not an array.
    public var arrayValue: [JSONValue]? {
        if case .array(let values) = self { values } else { nil }
    }

    /// The members; nil if the value is not an object.
    public var objectValue: JSONValue.Object? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The value of a member; nil if the value is not an object with that member.
    public subscript(key: String) -> JSONValue? { objectValue?[key] }

    /// An element; nil if the value is not an array with that index.
    public subscript(index: Int) -> JSONValue? {
        guard let values = arrayValue, values.indices.contains(index) else { return nil }
        return values[index]
    }

    /// The value without members and elements that are null, at any level.
    public func removingNulls() -> JSONValue {
        switch self {
        case .array(let values):
            return .array(values.filter { !$0.isNull }.map { $0.removingNulls() })
        case .object(let object):
            var kept = JSONValue.Object()
            for (key, value) in object where !value.isNull { kept[key] = value.removingNulls() }
            return .object(kept)
        default: return self
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self = .null }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int64) { self = .number(JSONValue.Number(value)) }
}

extension JSONValue: ExpressibleByFloatLiteral {
    /// Creates a number; `null` for a literal beyond the range of doubles.
    public init(floatLiteral value: Double) { self = JSONValue.Number(value).map { .number($0) } ?? .null }
}

extension JSONValue: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// Creates an object; of members with the same name the last counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONValue.Object()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
}

extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .number(JSONValue.Number(value))
        } else if let value = try? container.decode(UInt64.self) {
            self = .number(JSONValue.Number(value))
        } else if let value = try? container.decode(Double.self), let number = JSONValue.Number(value) {
            self = .number(number)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let values = try? container.decode([JSONValue].self) {
            self = .array(values)
        } else {
            self = .object(try JSONValue.Object(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let object): try object.encode(to: encoder)
        }
    }

    /// Decodes the value as a type. A `URL` is read from a string, a number must fit its type exactly, and everything
    /// else follows the rules of the coding.
    /// - Throws: `DecodingError`. It throws ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/decodingFailed`` for
    ///   a value that is invalid as a text: it is nested more than 512 levels deep, or has a name that
    ///   ``JSONCoding/ReadingOptions/combiningMarkLimit`` rejects.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, by coding: JSONCoding = JSONCoding(),
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws -> Value {
        if type == JSONValue.self, let value = self as? Value { return value }
        var options = JSONCoding.ReadingOptions.anyValue
        // The value is not a text: the error for a number beyond the range needs a coding path instead of a position.
        options.outOfRange = coding.reading.outOfRange == .infinity ? .infinity : .keep
        let tape = try JSONTape(jsonBytes(), options: options)
        return try JSONDecoding.decode(type, from: tape, coding: coding, userInfo: userInfo)
    }
}

extension JSONValue.Object: Codable {
    /// Creates an object with the members in the order of the decoder. Foundation's decoder has no order.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: JSONKey.self)
        self.init()
        for key in container.allKeys { self[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: JSONKey.self)
        for (key, value) in self { try container.encode(value, forKey: JSONKey(key)) }
    }
}

extension JSONValue.Number: Encodable {
    /// - Throws: `EncodingError` for a number that fits no numeric type.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch storage {
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let value), .rounded(let value, _): try container.encode(value)
        case .text:
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "no type holds the number"))
        }
    }
}

/// A name or index on a coding path.
struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) {
        stringValue = name
        intValue = nil
    }

    init(stringValue: String) { self.init(stringValue) }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as JSON text without white space, with the members in order.
    public var description: String { String(decoding: jsonBytes(), as: UTF8.self) }

    /// The value as JSON in UTF-8 without white space.
    /// - Parameter sortsKeys: True if members are sorted by the code points of their names.
    public func jsonBytes(sortsKeys: Bool = false) -> [UInt8] {
        var writer = JSONValueWriter(sortsKeys: sortsKeys)
        writer.write(self)
        return writer.bytes
    }
}

/// Writes JSON (RFC 8259).
private struct JSONValueWriter {
    let sortsKeys: Bool
    var bytes: [UInt8] = []

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .number(let number): append(number.description)
        case .string(let text): writeString(text)
        case .array(let values): writeList(values, .openBracket, .closeBracket) { $0.write($1) }
        case .object(let object):
            let members = sortsKeys ? object.sorted { precedes($0.key, $1.key) } : Array(object)
            writeList(members, .openBrace, .closeBrace) { writer, member in
                writer.writeString(member.key)
                writer.bytes.append(.colon)
                writer.write(member.value)
            }
        }
    }

    private func precedes(_ left: String, _ right: String) -> Bool {
        left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars)
    }

    private mutating func writeList<Element>(
        _ elements: [Element], _ open: UInt8, _ close: UInt8, _ write: (inout JSONValueWriter, Element) -> Void
    ) {
        bytes.append(open)
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(.comma) }
            write(&self, element)
        }
        bytes.append(close)
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func writeString(_ text: String) {
        bytes.append(.quote)
        for byte in text.utf8 {
            switch byte {
            case .quote, .backslash: bytes += [.backslash, byte]
            case .lineFeed: append("\\n")
            case .carriageReturn: append("\\r")
            case .tab: append("\\t")
            case 0..<0x20: bytes += Array("\\u00".utf8) + [hexDigit(byte >> 4), hexDigit(byte & 15)]
            default: bytes.append(byte)
            }
        }
        bytes.append(.quote)
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
