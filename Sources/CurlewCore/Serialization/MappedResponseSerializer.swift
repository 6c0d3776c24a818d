extension BodyResponseSerializer {
    /// Returns a serializer that applies `transform` to the values of this one.
    ///
    /// An error of `transform` is the underlying error of ``ErrorCode/decodingFailed``.
    public func map<NewValue: Sendable>(
        _ transform: @escaping @Sendable (Output) throws -> NewValue
    ) -> ResponseSerializers.Mapped<Self, NewValue> {
        ResponseSerializers.Mapped(base: self, transform: transform)
    }
}

extension ResponseSerializers {
    /// A serializer that transforms the values of another one.
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
    /// Returns a serializer that decodes bodies of unacceptable statuses with another serializer.
    ///
    /// ```swift
    /// let serializer = JSONResponseSerializer<User>().orFailure(JSONResponseSerializer<Problem>())
    /// ```
    ///
    /// The error is still ``ErrorCode/unacceptableStatus``; ``CurlewError/failure(as:)`` has the value.
    public func orFailure<Failure: BodyResponseSerializer>(
        _ failure: Failure
    ) -> ResponseSerializers.OrFailure<Self, Failure> {
        ResponseSerializers.OrFailure(base: self, failure: failure)
    }
}

extension ResponseSerializers {
    /// A serializer with a second one for the bodies of unacceptable statuses.
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
