/// Decodes a JSON body as a `Decodable` type or a ``JSONValue``.
///
/// By default it accepts `application/json`, `text/json`, `text/javascript` and every type with the suffix `+json`, and
/// requests `application/json` in Accept. The text is checked against RFC 8259 and ``options`` before it is decoded.
///
/// ```swift
/// var serializer = JSONResponseSerializer<[Reading]>(coding: JSONCoding(keys: .snakeCase))
/// serializer.options.duplicateKeys = .fail
/// ```
///
/// An empty body, or one of white space, is nil for an optional type and a value for ``NoContent``. For any other type
/// it is ``ErrorCode/emptyBody``. The body of an unacceptable status is decoded too: as the type, else as a
/// ``JSONValue`` in ``CurlewError/parsedBody``.
public struct JSONResponseSerializer<Value: Decodable & Sendable>: BodyResponseSerializer {
    // The compiler does not infer the type in every order of files.
    public typealias Output = Value

    public var acceptance = ResponseAcceptance(.json)
    /// The rules for reading the text.
    public var options: JSONCoding.ReadingOptions
    /// The statuses whose empty bodies become the type's value for an empty body. At other statuses an empty body is
    /// ``ErrorCode/emptyBody``. All statuses by default.
    public var emptyBodyStatuses = ResponseAcceptance.Statuses.any
    /// The dialect of the text; ``options`` replace its ``JSONCoding/reading``. nil, the default, is the dialect of the
    /// response's session.
    public var coding: JSONCoding?

    /// - Parameters:
    ///   - type: The type of the value.
    ///   - options: The rules for reading the text.
    ///   - coding: The dialect of the text; nil is the dialect of the response's session.
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
                throw CurlewError(.emptyBody, "there is no body, and the requested type needs one")
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

    /// The same serializer with a model for the JSON of unacceptable statuses.
    ///
    /// ```swift
    /// let serializer = JSONResponseSerializer<User>().orFailure(Problem.self)
    /// ```
    ///
    /// The error is still ``ErrorCode/unacceptableStatus``; ``CurlewError/failure(as:)`` returns the value.
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

    /// The serializer of `as: Model.self`: the body as JSON, with any media type and any value at the top.
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

/// The name of the format in errors.
enum JSONFormat {
    static let name = "JSON"
}

extension ResponseAcceptance.ContentTypes {
    /// The media types of JSON, including those that end in `+json`.
    static let json = ResponseAcceptance.ContentTypes.types(.json, .textJSON, .javaScript)
}

/// The type's value for an empty body; nil if the type has none.
func emptyBody<Value>(for type: Value.Type) -> Value? {
    (type as? any EmptyBodyRepresentable.Type)?.valueOfEmptyBody as? Value
}
