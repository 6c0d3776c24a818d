#if Service
public import Curlew
public import NIOCore

// Request bodies in SwiftNIO's buffers.

extension CurlewRequest.Body {
    /// The number of bytes of a longer buffer that are copied at a time: 256 KiB.
    private static let part = 256 << 10

    /// A body of the readable bytes of a buffer; it is replayable.
    ///
    /// A buffer of up to 256 KiB is copied at once. A longer one is retained, and copied in parts while it is sent.
    public static func buffer(_ buffer: ByteBuffer) -> CurlewRequest.Body {
        guard buffer.readableBytes > part else { return .bytes(Array(buffer.readableBytesView)) }
        return .stream(length: Int64(buffer.readableBytes)) { BufferParts(buffer: buffer, size: part) }
    }

    /// A body of buffers that arrive over time, such as the body of a request that a server receives. It is not
    /// replayable: a redirect, a retry or a challenge that must send it again fails with
    /// ``Curlew/ErrorCode/bodyNotReplayable``.
    ///
    /// The bytes are copied once, from the buffers into libcurl's memory. At most
    /// ``Curlew/SessionConfiguration/bodyBufferSize`` bytes are requested from `buffers` ahead of the transfer.
    ///
    /// - Important: A separate task reads the sequence and is cancelled when the exchange ends. If a response arrives
    ///   before the end of the body, a server's connection may then be unusable.
    ///   ``Curlew/HTTPSession/forward(_:body:from:isSecure:to:as:options:)`` avoids this.
    /// - Parameters:
    ///   - buffers: The body.
    ///   - length: The length of the body in bytes; nil sends it chunked. A body of another length fails with
    ///     ``Curlew/ErrorCode/bodyLengthMismatch``.
    public static func once<Buffers: AsyncSequence & Sendable>(
        _ buffers: Buffers, length: Int64? = nil
    ) -> CurlewRequest.Body where Buffers.Element == ByteBuffer {
        .relayed(ReceivedBody(buffers, endsWithTransfer: true), length: length)
    }

    /// A replayable body of buffers, from a sequence that `make` makes for each sending. The bytes are copied twice.
    /// - Parameters:
    ///   - length: The length of every sequence in bytes; nil sends the body chunked.
    ///   - make: Makes a sequence that begins at the body's first byte.
    public static func stream<Buffers: AsyncSequence & Sendable>(
        length: Int64? = nil, _ make: @escaping @Sendable () async throws -> Buffers
    ) -> CurlewRequest.Body where Buffers.Element == ByteBuffer {
        .stream(length: length) { BufferBytes(base: try await make()) }
    }
}

/// The parts of a long buffer.
private struct BufferParts: AsyncSequence, Sendable {
    let buffer: ByteBuffer
    let size: Int

    struct Iterator: AsyncIteratorProtocol {
        var buffer: ByteBuffer
        let size: Int

        mutating func next(isolation actor: isolated (any Actor)?) async -> [UInt8]? {
            guard buffer.readableBytes > 0 else { return nil }
            return buffer.readBytes(length: Swift.min(size, buffer.readableBytes))
        }

        mutating func next() async -> [UInt8]? { await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer, size: size) }
}

/// The bytes of each buffer of a sequence.
private struct BufferBytes<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == ByteBuffer {
    let base: Base

    struct Iterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            while let buffer = try await base.next(isolation: actor) {
                if buffer.readableBytes > 0 { return Array(buffer.readableBytesView) }
            }
            return nil
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }
}
#endif
