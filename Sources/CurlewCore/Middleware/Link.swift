/// A middleware made of a closure: the closure receives a request, may change it, calls the rest of the chain, and
/// receives the response.
///
/// It suits a link that is needed once and has no state of its own. A link with options or tests is better written as a
/// type that conforms to ``CurlewMiddleware``.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     Link { request, next in
///         var request = request
///         request.fields[.acceptLanguage] = "en"
///         return try await next(request)
///     }
///     StandardChain()
/// }
/// ```
///
/// The closure runs on its caller's executor, as the method of every link does. It may call `next` more than once, or
/// not at all. A request for another origin than the caller's is made with ``CurlewRequest/removingSecrets()``.
public struct Link: CurlewMiddleware {
    /// The closure of a link: its input is the request and the rest of the chain, its result the response.
    public typealias Interceptor =
        nonisolated(nonsending) @Sendable (
            CurlewRequest, Next<CurlewRequest, CurlewResponse>
        ) async throws -> CurlewResponse

    private let interceptor: Interceptor

    /// - Parameter interceptor: The closure that handles one call.
    public init(_ interceptor: @escaping Interceptor) { self.interceptor = interceptor }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await interceptor(request, next)
    }
}
