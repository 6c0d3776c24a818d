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
/// Where it is written, a tree may be ``depthLimit`` levels deep; deeper is ``ErrorCode/encodingFailed``. Text is always
/// whole Unicode: a Swift string cannot hold half a surrogate pair.
public enum ParameterValue: Sendable, Hashable {
    /// Nothing, said explicitly: `null`, a name without `=`.
    case null
    /// True or false.
    case boolean(Bool)
    /// A number.
    case number(ParameterNumber)
    /// Text.
    case string(String)
    /// Bytes, written by a ``DataStyle``.
    case data([UInt8])
    /// A point in time, written by a ``DateStyle``.
    case date(Date)
    /// A list.
    case array([ParameterValue])
    /// Names and values.
    case dictionary(ParameterDictionary)
    /// Values without order: a form repeats the name for each, JSON and property lists have a list of them.
    case set(Set<ParameterValue>)

    /// How many dictionaries, arrays and sets may lie in each other where parameters are written or encoded.
    ///
    /// With it nothing that is written needs more than some hundred kilobytes of stack.
    public static let depthLimit = 128
}

extension ParameterValue {
    /// An integer of any size.
    public init(_ integer: some BinaryInteger) { self = .number(ParameterNumber(integer)) }

    /// A floating-point number.
    public init(_ double: Double) { self = .number(ParameterNumber(double)) }

    /// A floating-point number of single precision.
    public init(_ float: Float) { self = .number(ParameterNumber(float)) }

    /// True or false.
    public init(_ boolean: Bool) { self = .boolean(boolean) }

    /// Text.
    public init(_ string: String) { self = .string(string) }

    /// A point in time.
    public init(_ date: Date) { self = .date(date) }

    /// The tree that a value encodes itself as; ``ParameterEncoder`` has the rules.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``.
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
            var dictionary = ParameterDictionary()
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
