public import HTTPTypes

/// The verbs whose content is made of parameters, as in AFNetworking.
///
/// ``HTTPSession/requestSerializer``, or `encoding:`, decides the place of `parameters:`. By default it is the query
/// for DELETE, and the body for POST, PUT, PATCH and QUERY. `query:` goes into the query of the URL, whatever the
/// encoding. The other arguments are those of the verbs with a content.
///
/// ```swift
/// let session = try await api.post("login", parameters: ["user": name, "password": password], as: Session.self)
/// ```
extension HTTPSession {
    /// Submits content to a resource for processing, and returns the response unchanged.
    public func post(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .post, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Submits content to a resource for processing, and decodes the response from JSON.
    public func post<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .post, reference, CallContent(parameters, encoding, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Submits content to a resource for processing, and makes a value of the response.
    public func post<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .post, reference, CallContent(parameters, encoding, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Creates or replaces a representation, and returns the response unchanged.
    public func put(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .put, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Creates or replaces a representation, and decodes the response from JSON.
    public func put<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .put, reference, CallContent(parameters, encoding, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Creates or replaces a representation, and makes a value of the response.
    public func put<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .put, reference, CallContent(parameters, encoding, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Changes a part of a representation (RFC 5789), and returns the response unchanged.
    public func patch(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .patch, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Changes a part of a representation (RFC 5789), and decodes the response from JSON.
    public func patch<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .patch, reference, CallContent(parameters, encoding, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Changes a part of a representation (RFC 5789), and makes a value of the response.
    public func patch<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .patch, reference, CallContent(parameters, encoding, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Removes a resource, and returns the response unchanged.
    public func delete(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .delete, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Removes a resource, and decodes the response from JSON.
    public func delete<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .delete, reference, CallContent(parameters, encoding, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Removes a resource, and makes a value of the response.
    public func delete<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .delete, reference, CallContent(parameters, encoding, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// Sends a request with any method, and returns the response unchanged.
    public func send(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            method, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Sends a request with any method, and decodes the response from JSON.
    public func send<Value: Decodable & Sendable>(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            method, reference, CallContent(parameters, encoding, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Sends a request with any method, and makes a value of the response.
    public func send<Serializer: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            method, reference, CallContent(parameters, encoding, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }

    /// The request that a verb would send with parameters.
    public func request(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, options: RequestOptions = RequestOptions()
    ) throws -> CurlewRequest {
        try makeRequest(
            method, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, nil, options))
    }

    /// Queries a resource, and returns the response unchanged.
    public func query(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .query, reference, CallContent(parameters, encoding, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Queries a resource, and decodes the response from JSON.
    public func query<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .query, reference, CallContent(parameters, encoding, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Queries a resource, and makes a value of the response.
    public func query<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters, encoding: RequestParameters.Encoding = .automatic,
        query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .query, reference, CallContent(parameters, encoding, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }
}
