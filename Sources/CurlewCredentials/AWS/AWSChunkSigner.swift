public import Curlew
public import FoundationEssentials
public import HTTPTypes

/// A payload in signed chunks (`aws-chunked` with `STREAMING-AWS4-HMAC-SHA256-PAYLOAD`): its bytes are sent while it is
/// read, and each chunk has its own signature, which covers the previous one.
///
/// The length of the payload must be known. More or fewer bytes are an error.
///
/// ```swift
/// var (request, signer) = try signature.signedInChunks(request, length: 66_560, credential: credential, at: Date())
/// for try await piece in file { send(try signer.append(piece)) }
/// send(try signer.finish())
/// ```
public struct AWSChunkSigner: Sendable {
    /// The size of every chunk except the last one, in bytes.
    public let chunkSize: Int
    private let scope: AWSScope
    private let key: SecretBytes
    private var previous: String
    private var pending: [UInt8] = []
    private var missing: Int64
    private var isFinished = false

    init(_ scope: AWSScope, key: SecretBytes, seed: String, length: Int64, chunkSize: Int) {
        self.scope = scope
        self.key = key
        previous = seed
        missing = length
        self.chunkSize = chunkSize
    }

    /// The allowed sizes of chunks. S3 requires at least 8 KiB.
    static let chunkSizes = 8 << 10...16 << 20

    /// The number of bytes of a payload in chunks, which is the value of Content-Length. It is nil for invalid sizes,
    /// and for a number beyond 64 bits.
    public static func contentLength(of length: Int64, chunkSize: Int) -> Int64? {
        guard length >= 0, chunkSizes.contains(chunkSize) else { return nil }
        let (whole, rest) = length.quotientAndRemainder(dividingBy: Int64(chunkSize))
        let (bytes, isTooLong) = whole.multipliedReportingOverflow(by: framed(chunkSize))
        let (sum, isTooLongWithRest) = bytes.addingReportingOverflow((rest > 0 ? framed(Int(rest)) : 0) + framed(0))
        return isTooLong || isTooLongWithRest ? nil : sum
    }

    /// The length of a chunk with its frame: `SIZE;chunk-signature=` with 64 digits, the bytes, and two line ends.
    private static func framed(_ size: Int) -> Int64 {
        Int64(String(size, radix: 16).utf8.count + 17 + 64 + 2 + size + 2)
    }

    /// Adds the next bytes of the payload.
    /// - Returns: The complete chunks. The result is often empty, as bytes of an incomplete chunk wait for more.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for more bytes than the length of the
    ///   payload.
    public mutating func append(_ bytes: some Collection<UInt8>) throws(CurlewError) -> [UInt8] {
        guard !isFinished, Int64(bytes.count) <= missing else {
            throw CurlewError(.invalidRequest, "a payload in signed chunks has more bytes than its length")
        }
        missing -= Int64(bytes.count)
        pending += bytes
        var framed: [UInt8] = []
        var start = 0
        while pending.count - start >= chunkSize {
            framed += try frame(Array(pending[start..<start + chunkSize]))
            start += chunkSize
        }
        pending.removeFirst(start)
        return framed
    }

    /// The last bytes: the incomplete chunk, and the empty chunk.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` if bytes are missing, or after the
    ///   end.
    public mutating func finish() throws(CurlewError) -> [UInt8] {
        guard !isFinished, missing == 0 else {
            throw CurlewError(.invalidRequest, "a payload in signed chunks has fewer bytes than its length")
        }
        isFinished = true
        let last = pending
        pending = []
        return try (last.isEmpty ? [] : frame(last)) + frame([])
    }

    private mutating func frame(_ chunk: [UInt8]) throws(CurlewError) -> [UInt8] {
        previous = try scope.sign(chunk: chunk, after: previous, key: key)
        let head = "\(String(chunk.count, radix: 16));chunk-signature=\(previous)\r\n"
        return Array(head.utf8) + chunk + [.carriageReturn, .lineFeed]
    }
}

extension AWSChunkSigner: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "signer of chunks of \(chunkSize) bytes" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["chunkSize": chunkSize]) }
}

extension AWSSignature {
    /// The request with its signature, and the signer of its chunks.
    ///
    /// The function sets Content-Encoding (`aws-chunked` before other codings), Content-Length and
    /// `X-Amz-Decoded-Content-Length`.
    /// - Parameters:
    ///   - request: The request, with scheme, authority and path.
    ///   - length: The number of bytes of the payload.
    ///   - chunkSize: The size of every chunk except the last one: from 8 KiB to 16 MiB.
    ///   - credential: The key that signs.
    ///   - moment: The time of the signature by the server's clock.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a size out of bounds, and the
    ///   errors of ``signed(_:payload:credential:at:)``.
    public func signedInChunks(
        _ request: HTTPRequest, length: Int64, chunkSize: Int = 64 << 10, credential: AWSCredential, at moment: Date
    ) throws(CurlewError) -> (request: HTTPRequest, signer: AWSChunkSigner) {
        guard let contentLength = AWSChunkSigner.contentLength(of: length, chunkSize: chunkSize) else {
            throw CurlewError(.invalidRequest, "chunks of \(chunkSize) bytes cannot carry \(length) bytes")
        }
        var request = request
        request.headerFields[.contentEncoding] =
            (["aws-chunked"] + Self.otherCodings(request.headerFields)).joined(separator: ",")
        request.headerFields[.contentLength] = "\(contentLength)"
        request.headerFields[.amzDecodedContentLength] = "\(length)"
        let signed = try sign(request, payload: .chunks, credential: credential, at: moment)
        let key = try signed.scope.signingKey(of: credential)
        let signer = AWSChunkSigner(
            signed.scope, key: key, seed: signed.signature, length: length, chunkSize: chunkSize)
        return (signed.request, signer)
    }
}
