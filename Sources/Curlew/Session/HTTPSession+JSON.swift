internal import FoundationEssentials
public import HTTPTypes

extension HTTPSession {
    /// Fetches JSON and decodes it.
    /// - Throws: ``CurlewError``: ``ErrorCode/unacceptableStatus`` for anything but 2xx, with the start of the body;
    ///   ``ErrorCode/decodingFailed`` with the decoder's error beneath; ``ErrorCode/responseTooLarge``.
    public func get<Value: Decodable & Sendable>(
        _ reference: String, as type: Value.Type, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await decode(type, from: send(.get, reference, fields: fields.acceptingJSON, options: options))
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
        try await decode(type, from: send(.delete, reference, fields: fields.acceptingJSON, options: options))
    }

    /// Sends a value as JSON with any method and decodes the answer.
    public func send<Value: Decodable & Sendable>(
        _ method: HTTPRequest.Method, _ reference: String, json: some Encodable & Sendable, as type: Value.Type,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        var fields = fields.acceptingJSON
        if fields[.contentType] == nil { fields[.contentType] = "application/json" }
        let body: RequestBody
        do {
            body = .bytes(Array(try JSONEncoder().encode(json)))
        } catch {
            throw CurlewError(.encodingFailed, "the value cannot be written as JSON", underlying: error)
        }
        let response = try await send(method, reference, body: body, fields: fields, options: options)
        return try await decode(type, from: response)
    }

    private func decode<Value: Decodable>(_ type: Value.Type, from response: Response) async throws -> Value {
        var context = CurlewError.Context(uri: response.uri, stage: .receiving, response: response.head)
        guard response.status.kind == .successful else {
            context.bodyPrefix = await response.body.firstBytes(CurlewError.bodyPrefixLimit)
            throw CurlewError(
                .unacceptableStatus, "the status is \(response.status.code), not one of 200 to 299", context: context)
        }
        let bytes = try await response.body.collect(upTo: collectLimit)
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            context.bodyPrefix = Array(bytes.prefix(CurlewError.bodyPrefixLimit))
            throw CurlewError(
                .decodingFailed, "the body is not the JSON that was expected", context: context, underlying: error)
        }
    }
}

extension HTTPFields {
    fileprivate var acceptingJSON: HTTPFields {
        guard self[.accept] == nil else { return self }
        var fields = self
        fields[.accept] = "application/json"
        return fields
    }
}

extension ResponseBody {
    /// The first bytes, as far as they can be read.
    fileprivate func firstBytes(_ count: Int) async -> [UInt8] {
        var bytes: [UInt8] = []
        var iterator = makeAsyncIterator()
        while bytes.count < count, let chunk = try? await iterator.next() { bytes += chunk.prefix(count - bytes.count) }
        return bytes
    }
}
