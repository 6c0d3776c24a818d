internal import HTTPTypes

/// Compresses the bodies of requests and says so in Content-Encoding (RFC 9110 §8.4).
///
/// - Bytes of up to ``wholeLimit`` are compressed before the request goes on, so that their length is known and sent. They
///   go as they are if they would not become shorter.
/// - Everything else is compressed as it is read, a piece at a time, and goes out without Content-Length: chunked over
///   HTTP/1.1. It can be sent again if the body beneath can.
/// - A body of known length below ``minimumSize`` goes as it is; so does one whose request has a Content-Encoding, a
///   Content-Range or a digest of its content already.
///
/// A server must be known to take compressed requests; there is no negotiation, only a 415 (Unsupported Media Type).
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestCompression(.gzip)
/// }
/// ```
public struct RequestCompression: Middleware {
    /// A content coding that zlib writes.
    public struct Format: Sendable, Hashable {
        /// The name in Content-Encoding.
        public let name: String
        let windowBits: Int32

        /// RFC 1952.
        public static let gzip = Format(name: "gzip", windowBits: 15 + 16)
        /// The zlib format (RFC 1950), which is what HTTP calls deflate.
        public static let deflate = Format(name: "deflate", windowBits: 15)
    }

    /// The coding.
    public var format: Format
    /// From 1, quick, to 9, small. 6 by default, as in zlib.
    public var level = 6
    /// Bodies that are known to be shorter are not compressed. 1 KiB by default.
    public var minimumSize: ByteCount = .kibibytes(1)
    /// Bytes in memory up to this size are compressed at once. 1 MiB by default.
    public var wholeLimit: ByteCount = .mebibytes(1)

    public init(_ format: Format = .gzip) { self.format = format }

    public func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        guard try isApplicable(to: request) else { return try await next(request) }
        var request = request
        if case .bytes(let bytes) = request.body.source, bytes.count <= wholeLimit.bytes {
            let compressed = try await Self.compressApart(bytes, format, level)
            guard compressed.count < bytes.count else { return try await next(request) }
            request.body = .bytes(compressed)
        } else {
            request.body = streamed(request.body)
        }
        request.fields[.contentEncoding] = format.name
        request.fields[.contentLength] = nil
        return try await next(request)
    }

    private func isApplicable(to request: Request) throws -> Bool {
        guard !request.body.isNone, !Self.excluding.contains(where: request.fields.contains) else { return false }
        return try request.body.lengthNow().map { $0 >= Int64(max(1, minimumSize.bytes)) } ?? true
    }

    private func streamed(_ body: RequestBody) -> RequestBody {
        let compressed = CompressedChunks(body: body, format: format, level: level)
        return body.isReplayable ? .stream { compressed } : .once(compressed)
    }

    /// Off the caller's executor, which may be the event loop.
    @concurrent
    private static func compressApart(_ bytes: [UInt8], _ format: Format, _ level: Int) async throws -> [UInt8] {
        try format.compress(bytes, level: level)
    }

    /// Fields that speak of the body as it is, or say that it is coded.
    private static let excluding: [HTTPField.Name] =
        [.contentEncoding, .contentRange] + ["Content-Digest", "Content-MD5", "Digest"].compactMap { .init($0) }
}

extension RequestCompression.Format {
    /// The bytes in this coding: for a serializer that packs a part of its parameters.
    /// - Parameters:
    ///   - bytes: The bytes to code.
    ///   - level: From 1, quick, to 9, small.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if zlib has no memory.
    public func compress(_ bytes: [UInt8], level: Int = 6) throws -> [UInt8] {
        let deflater = try Deflater(format: self, level: level)
        var input = bytes[...]
        var output: [UInt8] = []
        var isAtEnd = false
        while !isAtEnd {
            let part: [UInt8]
            (part, isAtEnd) = try deflater.compress(&input, isLast: true, upTo: CompressedChunks.partSize)
            output += part
        }
        return output
    }
}
