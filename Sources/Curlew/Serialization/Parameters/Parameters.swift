/// The parameters of one call: none, a tree of ``ParameterValue``, or anything `Encodable`.
public struct RequestParameters: Sendable {
    private enum Source: Sendable {
        case none
        case value(ParameterValue)
        case encodable(any Encodable & Sendable)
    }

    private let source: Source

    /// No parameters, which is not the same as empty ones.
    public static let none = RequestParameters(source: .none)

    private init(source: Source) { self.source = source }

    /// - Parameter value: A tree; nil stands for no parameters.
    public init(_ value: ParameterValue?) {
        source = value.map(Source.value) ?? .none
    }

    /// - Parameter value: A value that a serializer's ``ParameterEncoder`` will make a tree of; nil stands for no
    ///   parameters.
    public init(_ value: (some Encodable & Sendable)?) {
        source = value.map(Source.encodable) ?? .none
    }

    /// True if there are none.
    public var isNone: Bool {
        if case .none = source { true } else { false }
    }

    /// The tree; nil if there are no parameters.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``.
    public func value(encodedBy encoder: ParameterEncoder = ParameterEncoder()) throws -> ParameterValue? {
        switch source {
        case .none: nil
        case .value(let value): value
        case .encodable(let value): try encoder.encode(value)
        }
    }
}
