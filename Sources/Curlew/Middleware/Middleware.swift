/// The rest of a chain, as a link calls it: on the executor that the link runs on. It may be called more than once, at the
/// same time too, as ``Hedging`` does.
public typealias Next<Input, Output> = nonisolated(nonsending) @Sendable (Input) async throws -> Output

/// One link of a chain: it sees what goes in, may change it, call the rest of the chain, and see what comes back.
///
/// A link may answer without calling `next`, call it more than once, or wrap the body that comes back. Most keep the
/// types, a request in and a response out; a serializer changes them.
///
/// ```swift
/// struct RequestID: CurlewMiddleware {
///     func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
///         var request = request
///         request.fields[.init("X-Request-ID")!] = UUID().uuidString
///         return try await next(request)
///     }
/// }
/// ```
public protocol CurlewMiddleware<Input, Output>: Sendable {
    associatedtype Input: Sendable
    associatedtype Output: Sendable
    /// What the rest of the chain takes.
    associatedtype NextInput: Sendable = Input
    /// What the rest of the chain brings.
    associatedtype NextOutput: Sendable = Output

    /// Handles one call. It runs on the caller's executor, never on the event loop unless the caller does.
    func intercept(_ input: Input, next: Next<NextInput, NextOutput>) async throws -> Output
}

extension CurlewMiddleware {
    /// The short names, as links may write them: inside a link they stand for Curlew's types, whatever else is imported.
    public typealias Request = CurlewRequest
    public typealias Response = CurlewResponse
}

/// A link that is made of others.
protocol ComposedLink {
    /// The links that it is made of.
    var parts: [any CurlewMiddleware] { get }
}

extension CurlewMiddleware {
    /// True if it is a link of a type, or has one among its parts.
    func contains<Link: CurlewMiddleware>(_ type: Link.Type) -> Bool { !links(of: type).isEmpty }

    /// The links of a type: this one, or those among its parts.
    func links<Link: CurlewMiddleware>(of type: Link.Type) -> [Link] {
        if let link = self as? Link { return [link] }
        return (self as? any ComposedLink)?.parts.flatMap { $0.links(of: type) } ?? []
    }
}

extension ChainBuilder {
    /// Two links, the first around the second.
    public struct Pair<Outer: CurlewMiddleware, Inner: CurlewMiddleware>: CurlewMiddleware, ComposedLink
    where Outer.NextInput == Inner.Input, Outer.NextOutput == Inner.Output {
        let outer: Outer
        let inner: Inner
        var parts: [any CurlewMiddleware] { [outer, inner] }

        public func intercept(
            _ input: Outer.Input, next: Next<Inner.NextInput, Inner.NextOutput>
        ) async throws -> Outer.Output {
            try await outer.intercept(input) { try await inner.intercept($0, next: next) }
        }
    }
}

extension ChainBuilder {
    /// One of two links, chosen when the chain was built.
    public enum Either<First: CurlewMiddleware, Second: CurlewMiddleware>: CurlewMiddleware, ComposedLink
    where
        First.Input == Second.Input, First.Output == Second.Output,
        First.NextInput == Second.NextInput, First.NextOutput == Second.NextOutput
    {
        case first(First)
        case second(Second)

        var parts: [any CurlewMiddleware] {
            switch self {
            case .first(let link): [link]
            case .second(let link): [link]
            }
        }

        public func intercept(
            _ input: First.Input, next: Next<First.NextInput, First.NextOutput>
        ) async throws -> First.Output {
            switch self {
            case .first(let link): try await link.intercept(input, next: next)
            case .second(let link): try await link.intercept(input, next: next)
            }
        }
    }
}

extension ChainBuilder {
    /// A link that may be absent. Only one that keeps the types can be.
    public struct Maybe<Link: CurlewMiddleware>: CurlewMiddleware, ComposedLink
    where Link.NextInput == Link.Input, Link.NextOutput == Link.Output {
        let link: Link?
        var parts: [any CurlewMiddleware] { link.map { [$0] } ?? [] }

        public func intercept(
            _ input: Link.Input, next: Next<Link.Input, Link.Output>
        ) async throws -> Link.Output {
            guard let link else { return try await next(input) }
            return try await link.intercept(input, next: next)
        }
    }
}

extension ChainBuilder {
    /// No link at all.
    public struct Empty<Input: Sendable, Output: Sendable>: CurlewMiddleware {
        public init() {}

        public func intercept(_ input: Input, next: Next<Input, Output>) async throws -> Output {
            try await next(input)
        }
    }
}
