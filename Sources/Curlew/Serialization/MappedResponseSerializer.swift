extension BodyResponseSerializer {
    /// The same serializer with `transform` applied to its values.
    ///
    /// What `transform` throws is the error beneath ``ErrorCode/decodingFailed``.
    public func map<NewValue: Sendable>(
        _ transform: @escaping @Sendable (Output) throws -> NewValue
    ) -> MappedResponseSerializer<Self, NewValue> {
        MappedResponseSerializer(base: self, transform: transform)
    }
}

/// A serializer whose values are made from those of another.
public struct MappedResponseSerializer<Base: BodyResponseSerializer, Value: Sendable>: BodyResponseSerializer {
    var base: Base
    let transform: @Sendable (Base.Output) throws -> Value

    public var acceptance: ResponseAcceptance {
        get { base.acceptance }
        set { base.acceptance = newValue }
    }
    public var acceptField: String? { base.acceptField }
    public var format: String { base.format }
    public var failureContentTypes: AcceptableContent { base.failureContentTypes }

    public func decode(_ response: CollectedResponse) throws -> Value { try transform(base.decode(response)) }

    public func decodeFailure(_ response: CollectedResponse) throws -> any Sendable {
        try base.decodeFailure(response)
    }
}
