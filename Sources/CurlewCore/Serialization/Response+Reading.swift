public import FoundationEssentials
internal import HTTPTypes

/// The settings of a session for its responses, in one object, as responses are copied.
final class ResponseDefaults: Sendable {
    let collectLimit: ByteSize
    let json: JSONCoding

    init(collectLimit: ByteSize, json: JSONCoding) {
        self.collectLimit = collectLimit
        self.json = json
    }
}

extension CurlewResponse {
    private var known: ResponseDefaults? { defaults as? ResponseDefaults }

    /// The limit on the body for serializers without a limit of their own.
    var collectLimit: ByteSize { known?.collectLimit ?? Limits().collectedBody }

    /// The JSON dialect of the response's session.
    var jsonCoding: JSONCoding { known?.json ?? .standard }
}

/// Reading a response. The status must be 2xx, unless `anyStatus` is true. All methods but ``discard()`` read at most
/// ``CurlewResponse/Limits/collectedBody`` of the session, unless they have a limit; the body can be read once.
extension CurlewResponse {
    /// Returns the response if its status is expected.
    ///
    /// ```swift
    /// let report = try await response.checked().json(as: Report.self)
    /// ```
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus`` for another status, with its body and the
    ///   decoded failure (``CurlewError/failure(as:)``).
    public func checked(_ statuses: ResponseAcceptance.Statuses = .successful) async throws -> CurlewResponse {
        do {
            guard !statuses.contains(status) else { return self }
            var serializer = JSONResponseSerializer<JSONValue>.model(JSONValue.self, statuses: statuses)
            serializer.acceptance.contentTypes = .json
            _ = try await serializer.serialize(self)
            return self
        } catch {
            throw CurlewError(wrapping: error)
        }
    }

    /// The body decoded from JSON in the session's dialect, whatever the media type of the response.
    ///
    /// ```swift
    /// let problem = try await response.json(as: Problem.self, anyStatus: true)
    /// ```
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - anyStatus: True accepts any status; by default it must be 2xx.
    ///   - limit: The limit on the body's size; nil selects the session's limit.
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus``, as ``checked(_:)`` does;
    ///   ``ErrorCode/decodingFailed``, or ``ErrorCode/unacceptableContentType`` if the media type was not JSON;
    ///   ``ErrorCode/emptyBody``; ``ErrorCode/responseTooLarge``; the error of an interrupted transfer.
    public func json<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, anyStatus: Bool = false, upTo limit: ByteSize? = nil
    ) async throws -> Value {
        try await read(
            by: JSONResponseSerializer<Value>
                .model(type, statuses: anyStatus ? .any : .successful, bodyLimit: limit))
    }

    /// The body as text in the charset of its Content-Type; UTF-8 by default.
    /// - Parameters:
    ///   - anyStatus: True accepts any status; by default it must be 2xx.
    ///   - limit: The limit on the body's size; nil selects the session's limit.
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus``; ``ErrorCode/decodingFailed`` for bytes that are
    ///   invalid in the charset; ``ErrorCode/responseTooLarge``; the error of an interrupted transfer.
    public func text(anyStatus: Bool = false, upTo limit: ByteSize? = nil) async throws -> String {
        var serializer = ResponseSerializers.Text()
        if anyStatus { serializer.acceptance.statuses = .any }
        serializer.acceptance.bodyLimit = limit
        return try await read(by: serializer)
    }

    /// The bytes of the body.
    /// - Parameters:
    ///   - anyStatus: True accepts any status; by default it must be 2xx.
    ///   - limit: The limit on the body's size; nil selects the session's limit.
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus``, ``ErrorCode/responseTooLarge``; the error of an
    ///   interrupted transfer.
    public func bytes(anyStatus: Bool = false, upTo limit: ByteSize? = nil) async throws -> [UInt8] {
        var serializer = ResponseSerializers.Bytes()
        if anyStatus { serializer.acceptance.statuses = .any }
        serializer.acceptance.bodyLimit = limit
        return try await read(by: serializer)
    }

    /// The bytes of the body as Foundation's `Data`.
    /// - Throws: As ``bytes(anyStatus:upTo:)``.
    public func data(anyStatus: Bool = false, upTo limit: ByteSize? = nil) async throws -> Data {
        Data(try await bytes(anyStatus: anyStatus, upTo: limit))
    }

    private func read<Serializer: ResponseSerializer>(
        by serializer: Serializer
    ) async throws -> Serializer.Output {
        do { return try await serializer.serialize(self) } catch { throw CurlewError(wrapping: error) }
    }
}
