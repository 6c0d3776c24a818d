public import HTTPTypes

/// The verbs. All have the same arguments:
///
/// - The input is one value, a ``CurlewRequest/Content``: `.json(order)`, `.form(["user": name])`, `.multipart { form
///   in … }`, `.file(path)`, `.text("hi")`, `.bytes(bytes)`. `query:` always goes into the query of the URL.
///   `parameters:` go where AFNetworking puts them: into the query for GET, HEAD and DELETE, into the body for other
///   methods (``RequestParameters/Encoding``).
/// - The output depends on `as:`.
///   - Without `as:`, a verb returns the response unchanged, whatever its status, with its body unread.
///   - With a `Decodable` type, it returns a value decoded from JSON: the status must be 2xx, and the media type does
///     not matter.
///   - With a serializer, it returns the value of the serializer. Examples are `.text`, `.bytes`, `.data`, `.nothing`,
///     `.json(User.self)`, `.valueAndResponse(User.self)` and `.file(.folder("/tmp"))`.
/// - The settings: `fields:` replace the session's of the same name; `credential:` sets Authorization. `timeout:` is a
///   deadline over the call, including redirects and retries (``RequestOptions/totalTimeout``). `options:` contains all
///   other settings; an option that is nil is the session's.
///
/// The verbs throw ``CurlewError``:
///
/// - ``ErrorCode/encodingFailed`` if a content cannot be encoded; nothing was sent then.
/// - With `as:`: ``ErrorCode/unacceptableStatus`` with the body, which ``CurlewError/failure(as:)`` decodes;
///   ``ErrorCode/emptyBody``; ``ErrorCode/decodingFailed``, or ``ErrorCode/unacceptableContentType`` if the content
///   that cannot be decoded was not declared as JSON; ``ErrorCode/responseTooLarge``.
/// - ``ErrorCode/foreignFailure`` with the error that a link or a closure of the program has thrown.
///
/// ```swift
/// let user = try await api.get("users/\(id)", as: User.self)
/// let order = try await api.post("orders", .json(newOrder), as: Order.self, timeout: .seconds(5))
/// try await api.delete("orders/\(id)", as: .nothing)
/// ```
extension HTTPSession {
    /// Fetches a representation, and returns the response unchanged.
    public func get(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        // A short path for the most frequent call.
        if parameters.isNone, query.isNone, encoding.isAutomatic, credential == nil {
            return try await send(request(.get, reference, fields: fields, timeout: timeout, options: options))
        }
        return try await call(
            .get, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Fetches a representation, and decodes the response from JSON.
    public func get<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .get, reference, CallContent(parameters, encoding, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Fetches a representation, and makes a value of the response.
    public func get<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .get, reference, CallContent(parameters, encoding, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Submits content to a resource for processing, and returns the response unchanged.
    public func post(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .post, reference, CallContent(content, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Submits content to a resource for processing, and decodes the response from JSON.
    public func post<Value: Decodable & Sendable>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .post, reference, CallContent(content, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Submits content to a resource for processing, and makes a value of the response.
    public func post<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .post, reference, CallContent(content, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Creates or replaces a representation, and returns the response unchanged.
    public func put(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .put, reference, CallContent(content, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Creates or replaces a representation, and decodes the response from JSON.
    public func put<Value: Decodable & Sendable>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .put, reference, CallContent(content, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Creates or replaces a representation, and makes a value of the response.
    public func put<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .put, reference, CallContent(content, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Changes a part of a representation (RFC 5789), and returns the response unchanged.
    public func patch(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .patch, reference, CallContent(content, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Changes a part of a representation (RFC 5789), and decodes the response from JSON.
    public func patch<Value: Decodable & Sendable>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .patch, reference, CallContent(content, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Changes a part of a representation (RFC 5789), and makes a value of the response.
    public func patch<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .patch, reference, CallContent(content, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Removes a resource, and returns the response unchanged.
    public func delete(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .delete, reference, CallContent(content, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Removes a resource, and decodes the response from JSON.
    public func delete<Value: Decodable & Sendable>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .delete, reference, CallContent(content, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Removes a resource, and makes a value of the response.
    public func delete<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .delete, reference, CallContent(content, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Fetches the head of a representation, and returns the response unchanged.
    public func head(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .head, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Sends a request with any method, and returns the response unchanged.
    public func send(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            method, reference, CallContent(content, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Sends a request with any method, and decodes the response from JSON.
    public func send<Value: Decodable & Sendable>(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            method, reference, CallContent(content, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Sends a request with any method, and makes a value of the response.
    public func send<Serializer: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            method, reference, CallContent(content, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Sends a request, and decodes the response from JSON.
    public func send<Value: Decodable & Sendable>(
        _ request: CurlewRequest, as type: Value.Type
    ) async throws -> Value {
        try await send(request, as: .model(type))
    }

    /// Sends a request, and makes a value of the response.
    public func send<Serializer: ResponseSerializer>(
        _ request: CurlewRequest, as serializer: Serializer
    ) async throws -> Serializer.Output {
        do {
            return try await serializer.intercept(request) { try await send($0) }
        } catch {
            throw CurlewError(wrapping: error, request)
        }
    }

    /// The request that a verb would send, including the session's default fields. It can be changed, sent later, or
    /// printed by ``CurlewRequest/curlCommand(maskingSecrets:)``.
    public func request(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, options: RequestOptions = RequestOptions()
    ) throws -> CurlewRequest {
        try makeRequest(
            method, reference, CallContent(content, query: query), CallSettings(fields, credential, nil, options))
    }
}
