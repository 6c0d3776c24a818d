internal import CZlib
internal import HTTPTypes

/// A link that compresses the bodies of requests, and sets Content-Encoding (RFC 9110 §8.4).
///
/// - Bytes of up to ``wholeLimit`` are compressed before the request is sent, so that their compressed length is known.
///   If they would not become shorter, they are sent uncompressed.
/// - Other bodies are compressed piece by piece as they are read, and sent without Content-Length: chunked over
///   HTTP/1.1. Such a body is replayable if the original one is.
/// - A body with a known length below ``minimumSize`` is sent unchanged. So is the body of a request with
///   Content-Encoding, Content-Range or a digest of its content.
///
/// Use the link only for servers that accept compressed requests. HTTP has no negotiation for it, only the status 415
/// (Unsupported Media Type).
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestCompression(.gzip)
/// }
/// ```
public struct RequestCompression: CurlewMiddleware {
    /// A content coding that zlib writes.
    public struct Format: Sendable, Hashable {
        /// The name in Content-Encoding.
        public let name: String
        let windowBits: Int32

        /// The gzip format (RFC 1952).
        public static let gzip = Format(name: "gzip", windowBits: 15 + 16)
        /// The zlib format (RFC 1950), which HTTP calls deflate.
        public static let deflate = Format(name: "deflate", windowBits: 15)
    }

    /// The coding.
    public var format: Format
    /// The level, from 1, the fastest, to 9, the smallest. 6 by default, as in zlib.
    public var level = 6
    /// The smallest known length for compression. 1 KiB by default.
    public var minimumSize: ByteSize = .kibibytes(1)
    /// The largest size of bytes in memory that are compressed at once. 1 MiB by default.
    public var wholeLimit: ByteSize = .mebibytes(1)

    public init(_ format: Format = .gzip) { self.format = format }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
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

    private func isApplicable(to request: CurlewRequest) throws -> Bool {
        guard !request.body.isNone, !Self.excluding.contains(where: request.fields.contains) else { return false }
        return try request.body.lengthNow().map { $0 >= Int64(max(1, minimumSize.bytes)) } ?? true
    }

    private func streamed(_ body: CurlewRequest.Body) -> CurlewRequest.Body {
        let compressed = CompressedChunks(body: body, format: format, level: level)
        return body.isReplayable ? .stream { compressed } : .once(compressed)
    }

    /// Compresses off the caller's executor, which may be the event loop.
    @concurrent
    private static func compressApart(_ bytes: [UInt8], _ format: Format, _ level: Int) async throws -> [UInt8] {
        try format.compress(bytes, level: level)
    }

    /// Fields that describe the uncompressed body, or declare a coding.
    private static let excluding: [HTTPField.Name] =
        [.contentEncoding, .contentRange] + ["Content-Digest", "Content-MD5", "Digest"].compactMap { .init($0) }
}

extension RequestCompression.Format {
    /// The compressed bytes, for a serializer that compresses a part of its parameters.
    /// - Parameters:
    ///   - bytes: The bytes to compress.
    ///   - level: The level, from 1, the fastest, to 9, the smallest.
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

/// The bytes of a body, compressed as they are read. It holds one chunk of the body and one piece of output.
struct CompressedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let body: CurlewRequest.Body
    let format: RequestCompression.Format
    let level: Int

    /// The largest size of a piece.
    static let partSize = 64 << 10

    func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

    struct Iterator: AsyncIteratorProtocol {
        private let sequence: CompressedChunks
        private var state = State.unopened

        private enum State {
            case unopened
            case open(Run)
            case ended
        }

        /// The state between the first piece and the last.
        private struct Run {
            var base: any AsyncIteratorProtocol<[UInt8], any Error>
            let deflater: Deflater
            var input: ArraySlice<UInt8> = []
            var isLast = false
        }

        fileprivate init(sequence: CompressedChunks) { self.sequence = sequence }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            var run: Run
            switch state {
            case .ended: return nil
            case .open(let open): run = open
            case .unopened:
                let stream = try await sequence.body.stream()
                run = Run(
                    base: stream.makeAsyncIterator(),
                    deflater: try Deflater(format: sequence.format, level: sequence.level))
            }
            // After an error the sequence has ended.
            state = .ended
            while true {
                if run.input.isEmpty, !run.isLast {
                    if let chunk = try await run.base.next(isolation: actor) {
                        run.input = chunk[...]
                    } else {
                        run.isLast = true
                    }
                }
                let (part, isAtEnd) = try run.deflater.compress(
                    &run.input, isLast: run.isLast, upTo: CompressedChunks.partSize)
                if !part.isEmpty {
                    if !isAtEnd { state = .open(run) }
                    return part
                }
                if isAtEnd { return nil }
            }
        }
    }
}

/// A run of zlib's compression. Memory: zlib's 256 KiB, whatever the size of the data.
///
/// The stream has memory of its own because zlib stores its address. It is freed with the object.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if zlib has no memory.
    init(format: RequestCompression.Format, level: Int) throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = curlew_deflate_init(stream, Int32(min(max(level, 1), 9)), format.windowBits)
        guard status == Z_OK else {
            throw CurlewError(.resourcesExhausted, "zlib could not be started")
        }
    }

    deinit {
        // `deflateEnd` accepts a stream that was never started: its state is null.
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses a part of the input.
    /// - Parameters:
    ///   - input: The bytes; consumed ones are removed.
    ///   - isLast: True if no further input follows.
    ///   - count: The most bytes to return.
    /// - Returns: The bytes, and true if they end the stream.
    func compress(_ input: inout ArraySlice<UInt8>, isLast: Bool, upTo count: Int) throws -> ([UInt8], Bool) {
        var status = Z_OK
        var used = 0
        let output = [UInt8](unsafeUninitializedCapacity: count) { target, filled in
            input.withUnsafeBufferPointer { source in
                // zlib does not write to its input, although the pointer allows it. Both pointers are valid during this
                // call only.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                stream.pointee.avail_in = UInt32(min(source.count, Int(UInt32.max)))
                let given = stream.pointee.avail_in
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = UInt32(target.count)
                let isAll = Int(given) == source.count
                status = deflate(stream, isLast && isAll ? Z_FINISH : Z_NO_FLUSH)
                used = Int(given - stream.pointee.avail_in)
                filled = target.count - Int(stream.pointee.avail_out)
                stream.pointee.next_in = nil
                stream.pointee.next_out = nil
            }
        }
        // Missing progress is not an error: zlib needs more input or more space.
        guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else {
            throw CurlewError(.encodingFailed, "zlib failed with \(status)")
        }
        input = input.dropFirst(used)
        return (output, status == Z_STREAM_END)
    }
}
