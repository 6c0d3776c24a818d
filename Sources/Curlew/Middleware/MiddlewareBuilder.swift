/// Writes a chain as a list. First written is outermost; the compiler checks that neighbours fit.
///
/// ```swift
/// let session = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestID()
///     if isVerbose { Tracing() }
/// }
/// ```
@resultBuilder
public enum MiddlewareBuilder {
    public static func buildBlock() -> PassThrough<Request, Response> { PassThrough() }

    public static func buildPartialBlock<Link: Middleware>(first: Link) -> Link { first }

    public static func buildPartialBlock<Outer: Middleware, Inner: Middleware>(
        accumulated: Outer, next: Inner
    ) -> Chain<Outer, Inner> {
        Chain(outer: accumulated, inner: next)
    }

    public static func buildOptional<Link: Middleware>(_ link: Link?) -> OptionalMiddleware<Link> {
        OptionalMiddleware(link: link)
    }

    public static func buildEither<First: Middleware, Second: Middleware>(
        first link: First
    ) -> EitherMiddleware<First, Second> {
        .first(link)
    }

    public static func buildEither<First: Middleware, Second: Middleware>(
        second link: Second
    ) -> EitherMiddleware<First, Second> {
        .second(link)
    }

    public static func buildExpression<Link: Middleware>(_ link: Link) -> Link { link }

    public static func buildExpression<Link: Middleware>(_ link: Link?) -> OptionalMiddleware<Link> {
        OptionalMiddleware(link: link)
    }
}
