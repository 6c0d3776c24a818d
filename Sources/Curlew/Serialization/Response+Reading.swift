public import FoundationEssentials
internal import HTTPTypes

/// What a session gives its responses to know: one object, as responses are copied.
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

    /// The most that serializers without a bound of their own collect of the body.
    var collectLimit: ByteSize { known?.collectLimit ?? Limits().collectedBody }

    /// The JSON dialect of the session that brought the response.
    var jsonCoding: JSONCoding { known?.json ?? .standard }
}

/// Reading a response. The status must be 2xx, unless `anyStatus` is true. All but ``discard()`` read at most
/// ``CurlewResponse/Limits/collectedBody`` of the session unless they have a bound; the body can be read once.
extension CurlewResponse {
    /// The response, if its status is among those expected.
    ///
    /// ```swift
    /// let report = try await response.checked().json(as: Report.self)
    /// ```
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus`` for another status, with its body and what it says
    ///   (``CurlewError/failure(as:)``).
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

    /// The body decoded from JSON by the dialect of the session, whatever media type the response has.
    ///
    /// ```swift
    /// let problem = try await response.json(as: Problem.self, anyStatus: true)
    /// ```
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - anyStatus: True if the status does not matter; by default it must be 2xx.
    ///   - limit: The most bytes of the body; nil is the limit of the session.
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus``, as ``checked(_:)`` does; ``ErrorCode/decodingFailed``, or
    ///   ``ErrorCode/unacceptableContentType`` where the media type was not JSON; ``ErrorCode/emptyBody``;
    ///   ``ErrorCode/responseTooLarge``; an error that broke the body off.
    public func json<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, anyStatus: Bool = false, upTo limit: ByteSize? = nil
    ) async throws -> Value {
        try await read(
            by: JSONResponseSerializer<Value>
                .model(type, statuses: anyStatus ? .any : .successful, bodyLimit: limit))
    }

    /// The body as text in the charset of its Content-Type, else in UTF-8.
    /// - Parameters:
    ///   - anyStatus: True if the status does not matter; by default it must be 2xx.
    ///   - limit: The most bytes of the body; nil is the limit of the session.
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus``; ``ErrorCode/decodingFailed`` for bytes that are not valid in the
    ///   charset; ``ErrorCode/responseTooLarge``; an error that broke the body off.
    public func text(anyStatus: Bool = false, upTo limit: ByteSize? = nil) async throws -> String {
        var serializer = ResponseSerializers.Text()
        if anyStatus { serializer.acceptance.statuses = .any }
        serializer.acceptance.bodyLimit = limit
        return try await read(by: serializer)
    }

    /// The bytes of the body.
    /// - Parameters:
    ///   - anyStatus: True if the status does not matter; by default it must be 2xx.
    ///   - limit: The most bytes of the body; nil is the limit of the session.
    /// - Throws: ``CurlewError`` with ``ErrorCode/unacceptableStatus``, ``ErrorCode/responseTooLarge``; an error that broke the body off.
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
