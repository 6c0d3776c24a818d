public import HTTPTypes

/// A response serializer that reads and decodes the complete body.
///
/// A conforming type defines the accepted responses and the decoding; these rules are common to all:
/// - ``acceptance`` is checked first (see ``ResponseAcceptance``).
/// - The body of a response with an unacceptable status is also read, within limits, and decoded if its type allows.
///   The error contains the value (``CurlewError/parsedBody``), or the reason why there is none.
/// - A body larger than ``offloadSize`` is decoded on the global concurrent executor, any other on the caller's
///   executor. So the decoding does not block an event loop or the main actor for long.
public protocol BodyResponseSerializer<Output>: ResponseSerializer {
    /// The value.
    associatedtype Output

    /// The accepted responses, and the limits on their bodies.
    var acceptance: ResponseAcceptance { get set }

    /// The name of the format in errors, such as `JSON`.
    var format: String { get }

    /// The size above which bodies are decoded on the global concurrent executor, others on the caller's. 64 KiB by
    /// default.
    static var offloadSize: ByteSize { get }

    /// The media types that are read if the status is unacceptable. Those of ``acceptance`` by default.
    var failureContentTypes: ResponseAcceptance.ContentTypes { get }

    /// Decodes an accepted response.
    /// - Throws: Any error; it becomes the underlying error of ``ErrorCode/decodingFailed``. The caller gets
    ///   ``ErrorCode/emptyBody`` and ``ErrorCode/unsupported`` unchanged.
    func decode(_ response: CurlewResponse.Collected) throws -> Output

    /// Decodes a response with an unacceptable status, for ``CurlewError/parsedBody``. By default the result of
    /// ``decode(_:)``.
    func decodeFailure(_ response: CurlewResponse.Collected) throws -> any Sendable
}

extension BodyResponseSerializer {
    public static var offloadSize: ByteSize { .kibibytes(64) }

    public var failureContentTypes: ResponseAcceptance.ContentTypes { acceptance.contentTypes }

    public func decodeFailure(_ response: CurlewResponse.Collected) throws -> any Sendable { try decode(response) }

    public func serialize(_ response: CurlewResponse) async throws -> Output {
        guard response.isObserved else { return try await read(response) { _ in } }
        return try await reporting(on: response) { bytes in try await read(response) { bytes = $0.body } }
    }

    /// - Parameter note: Called with the collected response.
    private func read(
        _ response: CurlewResponse, noting note: (CurlewResponse.Collected) -> Void
    ) async throws -> Output {
        switch try await acceptance.judge(response, failureContent: failureContentTypes) {
        case .accepted:
            let collected = try await acceptance.collect(response)
            note(collected)
            return try await value(from: collected)
        case .acceptedEmpty(let collected): return try await value(from: collected)
        case .refused(let refusal):
            note(refusal.response)
            throw await error(for: refusal)
        }
    }

    /// The decoded value. The error of a failure is ``ErrorCode/decodingFailed``.
    func value(from response: CurlewResponse.Collected) async throws -> Output {
        do {
            return try await offloaded(response) { try decode($0) }
        } catch {
            throw acceptance.decodingError(error, response, format: format)
        }
    }

    /// The error for a response that is not accepted.
    func error(for refusal: RejectedResponse) async -> CurlewError {
        guard refusal.statuses != nil, refusal.isWorthParsing else { return refusal.error() }
        do {
            let parsed = try await offloaded(refusal.response) { try decodeFailure($0) }
            return refusal.error(parsed: .success(parsed))
        } catch {
            let beneath = acceptance.decodingError(error, refusal.response, format: format)
            return refusal.error(parsed: .failure(beneath))
        }
    }

    private func offloaded<Result: Sendable>(
        _ response: CurlewResponse.Collected, _ body: @escaping @Sendable (CurlewResponse.Collected) throws -> Result
    ) async throws -> Result {
        guard response.body.count > Self.offloadSize.bytes else { return try body(response) }
        return try await onGlobalExecutor { try body(response) }
    }
}

/// Runs `body` on the global concurrent executor, whatever executor the task prefers, so that long work does not block
/// an event loop.
package func onGlobalExecutor<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result
{
    try await withTaskExecutorPreference(globalConcurrentExecutor) { try await concurrently(body) }
}

/// Runs `body` on the executor that the task prefers, not on the caller's actor.
@concurrent
private func concurrently<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result { try body() }

extension CurlewResponse {
    /// A response whose body is in memory, as serializers decode it.
    public struct Collected: Sendable {
        /// The status, reason and header fields.
        public let head: HTTPResponse
        /// The complete body.
        public let body: [UInt8]
        /// The URI that answered.
        public let uri: CurlewURI
        /// The JSON dialect of the response's session.
        public let json: JSONCoding
        /// True if errors about the response may show the query.
        var showsQuery = false

        public init(head: HTTPResponse, body: [UInt8], uri: CurlewURI, json: JSONCoding = JSONCoding()) {
            self.head = head
            self.body = body
            self.uri = uri
            self.json = json
        }

        /// The status.
        public var status: HTTPResponse.Status { head.status }

        /// The Content-Type as ``ContentType/init(contentTypeOf:)`` reads it.
        public var mediaType: ContentType? { ContentType(contentTypeOf: head.headerFields) }
    }
}

/// A type with a value for a missing body.
///
/// Serializers return that value instead of throwing ``ErrorCode/emptyBody``. Optionals have one: nil.
public protocol EmptyBodyRepresentable {
    /// The value for a missing body.
    static var valueOfEmptyBody: Self { get }
}

extension Optional: EmptyBodyRepresentable {
    public static var valueOfEmptyBody: Wrapped? { nil }
}

/// The type of a result for which no body is expected. A body that arrives nevertheless must be readable; its content
/// is ignored.
public struct NoContent: Sendable, Hashable, Codable, EmptyBodyRepresentable {
    public init() {}

    public init(from decoder: any Decoder) throws {}

    public func encode(to encoder: any Encoder) throws {
        _ = encoder.container(keyedBy: EmptyKey.self)
    }

    public static var valueOfEmptyBody: NoContent { NoContent() }

    private enum EmptyKey: CodingKey {}
}
