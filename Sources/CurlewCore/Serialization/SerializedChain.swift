internal import HTTPTypes

extension ChainBuilder {
    /// Links that return a response, followed by a serializer that turns it into a value.
    ///
    /// The builder creates it if a response serializer follows links that expect a response. These links still get the
    /// response; only the caller gets the value.
    public struct Serialized<Links: CurlewMiddleware, Serializer: ResponseSerializer>: CurlewMiddleware
    where Links.Output == CurlewResponse, Links.NextInput == CurlewRequest, Links.NextOutput == CurlewResponse {
        let links: Links
        let serializer: Serializer

        public func intercept(
            _ input: Links.Input, next: Next<CurlewRequest, CurlewResponse>
        ) async throws -> Serializer.Output {
            // The links may call the rest more than once, also concurrently.
            let method = Guarded<HTTPRequest.Method?>(nil)
            let response = try await links.intercept(input) { request in
                method.withLock { $0 = request.method }
                return try await next(serializer.accepting(request))
            }
            do {
                return try await serializer.serialize(response)
            } catch let error as CurlewError {
                throw error.adding(CurlewError.Context(method: method.withLock { $0 }, uri: response.uri))
            } catch let error as CancellationError {
                throw CurlewError(
                    error, context: CurlewError.Context(method: method.withLock { $0 }, uri: response.uri))
            }
        }
    }
}

extension ChainBuilder {
    // If the general rule fits too, it is preferred.
    @_disfavoredOverload
    public static func buildPartialBlock<Links: CurlewMiddleware, Serializer: ResponseSerializer>(
        accumulated: Links, next: Serializer
    ) -> ChainBuilder.Serialized<Links, Serializer> {
        ChainBuilder.Serialized(links: accumulated, serializer: next)
    }
}
