public import HTTPTypes

/// The verbs. All have one shape:
///
/// - What goes in is one value, a ``CurlewRequest/Content``: `.json(order)`, `.form(["user": name])`, `.multipart { form in … }`,
///   `.file(path)`, `.text("hi")`, `.bytes(bytes)`. `query:` always goes into the query of the URL. `parameters:` go where AFNetworking
///   puts them: into the query for GET, HEAD and DELETE, into the body for the others (``RequestParameters/Encoding``).
/// - What comes out is `as:`. Without it a verb returns the response as it came, whatever its status, its body still to be read. With `as:`
///   and a `Decodable` type, it returns a value from JSON: the status must be 2xx, and the media type does not matter. With `as:` and a
///   serializer, such as `.text`, `.bytes`, `.data`, `.nothing`, `.json(User.self)`, `.valueAndResponse(User.self)` and
///   `.file(.folder("/tmp"))`, it returns the value that the serializer makes.
/// - How: `fields:` replace the session's of the same name; `credential:` sets Authorization; `timeout:` is a deadline over the whole call,
///   redirects and retries included (``RequestOptions/totalTimeout``); `options:` has everything else, and an option that is nil is the
///   session's.
///
/// They throw ``CurlewError``: ``ErrorCode/encodingFailed`` if something cannot be written, and then nothing was sent; with `as:`
/// ``ErrorCode/unacceptableStatus`` with the body and what it says (``CurlewError/failure(as:)``), ``ErrorCode/emptyBody``,
/// ``ErrorCode/decodingFailed``, or ``ErrorCode/unacceptableContentType`` where what cannot be decoded was no JSON to begin
/// with, ``ErrorCode/responseTooLarge``; ``ErrorCode/foreignFailure`` with the error that a link or a closure of the program's own has thrown.
///
/// ```swift
/// let user = try await api.get("users/\(id)", as: User.self)
/// let order = try await api.post("orders", .json(newOrder), as: Order.self, timeout: .seconds(5))
/// try await api.delete("orders/\(id)", as: .nothing)
/// ```
extension HTTPSession {
    /// Fetches a representation, and returns the response as it came.
    public func get(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        // The call that is made most often.
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

    /// Gives content to a resource to act on, and returns the response as it came.
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

    /// Gives content to a resource to act on, and decodes the response from JSON.
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

    /// Gives content to a resource to act on, and makes a value of the response.
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

    /// Puts a representation in place, and returns the response as it came.
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

    /// Puts a representation in place, and decodes the response from JSON.
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

    /// Puts a representation in place, and makes a value of the response.
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

    /// Changes a part of a representation (RFC 5789), and returns the response as it came.
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

    /// Removes a resource, and returns the response as it came.
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

    /// Fetches the head of a representation, and returns the response as it came.
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

    /// Sends a request with any method, and returns the response as it came.
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

    /// The request that a verb would send, the session's default fields included: to be changed, sent later, or shown by
    /// ``CurlewRequest/curlCommand(maskingSecrets:)``.
    public func request(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, options: RequestOptions = RequestOptions()
    ) throws -> CurlewRequest {
        try makeRequest(
            method, reference, CallContent(content, query: query), CallSettings(fields, credential, nil, options))
    }
}
