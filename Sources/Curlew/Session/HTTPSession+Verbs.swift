public import HTTPTypes

extension HTTPSession {
    /// Fetches a representation.
    public func get(
        _ reference: String, fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(.get, reference, fields: fields, options: options)
    }

    /// Fetches the head of a representation.
    public func head(
        _ reference: String, fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(.head, reference, fields: fields, options: options)
    }

    /// Gives a body to a resource to act on.
    public func post(
        _ reference: String, body: CurlewRequest.Body, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(.post, reference, body: body, fields: fields, options: options)
    }

    /// Puts a representation in place.
    public func put(
        _ reference: String, body: CurlewRequest.Body, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(.put, reference, body: body, fields: fields, options: options)
    }

    /// Changes a part of a representation (RFC 5789).
    public func patch(
        _ reference: String, body: CurlewRequest.Body, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(.patch, reference, body: body, fields: fields, options: options)
    }

    /// Removes a resource.
    public func delete(
        _ reference: String, body: CurlewRequest.Body = .none, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(.delete, reference, body: body, fields: fields, options: options)
    }
}
