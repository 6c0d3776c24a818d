/// A JSON value as a tree, for data whose shape is not known beforehand.
///
/// ```swift
/// let value = try JSONValue(parsing: Array(#"{"name": "Numenius", "eggs": [4, 3]}"#.utf8))
/// value["name"]?.stringValue  // Numenius
/// value["eggs"]?[0]?.intValue  // 4
/// ```
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// Reads a JSON text: UTF-8, UTF-16 or UTF-32, with or without a byte order mark.
    /// - Parameters:
    ///   - bytes: The text.
    ///   - options: How to read it; by default any value may stand at the top.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` that says where the text goes wrong, and nothing of what
    ///   it says.
    public init(parsing bytes: [UInt8], options: JSONReadingOptions = .anyValue) throws {
        self = try JSONParser.parse(bytes, options: options)
    }
}

/// What a value is, if it is that.
extension JSONValue {
    /// Whether it is `null`.
    public var isNull: Bool { self == .null }

    /// The truth value.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number.
    public var numberValue: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The number as an integer, if it is one and in range.
    public var intValue: Int? { numberValue?.integer() }

    /// The number as a double.
    public var doubleValue: Double? { numberValue?.double }

    /// The string.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements.
    public var arrayValue: [JSONValue]? {
        if case .array(let values) = self { values } else { nil }
    }

    /// The members.
    public var objectValue: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The value of a member; nil if there is none, or if this is no object.
    public subscript(key: String) -> JSONValue? { objectValue?[key] }

    /// An element; nil if there is none, or if this is no array.
    public subscript(index: Int) -> JSONValue? {
        guard let values = arrayValue, values.indices.contains(index) else { return nil }
        return values[index]
    }

    /// The value without nulls at any level: members that are null are taken out, and elements that are.
    public func removingNulls() -> JSONValue {
        switch self {
        case .array(let values):
            return .array(values.filter { !$0.isNull }.map { $0.removingNulls() })
        case .object(let object):
            var kept = JSONObject()
            for (key, value) in object where !value.isNull { kept[key] = value.removingNulls() }
            return .object(kept)
        default: return self
        }
    }
}
