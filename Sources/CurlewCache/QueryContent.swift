internal import HTTPTypes

/// The content of a QUERY with its metadata. It is a part of the key of the response (RFC 10008 §2.7).
///
/// Contents are not normalized: a difference of one byte in the content, or in a field such as Content-Type, makes
/// another key. The body is read before it is sent, and exactly the bytes that were read are sent. A file that changes
/// meanwhile, or a stream that yields other bytes, can therefore not be stored under a wrong key.
struct QueryContent: Sendable {
    /// The most bytes that are read for a key. A request with a larger body bypasses the cache.
    static let limit = 1 << 20

    /// The body that is sent.
    let body: CurlewRequest.Body
    private let bytes: [UInt8]
    private let metadata: [HTTPField]

    /// Reads the body.
    /// - Returns: nil if the body can be read only once, is too long, or is unreadable.
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

    /// The content of a QUERY with its body in memory; nil for other requests.
    init?(of request: CurlewRequest) {
        guard request.method == .query else { return nil }
        guard let bytes = request.body.bytesInMemory, bytes.count <= Self.limit else { return nil }
        self.init(bytes, request.body, request.fields)
    }

    private init(_ bytes: [UInt8], _ body: CurlewRequest.Body, _ fields: HTTPFields) {
        self.bytes = bytes
        self.body = body
        metadata = fields.filter { $0.name.canonicalName.hasPrefix("content-") && $0.name != .contentLength }
            .sorted { $0.name.canonicalName < $1.name.canonicalName }
    }

    /// The content as text: names and values that differ for different contents.
    func words() throws -> [(name: String, value: String)] {
        let digest = try MessageDigest(.sha256)
        try digest.update(bytes)
        let fields = metadata.map { field in
            (name: field.name.canonicalName, value: field.withTrimmedValue { $0.hexadecimal })
        }
        return [("method", "QUERY"), ("content", try digest.finish())] + fields
    }

    /// True if the bytes and the fields are the same.
    func isSame(as other: QueryContent) -> Bool {
        bytes == other.bytes && metadata.count == other.metadata.count
            && zip(metadata, other.metadata).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}
