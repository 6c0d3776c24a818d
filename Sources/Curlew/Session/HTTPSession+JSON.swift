internal import FoundationEssentials
public import HTTPTypes

/// JSON both ways. The answers go through ``JSONResponseSerializer``, with any JSON value allowed at the top.
extension HTTPSession {
    /// Fetches JSON and decodes it.
    /// - Throws: ``CurlewError``: ``ErrorCode/unacceptableStatus`` for anything but 2xx, with the body and what it says
    ///   (``CurlewError/failure(as:)``); ``ErrorCode/unacceptableContentType``; ``ErrorCode/emptyBody``;
    ///   ``ErrorCode/decodingFailed`` with the decoder's error beneath; ``ErrorCode/responseTooLarge``.
    public func get<Value: Decodable & Sendable>(
        _ reference: String, as type: Value.Type, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await get(reference, fields: fields, options: options, serializer: .anyJSON(type))
    }

    /// Posts a value as JSON and decodes the answer.
    public func post<Value: Decodable & Sendable>(
        _ reference: String, json: some Encodable & Sendable, as type: Value.Type,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await send(.post, reference, json: json, as: type, fields: fields, options: options)
    }

    /// Puts a value as JSON and decodes the answer.
    public func put<Value: Decodable & Sendable>(
        _ reference: String, json: some Encodable & Sendable, as type: Value.Type,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await send(.put, reference, json: json, as: type, fields: fields, options: options)
    }

    /// Patches with a value as JSON and decodes the answer.
    public func patch<Value: Decodable & Sendable>(
        _ reference: String, json: some Encodable & Sendable, as type: Value.Type,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await send(.patch, reference, json: json, as: type, fields: fields, options: options)
    }

    /// Deletes and decodes the answer.
    public func delete<Value: Decodable & Sendable>(
        _ reference: String, as type: Value.Type, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await delete(reference, fields: fields, options: options, serializer: .anyJSON(type))
    }

    /// Sends a value as JSON with any method and decodes the answer.
    ///
    /// It is written as Foundation's `JSONEncoder` writes it by default, dates as seconds since 2001, with keys in their order.
    /// - Throws: ``CurlewError``: ``ErrorCode/encodingFailed`` for a value that cannot be written, as ``ParameterEncoder`` and
    ///   ``JSONStyle`` have it; then nothing is sent. Else as ``get(_:as:fields:options:)``.
    public func send<Value: Decodable & Sendable>(
        _ method: HTTPRequest.Method, _ reference: String, json: some Encodable & Sendable, as type: Value.Type,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        var fields = fields
        if fields[.contentType] == nil { fields[.contentType] = "application/json" }
        return try await send(
            method, reference, parameters: RequestParameters(json), placement: .body, serializer: Self.jsonSerializer,
            fields: fields, options: options, response: .anyJSON(type))
    }

    /// Writes what Foundation's `JSONEncoder` would, whose decoder reads it again; but a cycle of objects is an error here.
    private static let jsonSerializer: JSONRequestSerializer = {
        var serializer = JSONRequestSerializer(base: HTTPRequestSerializer(defaultFields: HTTPFields()))
        serializer.style.options = .fragmentsAllowed
        serializer.style.dates = .custom { ParameterValue($0.timeIntervalSinceReferenceDate) }
        return serializer
    }()
}

extension ResponseSerializer {
    fileprivate static func anyJSON<Model>(_ type: Model.Type) -> Self where Self == JSONResponseSerializer<Model> {
        JSONResponseSerializer(type, options: .anyValue)
    }
}
