extension BodyResponseSerializer {
    /// The same serializer with `transform` applied to its values.
    ///
    /// What `transform` throws is the error beneath ``ErrorCode/decodingFailed``.
    public func map<NewValue: Sendable>(
        _ transform: @escaping @Sendable (Output) throws -> NewValue
    ) -> ResponseSerializers.Mapped<Self, NewValue> {
        ResponseSerializers.Mapped(base: self, transform: transform)
    }
}

extension ResponseSerializers {
    /// A serializer whose values are made from those of another.
    public struct Mapped<Base: BodyResponseSerializer, Value: Sendable>: BodyResponseSerializer {
        var base: Base
        let transform: @Sendable (Base.Output) throws -> Value

        public var acceptance: ResponseAcceptance {
            get { base.acceptance }
            set { base.acceptance = newValue }
        }
        public static var offloadSize: ByteSize { Base.offloadSize }

        public var acceptField: String? { base.acceptField }
        public var format: String { base.format }
        public var failureContentTypes: ResponseAcceptance.ContentTypes { base.failureContentTypes }

        public func decode(_ response: CurlewResponse.Collected) throws -> Value {
            try transform(base.decode(response))
        }

        public func decodeFailure(_ response: CurlewResponse.Collected) throws -> any Sendable {
            try base.decodeFailure(response)
        }
    }
}

extension BodyResponseSerializer {
    /// The same serializer with another for the bodies of statuses that are not taken.
    ///
    /// ```swift
    /// let serializer = JSONResponseSerializer<User>().orFailure(JSONResponseSerializer<Problem>())
    /// ```
    ///
    /// The error is ``ErrorCode/unacceptableStatus`` as ever; ``CurlewError/failure(as:)`` has the value.
    public func orFailure<Failure: BodyResponseSerializer>(
        _ failure: Failure
    ) -> ResponseSerializers.OrFailure<Self, Failure> {
        ResponseSerializers.OrFailure(base: self, failure: failure)
    }
}

extension ResponseSerializers {
    /// A serializer with another for the bodies of statuses that are not taken.
    public struct OrFailure<
        Base: BodyResponseSerializer, Failure: BodyResponseSerializer
    >: BodyResponseSerializer {
        var base: Base
        let failure: Failure

        public var acceptance: ResponseAcceptance {
            get { base.acceptance }
            set { base.acceptance = newValue }
        }
        public var acceptField: String? { base.acceptField }
        public var format: String { base.format }
        public var failureContentTypes: ResponseAcceptance.ContentTypes { failure.acceptance.contentTypes }

        public func decode(_ response: CurlewResponse.Collected) throws -> Base.Output { try base.decode(response) }

        public func decodeFailure(_ response: CurlewResponse.Collected) throws -> any Sendable {
            try failure.decode(response)
        }
    }
}
