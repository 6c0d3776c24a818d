internal import HTTPTypes

/// The details that a response serializer adds to its errors.
struct ResponseFailure: Sendable {
    /// The body, if it was read completely.
    var body: [UInt8]?
    /// The acceptable media types.
    var acceptable: ResponseAcceptance.ContentTypes?
    /// The JSON dialect of the body.
    var json = JSONCoding.standard
    /// The decoded body of a response with an unacceptable status.
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

/// The context of a response that a serializer did not accept.
extension CurlewError {
    /// The complete body, if it was not larger than ``ResponseAcceptance/errorBodyLimit``. ``bodyPrefix`` has its
    /// beginning in any case.
    public var body: [UInt8]? { context.failure?.body }

    /// The media type of the response.
    public var receivedContentType: ContentType? {
        response.flatMap { ContentType(contentTypeOf: $0.headerFields) }
    }

    /// The acceptable media types.
    public var acceptableContent: ResponseAcceptance.ContentTypes? { context.failure?.acceptable }

    /// The decoded body of a response with an unacceptable status; nil if it is unreadable: then ``underlying`` has the
    /// reason.
    ///
    /// It is a value of the failure model, if the serializer has one (``BodyResponseSerializer/orFailure(_:)``);
    /// otherwise the serializer's own value. JSON that does not fit the success model is a ``JSONValue``.
    public var parsedBody: (any Sendable)? { context.failure?.parsed }

    /// The failures of the serializers of a ``ResponseSerializers/Compound``, in order. Empty for other errors.
    public var causes: [CurlewError] { context.failure?.causes ?? [] }

    /// The failure in the response's body as a type of your own. It is ``parsedBody`` if that has the type, otherwise a
    /// value decoded from ``body`` if the type is `Decodable` and the body JSON.
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
