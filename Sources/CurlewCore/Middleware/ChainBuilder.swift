/// Writes a chain as a list. The first link is the outermost; the compiler checks that the types of neighbours fit.
///
/// ```swift
/// let session = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestID()
///     if isVerbose { Tracing() }
/// }
/// ```
@resultBuilder
public enum ChainBuilder {
    public static func buildBlock() -> ChainBuilder.Empty<CurlewRequest, CurlewResponse> { ChainBuilder.Empty() }

    public static func buildPartialBlock<Link: CurlewMiddleware>(first: Link) -> Link { first }

    public static func buildPartialBlock<Outer: CurlewMiddleware, Inner: CurlewMiddleware>(
        accumulated: Outer, next: Inner
    ) -> ChainBuilder.Pair<Outer, Inner> {
        ChainBuilder.Pair(outer: accumulated, inner: next)
    }

    public static func buildOptional<Link: CurlewMiddleware>(_ link: Link?) -> ChainBuilder.Maybe<Link> {
        ChainBuilder.Maybe(link: link)
    }

    public static func buildEither<First: CurlewMiddleware, Second: CurlewMiddleware>(
        first link: First
    ) -> ChainBuilder.Either<First, Second> {
        .first(link)
    }

    public static func buildEither<First: CurlewMiddleware, Second: CurlewMiddleware>(
        second link: Second
    ) -> ChainBuilder.Either<First, Second> {
        .second(link)
    }

    public static func buildExpression<Link: CurlewMiddleware>(_ link: Link) -> Link { link }

    public static func buildExpression<Link: CurlewMiddleware>(_ link: Link?) -> ChainBuilder.Maybe<Link> {
        ChainBuilder.Maybe(link: link)
    }
}
