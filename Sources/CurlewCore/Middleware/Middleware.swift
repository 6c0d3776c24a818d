/// The rest of a chain, as a link calls it. It runs on the link's executor. A link may call it more than once, also
/// concurrently, as ``Hedging`` does.
public typealias Next<Input, Output> = nonisolated(nonsending) @Sendable (Input) async throws -> Output

/// A link of a chain of middleware: it receives the input, may change it, calls the rest of the chain, and receives
/// the result.
///
/// A link may answer without calling `next`, call it more than once, or wrap the body of the result. Most links keep
/// the types, a request in and a response out; a serializer changes them.
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
    /// The input of the rest of the chain.
    associatedtype NextInput: Sendable = Input
    /// The result of the rest of the chain.
    associatedtype NextOutput: Sendable = Output

    /// Handles one call. It runs on the caller's executor, and on the event loop only if the caller does.
    func intercept(_ input: Input, next: Next<NextInput, NextOutput>) async throws -> Output
}

extension CurlewMiddleware {
    /// The short names, for use inside a link: they mean Curlew's types, whatever other modules are imported.
    public typealias Request = CurlewRequest
    public typealias Response = CurlewResponse
}

/// A link of requests and responses whose place in ``StandardChain`` the core reserves without knowing its type.
package protocol RequestLink: CurlewMiddleware
where Input == CurlewRequest, Output == CurlewResponse, NextInput == CurlewRequest, NextOutput == CurlewResponse {}

/// A link that consists of other links.
protocol ComposedLink {
    /// The links that it consists of.
    var parts: [any CurlewMiddleware] { get }
}

extension CurlewMiddleware {
    /// True if it is a link of the type, or contains one.
    func contains<Link: CurlewMiddleware>(_ type: Link.Type) -> Bool { !links(of: type).isEmpty }

    /// The links of a type: this one, or the ones among its parts.
    func links<Link>(of type: Link.Type) -> [Link] {
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
    /// Either of two links, chosen when the chain is built.
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
    /// A link that may be absent. Its input and output types must be those of the rest of the chain.
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
    /// A chain without links.
    public struct Empty<Input: Sendable, Output: Sendable>: CurlewMiddleware {
        public init() {}

        public func intercept(_ input: Input, next: Next<Input, Output>) async throws -> Output {
            try await next(input)
        }
    }
}
