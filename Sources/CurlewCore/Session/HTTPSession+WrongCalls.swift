// Overloads that explain calls which cannot be written. The compiler's own message would mislead.
extension HTTPSession {
    @available(
        *, unavailable,
        message:
            "a GET request has no content: values for its URL go into parameters: or query:; send(request) takes any"
    )
    public func get(
        _ reference: URIReference, _ content: CurlewRequest.Content, query: RequestParameters = .none, as type: Any = ()
    ) async throws -> CurlewResponse { throw CancellationError() }

    @available(
        *, unavailable,
        message: "a request has one content: parameters: is its body in this method; values for its URL go into query:"
    )
    public func post(
        _ reference: URIReference, _ content: CurlewRequest.Content, parameters: RequestParameters, as type: Any = ()
    ) async throws -> CurlewResponse { throw CancellationError() }

    @available(
        *, unavailable,
        message: "a request has one content: parameters: is its body in this method; values for its URL go into query:"
    )
    public func put(
        _ reference: URIReference, _ content: CurlewRequest.Content, parameters: RequestParameters, as type: Any = ()
    ) async throws -> CurlewResponse { throw CancellationError() }

    @available(
        *, unavailable,
        message: "a request has one content: parameters: is its body in this method; values for its URL go into query:"
    )
    public func patch(
        _ reference: URIReference, _ content: CurlewRequest.Content, parameters: RequestParameters, as type: Any = ()
    ) async throws -> CurlewResponse { throw CancellationError() }
}
