public import HTTPTypes

/// QUERY (RFC 10008): asks a resource by content that would be too long, too structured or too private for a URL.
///
/// The shape is that of the other verbs. `parameters:` go into a form in the body. A QUERY is safe and idempotent as a GET is: it is repeated
/// after failures, hedged, and followed with its content through 301, 302, 307 and 308; after 303 the result is fetched with GET. ``HTTPCache``
/// stores its responses by URI, content and the fields that speak of the content, and a QUERY leaves what is stored for GET as it is.
///
/// A server refuses content without a Content-Type; all contents but `.body` set it, and that takes it as an argument.
///
/// ```swift
/// let found = try await api.query("contacts", .form(["select": "surname", "limit": 10]), as: [String].self)
/// ```
///
/// ``CurlewResponse/acceptedQueryTypes`` lists the formats that a resource takes. A response may name a resource that gives the same result to a
/// GET, in Location, or this very result, in Content-Location; they are in ``CurlewResponse/fields``, and whether to use them is the caller's choice.
extension HTTPSession {
    /// Queries a resource, and returns the response as it came.
    public func query(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> CurlewResponse {
        try await call(
            .query, reference, CallContent(content, query: query),
            CallSettings(fields, credential, timeout, options))
    }

    /// Queries a resource, and decodes the response from JSON.
    public func query<Value: Decodable & Sendable>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as type: Value.Type,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Value {
        try await call(
            .query, reference, CallContent(content, query: query), as: .model(type),
            CallSettings(fields, credential, timeout, options))
    }

    /// Queries a resource, and makes a value of the response.
    public func query<Serializer: ResponseSerializer>(
        _ reference: URIReference,
        _ content: CurlewRequest.Content = .none, query: RequestParameters = .none,
        as serializer: Serializer,
        fields: HTTPFields = HTTPFields(), credential: Credential? = nil, timeout: Duration? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> Serializer.Output {
        try await call(
            .query, reference, CallContent(content, query: query), as: serializer,
            CallSettings(fields, credential, timeout, options))
    }
}
