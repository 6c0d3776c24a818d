internal import HTTPTypes

/// A link that turns a response into a value.
///
/// It works in a chain like any other link, or alone:
///
/// ```swift
/// let user = try await JSONResponseSerializer<User>().serialize(response)
/// ```
///
/// Most serializers read the complete body and conform to ``BodyResponseSerializer``, which implements
/// ``serialize(_:)``.
public protocol ResponseSerializer<Output>: CurlewMiddleware
where Input == CurlewRequest, NextInput == CurlewRequest, NextOutput == CurlewResponse {
    // Repeated with their types: otherwise the compiler does not infer them.
    associatedtype Input = CurlewRequest
    associatedtype NextInput = CurlewRequest
    associatedtype NextOutput = CurlewResponse
    /// The type of the value.
    associatedtype Output

    /// The value for the Accept field of a request without one. nil, the default, adds none.
    var acceptField: String? { get }

    /// Turns a response into a value.
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

    /// Reports the result of `body` for a response; `body` stores the bytes that it reads in its argument.
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

    /// The request with ``acceptField``, unless it has an Accept field. A request for a file asks for no content
    /// coding.
    func accepting(_ request: CurlewRequest) -> CurlewRequest {
        if Self.self == ResponseSerializers.File.self { return ResponseSerializers.File.asking(request) }
        guard let acceptField, request.fields[.accept] == nil else { return request }
        var request = request
        request.fields[.accept] = acceptField
        return request
    }
}

/// A response serializer that reports its work itself, or has none to report.
protocol ReportingSerializer {}

extension CurlewResponse {
    /// True if the results of serializers have a listener.
    var isObserved: Bool { exchange?.isObserved ?? false }

    /// Reports the result of a serializer; see ``SessionEvent/Kind/serialized``.
    fileprivate func report(by serializer: Any.Type, body: [UInt8], _ result: Result<any Sendable, any Error>) {
        guard let exchange, exchange.isObserved else { return }
        exchange.report(.serialized(by: "\(serializer)", head: head, body: body, result))
    }
}

extension ResponseSerializers {
    /// Returns the response unchanged: any status, any media type, its body still a stream.
    ///
    /// It is the serializer of a call without `as:`.
    public struct Raw: ResponseSerializer, ReportingSerializer {
        public init() {}

        public func serialize(_ response: CurlewResponse) async throws -> CurlewResponse { response }
    }
}

extension ResponseSerializer where Self == ResponseSerializers.Raw {
    /// The unchanged response.
    public static var raw: ResponseSerializers.Raw { ResponseSerializers.Raw() }
}
