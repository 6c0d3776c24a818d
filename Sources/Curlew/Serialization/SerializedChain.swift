internal import HTTPTypes

extension ChainBuilder {
    /// Links that bring a response, with a serializer at their end that makes a value of it.
    ///
    /// The builder makes it where a response serializer is written after links that take a response back. They still do; the
    /// value goes to the caller alone.
    public struct Serialized<Links: CurlewMiddleware, Serializer: ResponseSerializer>: CurlewMiddleware
    where Links.Output == CurlewResponse, Links.NextInput == CurlewRequest, Links.NextOutput == CurlewResponse {
        let links: Links
        let serializer: Serializer

        public func intercept(
            _ input: Links.Input, next: Next<CurlewRequest, CurlewResponse>
        ) async throws -> Serializer.Output {
            // The links may ask more than once, and at the same time.
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
    // Where the general rule fits too, it is the one to use.
    @_disfavoredOverload
    public static func buildPartialBlock<Links: CurlewMiddleware, Serializer: ResponseSerializer>(
        accumulated: Links, next: Serializer
    ) -> ChainBuilder.Serialized<Links, Serializer> {
        ChainBuilder.Serialized(links: accumulated, serializer: next)
    }
}
