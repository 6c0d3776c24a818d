public import HTTPTypes

/// The verbs with a tree of parameters, which may be written as a literal. nil stands for none. All of them call
/// ``send(_:_:parameters:placement:serializer:fields:options:response:)``, which has the rules.
///
/// ```swift
/// let response = try await api.get("birds", parameters: ["family": "Scolopacidae", "page": 2])
/// ```
extension HTTPSession {
    /// Fetches a representation; the parameters go into the query.
    public func get<Result: ResponseSerializer>(
        _ reference: String, parameters: ParameterValue?, placement: RequestParameters.Placement = .automatic,
        serializer: (any RequestSerializer)? = nil, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(
            .get, reference, parameters: RequestParameters(parameters), placement: placement, serializer: serializer,
            fields: fields, options: options, response: response)
    }

    /// Fetches the head of a representation; the parameters go into the query.
    public func head<Result: ResponseSerializer>(
        _ reference: String, parameters: ParameterValue?, placement: RequestParameters.Placement = .automatic,
        serializer: (any RequestSerializer)? = nil, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(
            .head, reference, parameters: RequestParameters(parameters), placement: placement, serializer: serializer,
            fields: fields, options: options, response: response)
    }

    /// Gives parameters to a resource to act on, in the body.
    public func post<Result: ResponseSerializer>(
        _ reference: String, parameters: ParameterValue?, placement: RequestParameters.Placement = .automatic,
        serializer: (any RequestSerializer)? = nil, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(
            .post, reference, parameters: RequestParameters(parameters), placement: placement, serializer: serializer,
            fields: fields, options: options, response: response)
    }

    /// Puts a representation in place, given as parameters in the body.
    public func put<Result: ResponseSerializer>(
        _ reference: String, parameters: ParameterValue?, placement: RequestParameters.Placement = .automatic,
        serializer: (any RequestSerializer)? = nil, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(
            .put, reference, parameters: RequestParameters(parameters), placement: placement, serializer: serializer,
            fields: fields, options: options, response: response)
    }

    /// Changes a part of a representation (RFC 5789); the parameters go into the body.
    public func patch<Result: ResponseSerializer>(
        _ reference: String, parameters: ParameterValue?, placement: RequestParameters.Placement = .automatic,
        serializer: (any RequestSerializer)? = nil, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(
            .patch, reference, parameters: RequestParameters(parameters), placement: placement, serializer: serializer,
            fields: fields, options: options, response: response)
    }

    /// Removes a resource; the parameters go into the query, or into the body with ``RequestParameters/Placement/body``.
    public func delete<Result: ResponseSerializer>(
        _ reference: String, parameters: ParameterValue?, placement: RequestParameters.Placement = .automatic,
        serializer: (any RequestSerializer)? = nil, fields: HTTPFields = HTTPFields(),
        options: RequestOptions = RequestOptions(), response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(
            .delete, reference, parameters: RequestParameters(parameters), placement: placement, serializer: serializer,
            fields: fields, options: options, response: response)
    }

    /// Sends parameters with any method.
    public func send<Result: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: String, parameters: ParameterValue?,
        placement: RequestParameters.Placement = .automatic, serializer: (any RequestSerializer)? = nil,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(),
        response: Result = RawResponseSerializer()
    ) async throws -> Result.Output {
        try await send(
            method, reference, parameters: RequestParameters(parameters), placement: placement, serializer: serializer,
            fields: fields, options: options, response: response)
    }
}
