#if Service
public import Curlew
public import NIOCore

// Response bodies in SwiftNIO's buffers.

extension CurlewResponse.Body {
    /// The body as buffers, one for each received chunk; it can be read once. The bytes are copied once.
    ///
    /// The transfer pauses while the reader is behind. It is cancelled if the sequence is dropped before its end.
    public var buffers: CurlewResponse.Body.Buffers { Buffers(body: self) }

    /// Reads the complete body into a buffer.
    /// - Parameter limit: The maximum size of the body. A larger body is an error, before it is read if its length is
    ///   known.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/responseTooLarge``, or the error that ended the body.
    public func buffer(upTo limit: ByteSize) async throws -> ByteBuffer {
        if let length, length > limit.bytes { throw Self.isLarger(than: limit) }
        var collected = ByteBuffer()
        if let length { collected.reserveCapacity(Int(Swift.min(length, Self.reservedSize))) }
        var chunks = makeAsyncIterator()
        while let chunk = try await chunks.next() {
            guard collected.readableBytes + chunk.count <= limit.bytes else { throw Self.isLarger(than: limit) }
            collected.writeBytes(chunk)
        }
        return collected
    }

    /// The maximum size that is reserved on account of Content-Length: 1 MiB. The buffer grows with the received bytes
    /// beyond that.
    private static let reservedSize: Int64 = 1 << 20

    private static func isLarger(than limit: ByteSize) -> CurlewError {
        CurlewError(.responseTooLarge, "the body is larger than \(limit)")
    }

    /// The chunks of a response's body as buffers.
    public struct Buffers: AsyncSequence, Sendable {
        public typealias Element = ByteBuffer

        let body: CurlewResponse.Body

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: body.makeAsyncIterator()) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var chunks: CurlewResponse.Body.AsyncIterator

            /// The next buffer, which is never empty; nil at the end.
            /// - Throws: ``Curlew/CurlewError`` if the body failed; all bytes before the failure were returned.
            public mutating func next() async throws -> ByteBuffer? {
                try await chunks.next().map { ByteBuffer(bytes: $0) }
            }
        }
    }
}
#endif
