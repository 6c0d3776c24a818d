internal import HTTPTypes

/// The content of a QUERY with its metadata: a part of the key that its responses are stored under (RFC 10008 §2.7).
///
/// Contents are not normalized: two contents that differ by a byte, or by a byte of a field such as Content-Type, have keys of their own. The body
/// is read before it is sent, and the bytes that were read are the ones that are sent, so that a file that changes meanwhile or a stream that
/// yields something else cannot be stored under the key of another content.
struct QueryContent: Sendable {
    /// The most bytes that are read for a key. A request with more bypasses the cache.
    static let limit = 1 << 20

    /// The body that is sent.
    let body: CurlewRequest.Body
    private let bytes: [UInt8]
    private let metadata: [HTTPField]

    /// Reads the body.
    /// - Returns: nil if the body can be read only once, is too long, or cannot be read.
    init?(reading request: CurlewRequest) async {
        if let content = QueryContent(of: request) {
            self = content
            return
        }
        guard request.body.isReplayable, request.body.length ?? 0 <= Int64(Self.limit),
            let bytes = try? await request.body.collectForSending(upTo: Self.limit)
        else { return nil }
        self.init(bytes, .bytes(bytes), request.fields)
    }

    /// The content of a request whose body is in memory; nil for others, and for another method.
    init?(of request: CurlewRequest) {
        guard request.method == .query else { return nil }
        switch request.body.source {
        case .none: self.init([], .none, request.fields)
        case .bytes(let bytes) where bytes.count <= Self.limit: self.init(bytes, request.body, request.fields)
        default: return nil
        }
    }

    private init(_ bytes: [UInt8], _ body: CurlewRequest.Body, _ fields: HTTPFields) {
        self.bytes = bytes
        self.body = body
        metadata = fields.filter { $0.name.canonicalName.hasPrefix("content-") && $0.name != .contentLength }
            .sorted { $0.name.canonicalName < $1.name.canonicalName }
    }

    /// The content in words: names and values that no other content has.
    func words() throws -> [(name: String, value: String)] {
        let digest = try MessageDigest(.sha256)
        try digest.update(bytes)
        let fields = metadata.map { field in
            (name: field.name.canonicalName, value: field.withTrimmedValue { $0.hexadecimal })
        }
        return [("method", "QUERY"), ("content", try digest.finish())] + fields
    }

    /// True if the bytes and fields are the same.
    func isSame(as other: QueryContent) -> Bool {
        bytes == other.bytes && metadata.count == other.metadata.count
            && zip(metadata, other.metadata).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}
