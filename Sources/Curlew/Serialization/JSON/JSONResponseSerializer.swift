/// Reads JSON into a `Decodable` type or a ``JSONValue``.
///
/// By default it takes `application/json`, `text/json`, `text/javascript` and every type with the suffix `+json`, and
/// asks for them in Accept. The text is checked against RFC 8259 and ``options`` before it is decoded.
///
/// ```swift
/// var serializer = JSONResponseSerializer<[Reading]>(coding: JSONCoding(keys: .snakeCase))
/// serializer.options.duplicateKeys = .fail
/// ```
///
/// An empty body, or one of white space, is nil for an optional type, ``NoContent`` for that, and ``ErrorCode/emptyBody``
/// for any other type. The body of a status that is not taken is decoded too; if the type does not fit it, it is a
/// ``JSONValue`` in ``CurlewError/parsedBody``.
public struct JSONResponseSerializer<Value: Decodable & Sendable>: BodyResponseSerializer {
    // Said, as the compiler does not find it in every order of files.
    public typealias Output = Value

    public var acceptance = ResponseAcceptance(.json)
    /// The rules by which the text is read.
    public var options: JSONCoding.ReadingOptions
    /// At which statuses an empty body is the value that stands for one. At others it is ``ErrorCode/emptyBody``. Any by
    /// default.
    public var emptyBodyStatuses = ResponseAcceptance.Statuses.any
    /// The dialect of the text, but for its ``JSONCoding/reading``, which ``options`` stand for. nil, the default, is that of
    /// the session that brings the response.
    public var coding: JSONCoding?

    /// - Parameters:
    ///   - type: What to make of the text.
    ///   - options: How the text is read.
    ///   - coding: The dialect of the text; nil is that of the session that brings the response.
    public init(
        _ type: Value.Type = Value.self, options: JSONCoding.ReadingOptions = JSONCoding.ReadingOptions(),
        coding: JSONCoding? = nil
    ) {
        self.options = options
        self.coding = coding
    }

    public var acceptField: String? { "application/json" }
    public var format: String { JSONFormat.name }

    public func decode(_ response: CurlewResponse.Collected) throws -> Value {
        if JSONSource.isBlank(response.body) {
            guard emptyBodyStatuses.contains(response.status), let value = emptyBody(for: Value.self) else {
                throw CurlewError(.emptyBody, "there is no body, and the type that was asked for needs one")
            }
            return value
        }
        let reader = JSONReader(options: options, coding: coding ?? response.json)
        return try throwingCurlewErrors { try reader.decode(Value.self, from: response.body) }
    }

    public func decodeFailure(_ response: CurlewResponse.Collected) throws -> any Sendable {
        if let value = try? decode(response) { return value }
        var lenient = options
        lenient.allowsFragments = true
        return try throwingCurlewErrors { try JSONValue(parsing: response.body, options: lenient) }
    }

    /// The same serializer with a model for the JSON of statuses that are not taken.
    ///
    /// ```swift
    /// let serializer = JSONResponseSerializer<User>().orFailure(Problem.self)
    /// ```
    ///
    /// The error is ``ErrorCode/unacceptableStatus`` as ever; ``CurlewError/failure(as:)`` has the value.
    public func orFailure<Failure: Decodable & Sendable>(
        _ type: Failure.Type
    ) -> ResponseSerializers.OrFailure<Self, JSONResponseSerializer<Failure>> {
        orFailure(JSONResponseSerializer<Failure>(options: options, coding: coding))
    }
}

extension ResponseSerializer {
    /// The body as JSON of a type.
    public static func json<Model: Decodable & Sendable>(
        _ type: Model.Type, options: JSONCoding.ReadingOptions = JSONCoding.ReadingOptions(), coding: JSONCoding? = nil
    ) -> Self where Self == JSONResponseSerializer<Model> {
        JSONResponseSerializer(type, options: options, coding: coding)
    }

    /// What `as: Model.self` stands for: the body as JSON, whatever its media type and whatever value is at the top.
    static func model<Model: Decodable & Sendable>(
        _ type: Model.Type, statuses: ResponseAcceptance.Statuses = .successful, bodyLimit: ByteSize? = nil
    ) -> Self where Self == JSONResponseSerializer<Model> {
        var serializer = JSONResponseSerializer(type, options: .anyValue)
        serializer.acceptance = ResponseAcceptance(.any)
        serializer.acceptance.statuses = statuses
        serializer.acceptance.bodyLimit = bodyLimit
        return serializer
    }
}

/// JSON among the formats.
enum JSONFormat {
    static let name = "JSON"
}

extension ResponseAcceptance.ContentTypes {
    /// The media types of JSON, those that end in `+json` among them.
    static let json = ResponseAcceptance.ContentTypes.types(.json, .textJSON, .javaScript)
}

/// The value of a type that stands for an empty body, if it has one.
func emptyBody<Value>(for type: Value.Type) -> Value? {
    (type as? any EmptyBodyRepresentable.Type)?.valueOfEmptyBody as? Value
}
