public import HTTPTypes

/// A response serializer that reads the whole body and decodes it.
///
/// A conforming type says what it takes and how it decodes; the rest is common to all:
/// - ``acceptance`` is checked first (see ``ResponseAcceptance``).
/// - The body of a status that is not taken is read too, within bounds, and decoded if its type allows; the error holds what
///   came of it (``CurlewError/parsedBody``), or why nothing did.
/// - A body larger than ``offloadSize`` is decoded on the global concurrent executor, any other where the caller runs. So
///   neither an event loop nor the main actor is held up for long.
public protocol BodyResponseSerializer<Output>: ResponseSerializer {
    /// The value.
    associatedtype Output

    /// The responses that are taken, and how much of them is read.
    var acceptance: ResponseAcceptance { get set }

    /// The name of the format in errors, such as `JSON`.
    var format: String { get }

    /// Bodies larger than this are decoded on the global concurrent executor, and others where the caller runs. 64 KiB by default.
    static var offloadSize: ByteSize { get }

    /// The media types that are read when the status is not taken. Those of ``acceptance`` by default.
    var failureContentTypes: ResponseAcceptance.ContentTypes { get }

    /// Makes a value of a response that is taken.
    /// - Throws: Any error; it becomes the error beneath ``ErrorCode/decodingFailed``. ``ErrorCode/emptyBody`` and
    ///   ``ErrorCode/unsupported`` go to the caller as they are.
    func decode(_ response: CurlewResponse.Collected) throws -> Output

    /// Makes a value of a response whose status is not taken, for ``CurlewError/parsedBody``. What ``decode(_:)`` makes of
    /// it by default.
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

    /// - Parameter note: Called with what was read.
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

    /// The value, or ``ErrorCode/decodingFailed``.
    func value(from response: CurlewResponse.Collected) async throws -> Output {
        do {
            return try await offloaded(response) { try decode($0) }
        } catch {
            throw acceptance.decodingError(error, response, format: format)
        }
    }

    /// The error for a response that is not taken.
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

/// Runs `body` on the global concurrent executor, whatever executor the task prefers: work that takes its time does not hold up an event loop.
package func onGlobalExecutor<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result
{
    try await withTaskExecutorPreference(globalConcurrentExecutor) { try await concurrently(body) }
}

/// Runs `body` on the executor that the task prefers, not on the caller's actor.
@concurrent
private func concurrently<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result { try body() }

extension CurlewResponse {
    /// A response whose body was read into memory: what a serializer decodes.
    public struct Collected: Sendable {
        /// Status, reason and header fields.
        public let head: HTTPResponse
        /// The whole body.
        public let body: [UInt8]
        /// The URI that answered.
        public let uri: CurlewURI
        /// The JSON dialect of the session that brought it.
        public let json: JSONCoding
        /// True if errors about it may show the query.
        var showsQuery = false

        public init(head: HTTPResponse, body: [UInt8], uri: CurlewURI, json: JSONCoding = JSONCoding()) {
            self.head = head
            self.body = body
            self.uri = uri
            self.json = json
        }

        /// The status.
        public var status: HTTPResponse.Status { head.status }

        /// Content-Type as ``ContentType/init(contentTypeOf:)`` reads it.
        public var mediaType: ContentType? { ContentType(contentTypeOf: head.headerFields) }
    }
}

/// A type that has a value for a body that is not there.
///
/// Serializers give that value instead of ``ErrorCode/emptyBody``. Optionals have it: nil.
public protocol EmptyBodyRepresentable {
    /// The value that stands for no body.
    static var valueOfEmptyBody: Self { get }
}

extension Optional: EmptyBodyRepresentable {
    public static var valueOfEmptyBody: Wrapped? { nil }
}

/// The type to ask for where no body is expected. One that comes all the same has to be readable; what it says is not
/// looked at.
public struct NoContent: Sendable, Hashable, Codable, EmptyBodyRepresentable {
    public init() {}

    public init(from decoder: any Decoder) throws {}

    public func encode(to encoder: any Encoder) throws {
        _ = encoder.container(keyedBy: EmptyKey.self)
    }

    public static var valueOfEmptyBody: NoContent { NoContent() }

    private enum EmptyKey: CodingKey {}
}
