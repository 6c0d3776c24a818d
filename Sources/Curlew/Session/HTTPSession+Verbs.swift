public import HTTPTypes

/// The verbs. All have one shape:
///
/// - What goes in: `parameters:` into the query, or for POST, PUT and PATCH without any other content into a form (see
///   ``RequestParameters/Encoding``); `json:` by the session's ``HTTPSession/json``; `form:` as
///   `application/x-www-form-urlencoded`; `body:` as it is; a trailing closure for the parts of a form. nil stands for none. A
///   request has one body: two of them are ``ErrorCode/invalidRequest``.
/// - What comes out: without `as:` the response as it came, whatever its status, its body still to be read. With `as:` and a
///   `Decodable` type, a value from JSON: the status must be 2xx, and the media type does not matter. With `as:` and a
///   serializer, such as `.text`, `.bytes`, `.data`, `.nothing`, `.json(User.self)`, `.valueAndResponse(User.self)` and
///   `.file(.folder("/tmp"))`, what that makes.
/// - How: `fields:` replace the session's of the same name; `timeout:` is a deadline over the whole call, redirects and
///   retries included (``RequestOptions/totalTimeout``); `options:` has everything else, and what is nil in it is the session's.
///
/// They throw ``CurlewError``: ``ErrorCode/encodingFailed`` if something cannot be written, and then nothing was sent; with `as:`
/// ``ErrorCode/unacceptableStatus`` with the body and what it says (``CurlewError/failure(as:)``), ``ErrorCode/emptyBody``,
/// ``ErrorCode/decodingFailed``, or ``ErrorCode/unacceptableContentType`` where what cannot be decoded was no JSON to begin
/// with, ``ErrorCode/responseTooLarge``.
///
/// ```swift
/// let user = try await api.get("users/\(id)", as: User.self)
/// let order = try await api.post("orders", json: newOrder, as: Order.self, timeout: .seconds(5))
/// try await api.delete("orders/\(id)", as: .nothing)
/// ```
extension HTTPSession {
    /// Fetches a representation, and brings the response as it came.
    public func get(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        // The call that is made most often.
        if parameters.isNone, encoding.isAutomatic {
            return try await send(request(.get, reference, fields: fields, timeout: timeout, options: options))
        }
        return try await send(
            .get, reference, RequestContent(parameters: parameters, encoding: encoding), fields: fields,
            timeout: timeout, options: options)
    }

    /// Fetches a representation, and decodes the answer from JSON.
    public func get<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await send(
            .get, reference, RequestContent(parameters: parameters, encoding: encoding), as: .model(type),
            fields: fields, timeout: timeout, options: options)
    }

    /// Fetches a representation, and makes a value of the answer.
    public func get<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await send(
            .get, reference, RequestContent(parameters: parameters, encoding: encoding), as: serializer, fields: fields,
            timeout: timeout, options: options)
    }

    /// Gives content to a resource to act on, and brings the response as it came.
    public func post(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> CurlewResponse {
        try await send(
            .post, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), fields: fields, timeout: timeout, options: options)
    }

    /// Gives content to a resource to act on, and decodes the answer from JSON.
    public func post<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Value {
        try await send(
            .post, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: .model(type), fields: fields, timeout: timeout,
            options: options)
    }

    /// Gives content to a resource to act on, and makes a value of the answer.
    public func post<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Serializer.Output {
        try await send(
            .post, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: serializer, fields: fields, timeout: timeout,
            options: options)
    }

    /// Puts a representation in place, and brings the response as it came.
    public func put(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> CurlewResponse {
        try await send(
            .put, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), fields: fields, timeout: timeout, options: options)
    }

    /// Puts a representation in place, and decodes the answer from JSON.
    public func put<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Value {
        try await send(
            .put, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: .model(type), fields: fields, timeout: timeout,
            options: options)
    }

    /// Puts a representation in place, and makes a value of the answer.
    public func put<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Serializer.Output {
        try await send(
            .put, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: serializer, fields: fields, timeout: timeout,
            options: options)
    }

    /// Changes a part of a representation (RFC 5789), and brings the response as it came.
    public func patch(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> CurlewResponse {
        try await send(
            .patch, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), fields: fields, timeout: timeout, options: options)
    }

    /// Changes a part of a representation (RFC 5789), and decodes the answer from JSON.
    public func patch<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Value {
        try await send(
            .patch, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: .model(type), fields: fields, timeout: timeout,
            options: options)
    }

    /// Changes a part of a representation (RFC 5789), and makes a value of the answer.
    public func patch<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Serializer.Output {
        try await send(
            .patch, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: serializer, fields: fields, timeout: timeout,
            options: options)
    }

    /// Removes a resource, and brings the response as it came.
    public func delete(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> CurlewResponse {
        try await send(
            .delete, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), fields: fields, timeout: timeout, options: options)
    }

    /// Removes a resource, and decodes the answer from JSON.
    public func delete<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Value {
        try await send(
            .delete, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: .model(type), fields: fields, timeout: timeout,
            options: options)
    }

    /// Removes a resource, and makes a value of the answer.
    public func delete<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Serializer.Output {
        try await send(
            .delete, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: serializer, fields: fields, timeout: timeout,
            options: options)
    }

    /// Fetches the head of a representation.
    public func head(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(
            .head, reference, RequestContent(parameters: parameters, encoding: encoding), fields: fields,
            timeout: timeout, options: options)
    }

    /// Sends a request with any method, and brings the response as it came.
    public func send(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> CurlewResponse {
        try await send(
            method, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), fields: fields, timeout: timeout, options: options)
    }

    /// Sends a request with any method, and decodes the answer from JSON.
    public func send<Value: Decodable & Sendable>(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Value {
        try await send(
            method, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: .model(type), fields: fields, timeout: timeout,
            options: options)
    }

    /// Sends a request with any method, and makes a value of the answer.
    public func send<Serializer: ResponseSerializer>(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) async throws -> Serializer.Output {
        try await send(
            method, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), as: serializer, fields: fields, timeout: timeout,
            options: options)
    }

    /// Sends a request and decodes the answer from JSON.
    public func send<Value: Decodable & Sendable>(_ request: CurlewRequest, as type: Value.Type) async throws -> Value {
        try await send(request, as: .model(type))
    }

    /// Sends a request and makes a value of the answer.
    public func send<Serializer: ResponseSerializer>(
        _ request: CurlewRequest, as serializer: Serializer
    ) async throws -> Serializer.Output {
        try await serializer.intercept(request) { try await send($0) }
    }

    /// The request that ``send(_:_:parameters:encoding:form:json:body:fields:timeout:options:parts:)`` would send, the session's
    /// default fields included: to be changed, sent later, or shown by ``CurlewRequest/curlCommand(maskingSecrets:)``.
    public func request(
        _ method: HTTPRequest.Method, _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(), options: RequestOptions = RequestOptions(),
        parts: ((inout MultipartFormData) throws -> Void)? = nil
    ) throws -> CurlewRequest {
        try makeRequest(
            method, reference,
            RequestContent(
                parameters: parameters, encoding: encoding, form: form, json: json, body: body,
                multipart: try MultipartFormData.made(by: parts)), fields: fields, options: options)
    }
}

extension MultipartFormData {
    /// The form that a closure makes; nil without a closure.
    static func made(by build: ((inout MultipartFormData) throws -> Void)?) throws -> MultipartFormData? {
        guard let build else { return nil }
        var form = MultipartFormData()
        try build(&form)
        return form
    }
}
