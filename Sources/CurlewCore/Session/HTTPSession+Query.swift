public import HTTPTypes

/// QUERY (RFC 10008): a safe request with content. It suits queries that would be too long, too structured or too
/// private for a URL.
///
/// The arguments are those of the other verbs. `parameters:` become a form in the body. A QUERY is safe and idempotent,
/// as a GET is. It is retried after failures, hedged, and redirected with its content by 301, 302, 307 and 308. After
/// 303 the result is fetched with GET. ``HTTPCache`` stores its responses by URI, content and the fields that describe
/// the content. A QUERY does not change responses stored for GET.
///
/// A server rejects content without a Content-Type. All contents except `.body` set it; `.body` takes it as an
/// argument.
///
/// ```swift
/// let found = try await api.query("contacts", .form(["select": "surname", "limit": 10]), as: [String].self)
/// ```
///
/// ``CurlewResponse/acceptedQueryTypes`` lists the formats that a resource accepts. A response may name a resource that
/// returns the same result to a GET, in Location, or this result itself, in Content-Location. Both are in
/// ``CurlewResponse/fields``; the caller decides whether to use them.
extension HTTPSession {
    /// Queries a resource, and returns the response unchanged.
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
