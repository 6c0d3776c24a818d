public import HTTPTypes

/// Results of any type: each call brings the serializer that is to make them.
extension HTTPSession {
    /// Sends a request and makes a value of the response.
    ///
    /// ```swift
    /// let page = try await api.send(request, serializer: .string)
    /// ```
    /// - Throws: ``CurlewError``, also what `serializer` throws.
    public func send<Serializer: ResponseSerializer>(
        _ request: CurlewRequest, serializer: Serializer
    ) async throws -> Serializer.Output {
        try await serializer.intercept(request) { try await send($0) }
    }

    /// Sends a request made from its parts and makes a value of the response.
    public func send<Serializer: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: String, body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), serializer: Serializer
    ) async throws -> Serializer.Output {
        let request = CurlewRequest(method, try resolve(reference), fields: fields, body: body, options: options)
        return try await send(request, serializer: serializer)
    }

    /// Fetches a representation and makes a value of it.
    public func get<Serializer: ResponseSerializer>(
        _ reference: String, fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(),
        serializer: Serializer
    ) async throws -> Serializer.Output {
        try await send(.get, reference, fields: fields, options: options, serializer: serializer)
    }

    /// Gives a body to a resource to act on and makes a value of the answer.
    public func post<Serializer: ResponseSerializer>(
        _ reference: String, body: CurlewRequest.Body, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), serializer: Serializer
    ) async throws -> Serializer.Output {
        try await send(.post, reference, body: body, fields: fields, options: options, serializer: serializer)
    }

    /// Puts a representation in place and makes a value of the answer.
    public func put<Serializer: ResponseSerializer>(
        _ reference: String, body: CurlewRequest.Body, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), serializer: Serializer
    ) async throws -> Serializer.Output {
        try await send(.put, reference, body: body, fields: fields, options: options, serializer: serializer)
    }

    /// Changes a part of a representation (RFC 5789) and makes a value of the answer.
    public func patch<Serializer: ResponseSerializer>(
        _ reference: String, body: CurlewRequest.Body, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), serializer: Serializer
    ) async throws -> Serializer.Output {
        try await send(.patch, reference, body: body, fields: fields, options: options, serializer: serializer)
    }

    /// Removes a resource and makes a value of the answer.
    public func delete<Serializer: ResponseSerializer>(
        _ reference: String, body: CurlewRequest.Body = .none, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), serializer: Serializer
    ) async throws -> Serializer.Output {
        try await send(.delete, reference, body: body, fields: fields, options: options, serializer: serializer)
    }
}
