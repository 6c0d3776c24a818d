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
    public func send<Value: Decodable & Sendable>(
        _ method: HTTPRequest.Method, _ reference: String, json: some Encodable & Sendable, as type: Value.Type,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        var fields = fields
        if fields[.contentType] == nil { fields[.contentType] = "application/json" }
        let body: RequestBody
        do {
            body = .bytes(Array(try JSONEncoder().encode(json)))
        } catch {
            throw CurlewError(.encodingFailed, "the value cannot be written as JSON", underlying: error)
        }
        return try await send(
            method, reference, body: body, fields: fields, options: options, serializer: .anyJSON(type))
    }
}

extension ResponseSerializer {
    fileprivate static func anyJSON<Model>(_ type: Model.Type) -> Self where Self == JSONResponseSerializer<Model> {
        JSONResponseSerializer(type, options: .anyValue)
    }
}
