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

/// Reading a response whose status was looked at already, or is of no interest. All but ``discard()`` read at most
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
        guard !statuses.contains(status) else { return self }
        var serializer = JSONResponseSerializer<JSONValue>.model(JSONValue.self, statuses: statuses)
        serializer.acceptance.contentTypes = .json
        _ = try await serializer.serialize(self)
        return self
    }

    /// The body decoded from JSON by the dialect of the session, whatever status and media type the response has.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed``, or ``ErrorCode/unacceptableContentType`` where the
    ///   media type was not JSON; ``ErrorCode/emptyBody``; ``ErrorCode/responseTooLarge``; what broke the body off.
    public func json<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, upTo limit: ByteSize? = nil
    ) async throws -> Value {
        try await JSONResponseSerializer<Value>.model(type, statuses: .any, bodyLimit: limit).serialize(self)
    }

    /// The body as text in the charset of its Content-Type, else in UTF-8; whatever status the response has.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for bytes that are not valid in it;
    ///   ``ErrorCode/responseTooLarge``; what broke the body off.
    public func text(upTo limit: ByteSize? = nil) async throws -> String {
        var serializer = StringResponseSerializer()
        serializer.acceptance.statuses = .any
        serializer.acceptance.bodyLimit = limit
        return try await serializer.serialize(self)
    }

    /// The bytes of the body, whatever status the response has.
    /// - Throws: ``CurlewError`` with ``ErrorCode/responseTooLarge``; what broke the body off.
    public func bytes(upTo limit: ByteSize? = nil) async throws -> [UInt8] {
        var serializer = BytesResponseSerializer()
        serializer.acceptance.statuses = .any
        serializer.acceptance.bodyLimit = limit
        return try await serializer.serialize(self)
    }

    /// The bytes of the body as Foundation's `Data`, whatever status the response has.
    /// - Throws: As ``bytes(upTo:)``.
    public func data(upTo limit: ByteSize? = nil) async throws -> Data { Data(try await bytes(upTo: limit)) }
}
