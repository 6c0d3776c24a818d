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
public protocol ResponseSerializer<Output>: CurlewMiddleware
where Input == CurlewRequest, NextInput == CurlewRequest, NextOutput == CurlewResponse {
    // Said again with their types, without which the compiler does not find them.
    associatedtype Input = CurlewRequest
    associatedtype NextInput = CurlewRequest
    associatedtype NextOutput = CurlewResponse
    /// The value.
    associatedtype Output

    /// The value for the Accept field of a request that has none. nil, the default, leaves the request alone.
    var acceptField: String? { get }

    /// Turns a response into a value, or says why that cannot be done.
    /// - Throws: ``CurlewError``.
    func serialize(_ response: CurlewResponse) async throws -> Output
}

extension ResponseSerializer {
    public var acceptField: String? { nil }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws -> Output {
        let response = try await next(accepting(request))
        do {
            guard response.isObserved, !(self is any BodyResponseSerializer), !(self is any ReportingSerializer) else {
                return try await serialize(response)
            }
            return try await reporting(on: response) { _ in try await serialize(response) }
        } catch let error as CurlewError {
            throw error.adding(request)
        } catch let error as CancellationError {
            throw CurlewError(error, of: request)
        }
    }

    /// Reports what `body` makes of a response; it puts the bytes that it reads into its argument.
    func reporting(
        on response: CurlewResponse, _ body: (inout [UInt8]) async throws -> Output
    ) async throws -> Output {
        var bytes: [UInt8] = []
        do {
            let value = try await body(&bytes)
            response.report(by: Self.self, body: bytes, .success(value))
            return value
        } catch {
            response.report(by: Self.self, body: bytes, .failure(error))
            throw error
        }
    }

    /// The request with ``acceptField``, if it asks for nothing itself. What goes into a file is asked for without content codings.
    func accepting(_ request: CurlewRequest) -> CurlewRequest {
        if Self.self == ResponseSerializers.File.self { return ResponseSerializers.File.asking(request) }
        guard let acceptField, request.fields[.accept] == nil else { return request }
        var request = request
        request.fields[.accept] = acceptField
        return request
    }
}

/// A response serializer that reports by itself what it did, or has nothing to report.
protocol ReportingSerializer {}

extension CurlewResponse {
    /// True if anybody listens to what a serializer makes of the response.
    var isObserved: Bool { exchange?.isObserved ?? false }

    /// Reports what a serializer made of the response; see ``SessionEvent/Kind/serialized``.
    fileprivate func report(by serializer: Any.Type, body: [UInt8], _ result: Result<any Sendable, any Error>) {
        guard let exchange, exchange.isObserved else { return }
        exchange.report(.serialized(by: "\(serializer)", head: head, body: body, result))
    }
}

extension ResponseSerializers {
    /// Hands the response over as it came: any status, any media type, its body still a stream.
    ///
    /// A call without `as:` brings it.
    public struct Raw: ResponseSerializer, ReportingSerializer {
        public init() {}

        public func serialize(_ response: CurlewResponse) async throws -> CurlewResponse { response }
    }
}

extension ResponseSerializer where Self == ResponseSerializers.Raw {
    /// The response as it came.
    public static var raw: ResponseSerializers.Raw { ResponseSerializers.Raw() }
}
