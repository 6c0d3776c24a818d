public import FoundationEssentials

/// A parameter of any kind, or a tree of parameters: the input of request serializers.
///
/// It is created from literals, values, or any `Encodable` value:
///
/// ```swift
/// let parameters: ParameterValue = ["name": "Curlew", "tags": ["wader", "bird"], "page": 2, "parent": nil]
/// let user = try ParameterValue(encoding: User(id: 7))
/// ```
///
/// A written tree may be ``depthLimit`` levels deep; a deeper one is ``JSONCoding/Failure/Code/encodingFailed``. Text
/// is always valid Unicode: a Swift string cannot contain half a surrogate pair.
public enum ParameterValue: Sendable, Hashable {
    /// An explicit null: `null`, or a name without `=`.
    case null
    /// A boolean.
    case boolean(Bool)
    /// A number.
    case number(ParameterValue.Number)
    /// Text.
    case string(String)
    /// Bytes, written by a ``ParameterValue/DataStyle``.
    case data([UInt8])
    /// A date, written by a ``ParameterValue/DateStyle``.
    case date(Date)
    /// A list.
    case array([ParameterValue])
    /// A dictionary of names and values.
    case dictionary(ParameterValue.Object)
    /// A set of values without order. A form repeats the name for each; JSON and property lists contain a list.
    case set(Set<ParameterValue>)

    /// The deepest nesting of dictionaries, arrays and sets in written or encoded parameters: 128.
    ///
    /// The limit keeps the use of the stack below some hundred kilobytes.
    public static let depthLimit = 128
}

extension ParameterValue {
    /// Creates an integer of any size.
    public init(_ integer: some BinaryInteger) { self = .number(ParameterValue.Number(integer)) }

    /// Creates a floating-point number.
    public init(_ double: Double) { self = .number(ParameterValue.Number(double)) }

    /// Creates a floating-point number of single precision.
    public init(_ float: Float) { self = .number(ParameterValue.Number(float)) }

    /// Creates a boolean.
    public init(_ boolean: Bool) { self = .boolean(boolean) }

    /// Creates a text.
    public init(_ string: String) { self = .string(string) }

    /// Creates a date.
    public init(_ date: Date) { self = .date(date) }

    /// Creates the tree of an `Encodable` value; ``ParameterEncoder`` documents the rules.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/encodingFailed``.
    public init(encoding value: some Encodable) throws { self = try ParameterEncoder().encode(value) }
}

extension ParameterValue {
    /// The value for a key, if this is a dictionary.
    ///
    /// Setting a value turns any other kind into a dictionary; setting nil removes the key.
    public subscript(key: String) -> ParameterValue? {
        get {
            if case .dictionary(let dictionary) = self { dictionary[key] } else { nil }
        }
        set {
            var dictionary = ParameterValue.Object()
            if case .dictionary(let existing) = self {
                dictionary = existing
            } else if newValue == nil {
                return
            }
            // A single reference remains, so that a large dictionary is not copied for each key.
            self = .null
            dictionary[key] = newValue
            self = .dictionary(dictionary)
        }
    }

    /// The value at an index, if this is an array with that index.
    public subscript(index: Int) -> ParameterValue? {
        if case .array(let values) = self, values.indices.contains(index) { values[index] } else { nil }
    }
}

extension ParameterValue: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self = .null }
}

extension ParameterValue: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

extension ParameterValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int64) { self = .number(ParameterValue.Number(value)) }
}

extension ParameterValue: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Double) { self = .number(ParameterValue.Number(value)) }
}

extension ParameterValue: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self = .string(value) }
}

extension ParameterValue: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: ParameterValue...) { self = .array(elements) }
}

extension ParameterValue: ExpressibleByDictionaryLiteral {
    /// Creates a dictionary; of a repeated key the last value counts.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self = .dictionary(ParameterValue.Object(elements))
    }
}

/// The encoding by other encoders. Decimal digits become a `Double`, and a set becomes a list in the order of forms.
extension ParameterValue: Encodable {
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let values): try Self.encode(values, to: encoder)
        case .set(let members): try Self.encode(members.inOrder(), to: encoder)
        case .dictionary(let dictionary):
            var container = encoder.container(keyedBy: Name.self)
            for (key, value) in dictionary { try container.encode(value, forKey: Name(stringValue: key)) }
        case .null, .boolean, .number, .string, .data, .date:
            var container = encoder.singleValueContainer()
            try encodeScalar(into: &container)
        }
    }

    private static func encode(_ values: [ParameterValue], to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for value in values { try container.encode(value) }
    }

    private func encodeScalar(into container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .boolean(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .data(let bytes): try container.encode(Data(bytes))
        case .date(let date): try container.encode(date)
        case .number(let number):
            switch number.kind {
            case .integer(let value): try container.encode(value)
            case .unsigned(let value): try container.encode(value)
            case .float(let value): try container.encode(value)
            case .double, .decimal: try container.encode(number.double)
            }
        case .null, .array, .set, .dictionary: try container.encodeNil()
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Set<ParameterValue> {
    /// The members sorted by their descriptions, so that equal sets are written in the same order.
    package func inOrder() -> [ParameterValue] { count > 1 ? ordered(depth: 0).map(\.member) : Array(self) }

    /// The members in that order, each with its form without sets.
    fileprivate func ordered(depth: Int) -> [(member: ParameterValue, listed: ParameterValue)] {
        let members = map { (member: $0, listed: $0.withLists(depth: depth + 1)) }
        guard count > 1 else { return members }
        return members.map { (key: $0.listed.sortKey, rank: $0.member.rank, pair: $0) }
            .sorted { left, right in
                if left.key == right.key { return left.rank < right.rank }
                return left.key.lexicographicallyPrecedes(right.key)
            }
            .map(\.pair)
    }
}

extension ParameterValue {
    /// The value with sorted lists instead of its sets.
    ///
    /// Each set is sorted once here. Otherwise the computation of sort keys would sort nested sets twice, the sets
    /// within them four times, and so on.
    fileprivate func withLists(depth: Int) -> ParameterValue {
        // A deeper value cannot be written, so its order does not matter.
        guard depth <= Self.depthLimit else { return .null }
        switch self {
        case .null, .boolean, .number, .string, .data, .date: return self
        case .array(let values): return .array(values.map { $0.withLists(depth: depth + 1) })
        case .dictionary(let dictionary):
            return .dictionary(
                ParameterValue.Object(dictionary.lazy.map { ($0.key, $0.value.withLists(depth: depth + 1)) }))
        case .set(let members): return .array(members.ordered(depth: depth).map(\.listed))
        }
    }
}

extension ParameterValue {
    /// The bytes that order the members of a set.
    fileprivate var sortKey: [UInt8] {
        switch self {
        case .string(let text): return Array(text.utf8)
        case .number(let number): return Array(number.description.utf8)
        case .boolean(let value): return Array(value ? "1".utf8 : "0".utf8)
        case .data(let bytes): return bytes
        case .date(let date): return Array((try? CalendarDate(date).described.utf8) ?? "".utf8)
        case .null, .array, .dictionary, .set:
            var style = JSONCoding.Style()
            style.options = [.sortedKeys, .fragmentsAllowed]
            style.nonFinite = .text()
            // A value that cannot be written now cannot be written later either, so its order does not matter.
            return (try? json(style: style)) ?? []
        }
    }

    /// The rank that distinguishes members of different kinds with the same description: the number 1 and the text "1".
    fileprivate var rank: Int {
        switch self {
        case .null: 0
        case .boolean: 1
        case .number(let number): number.rank
        case .string: 7
        case .data: 8
        case .date: 9
        case .array: 10
        case .dictionary: 11
        case .set: 12
        }
    }
}

extension ParameterValue.Number {
    fileprivate var rank: Int {
        switch kind {
        case .integer: 2
        case .unsigned: 3
        case .double: 4
        case .float: 5
        case .decimal: 6
        }
    }
}
