internal import HTTPTypes

/// The details that a response serializer adds to its errors.
struct ResponseFailure: Sendable {
    /// The body, if it was read whole.
    var body: [UInt8]?
    /// The media types that would have been taken.
    var acceptable: ResponseAcceptance.ContentTypes?
    /// The dialect that the body is read by where it is JSON.
    var json = JSONCoding.standard
    /// The value that the body of an unacceptable status was read as.
    var parsed: (any Sendable)?
    /// The failures of several serializers.
    var causes: [CurlewError] = []
}

extension CurlewError.Context {
    private enum FailureKey: CurlewError.Key { typealias Value = ResponseFailure }

    /// The details from a response serializer.
    var failure: ResponseFailure? {
        get { self[FailureKey.self] }
        set { self[FailureKey.self] = newValue }
    }
}

/// The context of a response, as the serializer that failed saw it.
extension CurlewError {
    /// The whole body, if it was not larger than ``ResponseAcceptance/errorBodyLimit``. ``bodyPrefix`` has its beginning in
    /// any case.
    public var body: [UInt8]? { context.failure?.body }

    /// The media type that the response had.
    public var receivedContentType: ContentType? {
        response.flatMap { ContentType(contentTypeOf: $0.headerFields) }
    }

    /// The media types that would have been taken.
    public var acceptableContent: ResponseAcceptance.ContentTypes? { context.failure?.acceptable }

    /// The value that the body of an unacceptable status was read as: a value of the model for failures, if the
    /// serializer has one (``BodyResponseSerializer/orFailure(_:)``), else what the serializer itself made of it; for
    /// JSON that the model of success does not fit, a ``JSONValue``. nil if the body could not be read; ``underlying``
    /// says why.
    public var parsedBody: (any Sendable)? { context.failure?.parsed }

    /// The failures of the serializers of a ``ResponseSerializers/Compound``, in their order. Empty for other errors.
    public var causes: [CurlewError] { context.failure?.causes ?? [] }

    /// The failure as the response describes it, as a type of your own: ``parsedBody`` if it is of that type, else a value
    /// decoded from ``body`` if the type is `Decodable` and the body JSON.
    ///
    /// ```swift
    /// catch let error as CurlewError {
    ///     if let problem = error.failure(as: Problem.self) { print(problem.title) }
    /// }
    /// ```
    public func failure<Failure>(as type: Failure.Type) -> Failure? {
        if let parsed = parsedBody as? Failure { return parsed }
        guard let model = type as? any Decodable.Type, let tree = bodyAsJSON else { return nil }
        return (try? tree.decode(as: model, by: context.failure?.json ?? .standard)) as? Failure
    }

    private var bodyAsJSON: JSONValue? {
        if let tree = parsedBody as? JSONValue { return tree }
        guard let body, receivedContentType?.matches(.json) == true else { return nil }
        return try? JSONValue(parsing: body)
    }
}
