public import FoundationEssentials

/// The parameters of a call: names and values, a tree of ``ParameterValue``, or any `Encodable` value.
///
/// A literal may contain values of mixed types. A value of nil omits its pair, as in an `Encodable` value:
///
/// ```swift
/// let hits = try await api.get("search", parameters: ["q": text, "page": page, "tag": optionalTag], as: [Hit].self)
/// let birds = try await api.get("birds", parameters: .encoding(filter), as: [Bird].self)
/// ```
///
/// A nested tree is written with ``ParameterValue/nested(_:)``.
public struct RequestParameters: Sendable {
    private enum Source: Sendable {
        case none
        case value(ParameterValue)
        case encodable(any Encodable & Sendable)
    }

    private let source: Source

    /// No parameters; this differs from empty ones.
    public static let none = RequestParameters(source: .none)

    private init(source: Source) { self.source = source }

    /// - Parameter value: A tree; nil means no parameters.
    public init(_ value: ParameterValue?) {
        source = value.map(Source.value) ?? .none
    }

    /// - Parameter value: A value that the serializer's ``ParameterEncoder`` encodes as a tree; nil means no
    ///   parameters.
    public init(_ value: (some Encodable & Sendable)?) {
        source = value.map(Source.encodable) ?? .none
    }

    /// A value that the serializer's ``ParameterEncoder`` encodes as a tree; nil means no parameters.
    public static func encoding(_ value: (some Encodable & Sendable)?) -> RequestParameters { RequestParameters(value) }

    /// A tree; nil means no parameters.
    public static func tree(_ value: ParameterValue?) -> RequestParameters { RequestParameters(value) }

    /// True if there are no parameters.
    public var isNone: Bool {
        if case .none = source { true } else { false }
    }

    /// The tree; nil if there are no parameters.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``.
    public func value(encodedBy encoder: ParameterEncoder = ParameterEncoder()) throws -> ParameterValue? {
        switch source {
        case .none: nil
        case .value(let value): value
        case .encodable(let value): try throwingCurlewErrors { try encoder.encode(value) }
        }
    }

    /// The parameters as JSON text; nil if there are none.
    func json(_ encoding: JSONEncoding) throws -> [UInt8]? {
        try throwingCurlewErrors {
            switch source {
            case .none: nil
            case .value(let value): try value.json(style: encoding.style)
            case .encodable(let value): try encoding.bytes(of: value)
            }
        }
    }

    /// The tree for pairs, without members of an `Encodable` value that are nil. An explicit ``ParameterValue/null`` of
    /// a tree stays.
    func pairs(encodedBy encoder: ParameterEncoder) throws -> ParameterValue? {
        guard case .encodable = source else { return try value(encodedBy: encoder) }
        return try value(encodedBy: encoder)?.removingNullMembers(depth: 0)
    }
}

extension RequestParameters: ExpressibleByDictionaryLiteral {
    /// Creates parameters from names and values, in order; of a repeated name the last value counts.
    public init(dictionaryLiteral elements: (String, (any RequestParameters.Convertible)?)...) {
        self.init(ParameterValue.nested(elements))
    }
}

extension RequestParameters: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self = .none }
}

extension RequestParameters {
    /// A type whose values can be parameters.
    ///
    /// An enumeration with raw values only needs the conformance:
    ///
    /// ```swift
    /// enum Order: String, RequestParameters.Convertible { case newest, nearest }
    /// ```
    public protocol Convertible {
        /// The value as a parameter.
        var parameterValue: ParameterValue { get }
    }
}

extension RequestParameters.Convertible where Self: RawRepresentable, RawValue: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { rawValue.parameterValue }
}

extension RequestParameters.Convertible where Self: BinaryInteger {
    public var parameterValue: ParameterValue { ParameterValue(self) }
}

extension Int: RequestParameters.Convertible {}
extension Int8: RequestParameters.Convertible {}
extension Int16: RequestParameters.Convertible {}
extension Int32: RequestParameters.Convertible {}
extension Int64: RequestParameters.Convertible {}
extension UInt: RequestParameters.Convertible {}
extension UInt8: RequestParameters.Convertible {}
extension UInt16: RequestParameters.Convertible {}
extension UInt32: RequestParameters.Convertible {}
extension UInt64: RequestParameters.Convertible {}

extension ParameterValue: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { self }
}

extension String: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .string(self) }
}

extension Substring: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .string(String(self)) }
}

extension Bool: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .boolean(self) }
}

extension Double: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { ParameterValue(self) }
}

extension Float: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { ParameterValue(self) }
}

extension Decimal: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { (try? ParameterValue(encoding: self)) ?? .string(description) }
}

extension Date: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .date(self) }
}

extension UUID: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .string(uuidString) }
}

extension URL: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .string(absoluteString) }
}

extension CurlewURI: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .string(description) }
}

extension Data: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .data(Array(self)) }
}

extension Array: RequestParameters.Convertible where Element: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .array(map(\.parameterValue)) }
}

extension Set: RequestParameters.Convertible where Element: RequestParameters.Convertible {
    public var parameterValue: ParameterValue { .set(Set<ParameterValue>(map(\.parameterValue))) }
}

extension Dictionary: RequestParameters.Convertible where Key == String, Value: RequestParameters.Convertible {
    public var parameterValue: ParameterValue {
        .dictionary(ParameterValue.Object(map { ($0.key, $0.value.parameterValue) }))
    }
}

extension ParameterValue {
    /// A dictionary of names and values of mixed types, as in the literal of ``RequestParameters``; nil omits its pair.
    ///
    /// ```swift
    /// let parameters: RequestParameters = ["price": ParameterValue.nested(["least": least, "most": most])]
    /// ```
    public static func nested(_ members: KeyValuePairs<String, (any RequestParameters.Convertible)?>) -> ParameterValue
    {
        nested(Array(members))
    }

    fileprivate static func nested(_ members: [(key: String, value: (any RequestParameters.Convertible)?)])
        -> ParameterValue
    {
        .dictionary(
            ParameterValue.Object(members.compactMap { name, value in value.map { (name, $0.parameterValue) } }))
    }

    fileprivate static func nested(_ members: [(String, (any RequestParameters.Convertible)?)]) -> ParameterValue {
        .dictionary(
            ParameterValue.Object(members.compactMap { name, value in value.map { (name, $0.parameterValue) } }))
    }

    /// The tree without null members of dictionaries.
    fileprivate func removingNullMembers(depth: Int) -> ParameterValue {
        // A deeper tree cannot be written.
        guard depth <= Self.depthLimit else { return self }
        switch self {
        case .array(let values): return .array(values.map { $0.removingNullMembers(depth: depth + 1) })
        case .dictionary(let members):
            let kept = members.lazy.filter { $0.value != .null }
            return .dictionary(
                ParameterValue.Object(kept.map { ($0.key, $0.value.removingNullMembers(depth: depth + 1)) }))
        case .null, .boolean, .number, .string, .data, .date, .set: return self
        }
    }
}
