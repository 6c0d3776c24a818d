public import FoundationEssentials

/// A parameter of any kind, or a tree of them: what a request serializer writes into a request.
///
/// It is written as literals, made from values, or from anything `Encodable`:
///
/// ```swift
/// let parameters: ParameterValue = ["name": "Curlew", "tags": ["wader", "bird"], "page": 2, "parent": nil]
/// let user = try ParameterValue(encoding: User(id: 7))
/// ```
///
/// Where it is written, a tree may be ``depthLimit`` levels deep; deeper is ``JSONCoding/Failure/Code/encodingFailed``. Text is always
/// whole Unicode: a Swift string cannot hold half a surrogate pair.
public enum ParameterValue: Sendable, Hashable {
    /// Nothing, said explicitly: `null`, a name without `=`.
    case null
    /// True or false.
    case boolean(Bool)
    /// A number.
    case number(ParameterValue.Number)
    /// Text.
    case string(String)
    /// Bytes, written by a ``ParameterValue/DataStyle``.
    case data([UInt8])
    /// A point in time, written by a ``ParameterValue/DateStyle``.
    case date(Date)
    /// A list.
    case array([ParameterValue])
    /// Names and values.
    case dictionary(ParameterValue.Object)
    /// Values without order: a form repeats the name for each, JSON and property lists have a list of them.
    case set(Set<ParameterValue>)

    /// The deepest nesting of dictionaries, arrays and sets where parameters are written or encoded.
    ///
    /// With it nothing that is written needs more than some hundred kilobytes of stack.
    public static let depthLimit = 128
}

extension ParameterValue {
    /// An integer of any size.
    public init(_ integer: some BinaryInteger) { self = .number(ParameterValue.Number(integer)) }

    /// A floating-point number.
    public init(_ double: Double) { self = .number(ParameterValue.Number(double)) }

    /// A floating-point number of single precision.
    public init(_ float: Float) { self = .number(ParameterValue.Number(float)) }

    /// True or false.
    public init(_ boolean: Bool) { self = .boolean(boolean) }

    /// Text.
    public init(_ string: String) { self = .string(string) }

    /// A point in time.
    public init(_ date: Date) { self = .date(date) }

    /// The tree that a value encodes itself as; ``ParameterEncoder`` has the rules.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/encodingFailed``.
    public init(encoding value: some Encodable) throws { self = try ParameterEncoder().encode(value) }
}

extension ParameterValue {
    /// The value for a key, if this is a dictionary.
    ///
    /// Setting a value makes a dictionary of what is none; setting nil removes the key.
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
            // The only reference, so that a large dictionary is not copied for each key.
            self = .null
            dictionary[key] = newValue
            self = .dictionary(dictionary)
        }
    }

    /// The value at a place, if this is an array that reaches so far.
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
    /// Of a key that comes twice the last value counts.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self = .dictionary(ParameterValue.Object(elements))
    }
}

/// For other encoders. Digits kept as they are become a `Double` there, and a set a list in the order that forms have.
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
    /// The members sorted by what they are described as, so that the same set is always written the same.
    package func inOrder() -> [ParameterValue] { count > 1 ? ordered(depth: 0).map(\.member) : Array(self) }

    /// The members in that order, each with the same value without sets in it.
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
    /// The value with sorted lists in place of the sets in it.
    ///
    /// Each is sorted once here. Left to the writer of the sort key, the sets within a set would be sorted for its key and
    /// again for their own, those within them four times, and so on.
    fileprivate func withLists(depth: Int) -> ParameterValue {
        // Nothing deeper can be written, and then its place does not matter.
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
    /// The bytes by which it is sorted among the members of a set.
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
            // What cannot be written now cannot be written later either, and then its place does not matter.
            return (try? json(style: style)) ?? []
        }
    }

    /// Tells apart members of different kinds that are described the same: the number 1 and the text "1".
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
