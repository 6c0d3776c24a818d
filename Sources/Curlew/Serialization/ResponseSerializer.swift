internal import HTTPTypes

/// A link that receives a response and hands a value back.
///
/// It stands in a chain like any other link, or is asked by itself:
///
/// ```swift
/// let user = try await JSONResponseSerializer<User>().serialize(response)
/// ```
///
/// Most read the whole body and conform to ``BodyResponseSerializer``, which brings ``serialize(_:)`` along.
public protocol ResponseSerializer<Output>: Middleware
where Input == Request, NextInput == Request, NextOutput == Response {
    // Said again with their types, without which the compiler does not find them.
    associatedtype Input = Request
    associatedtype NextInput = Request
    associatedtype NextOutput = Response
    /// The value.
    associatedtype Output

    /// What is put into the Accept field of a request that has none. nil, the default, leaves the request alone.
    var acceptField: String? { get }

    /// Turns a response into a value, or says why that cannot be done.
    /// - Throws: ``CurlewError``.
    func serialize(_ response: Response) async throws -> Output
}

extension ResponseSerializer {
    public var acceptField: String? { nil }

    public func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Output {
        let response = try await next(accepting(request))
        do {
            guard response.isObserved, !(self is any BodyResponseSerializer), !(self is any SelfTelling) else {
                return try await serialize(response)
            }
            return try await telling(of: response) { _ in try await serialize(response) }
        } catch let error as CurlewError {
            throw error.adding(CurlewError.Context(method: request.method, uri: request.uri))
        }
    }

    /// Tells the session's listeners what comes of `body`, which puts the bytes that it reads into its argument.
    func telling(
        of response: Response, _ body: (inout [UInt8]) async throws -> Output
    ) async throws -> Output {
        var bytes: [UInt8] = []
        do {
            let value = try await body(&bytes)
            response.tellSerialized(by: Self.self, body: bytes, .success(value))
            return value
        } catch {
            response.tellSerialized(by: Self.self, body: bytes, .failure(error))
            throw error
        }
    }

    /// The request with ``acceptField``, if it asks for nothing itself.
    func accepting(_ request: Request) -> Request {
        guard let acceptField, request.fields[.accept] == nil else { return request }
        var request = request
        request.fields[.accept] = acceptField
        return request
    }
}
