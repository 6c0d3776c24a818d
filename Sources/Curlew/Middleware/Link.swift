/// A link that is a closure: it sees a request, may change it, calls the rest of the chain, and sees the response.
///
/// For a link that is needed once and has no state of its own; one with options, or with tests of its own, is better a type that
/// conforms to ``CurlewMiddleware``.
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
/// The closure runs where its caller runs, as the method of any link does, and `next` may be called more than once, or not at
/// all. A request for another origin than the caller's is made from ``CurlewRequest/removingSecrets()``.
public struct Link: CurlewMiddleware {
    /// The closure of a link: the request and the rest of the chain go in, the response comes out.
    public typealias Interceptor =
        nonisolated(nonsending) @Sendable (
            CurlewRequest, Next<CurlewRequest, CurlewResponse>
        ) async throws -> CurlewResponse

    private let interceptor: Interceptor

    /// - Parameter interceptor: What handles one call.
    public init(_ interceptor: @escaping Interceptor) { self.interceptor = interceptor }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await interceptor(request, next)
    }
}
