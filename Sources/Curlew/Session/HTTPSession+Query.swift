public import HTTPTypes

/// QUERY (RFC 10008): asks a resource by content that would be too long, too structured or too private for a URL.
///
/// The shape is that of the other verbs. `parameters:` go into a form in the body. A QUERY is safe and idempotent as a GET is: it is repeated
/// after failures, hedged, and followed with its content through 301, 302, 307 and 308; after 303 the result is fetched with GET. ``HTTPCache``
/// stores its responses by URI, content and the fields that speak of the content, and a QUERY leaves what is stored for GET as it is.
///
/// A server refuses content without a Content-Type; `json:`, `form:` and `parameters:` set it, for `body:` it is one of the `fields:`.
///
/// ```swift
/// let found = try await api.query("contacts", form: ["select": "surname", "limit": 10], as: [String].self)
/// ```
///
/// ``CurlewResponse/acceptedQueryTypes`` lists the formats that a resource takes. A response may name a resource that gives the same result to a
/// GET, in Location, or this very result, in Content-Location; they are in ``CurlewResponse/fields``, and whether to use them is the caller's choice.
extension HTTPSession {
    /// Queries a resource, and brings the response as it came.
    public func query(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await send(
            .query, reference,
            RequestContent(parameters: parameters, encoding: encoding, form: form, json: json, body: body),
            fields: fields, timeout: timeout, options: options)
    }

    /// Queries a resource, and decodes the answer from JSON.
    public func query<Value: Decodable & Sendable>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await send(
            .query, reference,
            RequestContent(parameters: parameters, encoding: encoding, form: form, json: json, body: body),
            as: .model(type), fields: fields, timeout: timeout, options: options)
    }

    /// Queries a resource, and makes a value of the answer.
    public func query<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        parameters: RequestParameters = .none, encoding: RequestParameters.Encoding = .automatic,
        form: RequestParameters = .none, json: (any Encodable & Sendable)? = nil, body: CurlewRequest.Body = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), timeout: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await send(
            .query, reference,
            RequestContent(parameters: parameters, encoding: encoding, form: form, json: json, body: body),
            as: serializer, fields: fields, timeout: timeout, options: options)
    }
}
