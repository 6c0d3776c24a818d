#if Service
public import Curlew
public import NIOCore

// Bodies of responses in SwiftNIO's buffers.

extension CurlewResponse.Body {
    /// The body in buffers, each as long as a chunk that arrived, to be read once. The bytes are copied once.
    ///
    /// The transfer pauses while the reader is behind, and ends where the sequence is dropped before its end.
    public var buffers: CurlewResponse.Body.Buffers { Buffers(body: self) }

    /// Reads the whole body into a buffer.
    /// - Parameter limit: The most bytes to take. A larger body is an error, before it is read if its length is known.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/responseTooLarge``, or what broke the body off.
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

    /// The most that is reserved because a field promises it. What has come makes room for the rest.
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

            /// The next buffer, never an empty one; nil at the end.
            /// - Throws: ``Curlew/CurlewError`` if the body broke off; what came before it was yielded.
            public mutating func next() async throws -> ByteBuffer? {
                try await chunks.next().map { ByteBuffer(bytes: $0) }
            }
        }
    }
}
#endif
